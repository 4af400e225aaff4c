"""The first tables."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Makes orders and mails."""

    initial = True

    dependencies: ClassVar[list[Any]] = []

    operations: ClassVar[list[Any]] = [
        migrations.CreateModel(
            name="Mail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("to", models.EmailField(max_length=254)),
                ("text", models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("email", models.EmailField(max_length=254)),
                ("item", models.CharField(max_length=100)),
                ("state", models.CharField(default="placed", max_length=20)),
                ("receipt", models.CharField(blank=True, max_length=40)),
                ("placed_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ("-pk",),
            },
        ),
    ]
