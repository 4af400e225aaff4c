"""Makes the table of exactly-once steps, unless the first of them has made it."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations, models
from django.db.models.functions import Now


class CreateUnlessThere(migrations.CreateModel):
    """Makes a table that may be there: a step makes it if it is missing. In other databases than these two, steps are refused."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Make the table."""
        connection = schema_editor.connection
        table = to_state.apps.get_model(app_label, self.name)._meta.db_table
        if connection.vendor in ("sqlite", "postgresql") and table not in connection.introspection.table_names():
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop the table."""
        if schema_editor.connection.vendor in ("sqlite", "postgresql"):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):
    """The first one: until then, the app had no table."""

    initial = True
    dependencies: ClassVar[list[Any]] = []
    operations: ClassVar[list[Any]] = [
        migrations.CreateModel(
            name="Job",
            fields=[("id", models.CharField(editable=False, max_length=255, primary_key=True, serialize=False))],
            options={
                "verbose_name": "job",
                "verbose_name_plural": "jobs",
                "managed": False,
                "default_permissions": ("view", "change", "delete"),
            },
        ),
        CreateUnlessThere(
            name="WorkflowStep",
            fields=[
                ("id", models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ("job", models.TextField(editable=False)),
                ("step", models.TextField(editable=False)),
                ("name", models.TextField(editable=False)),
                ("result", models.TextField(editable=False, null=True)),
                ("created_at", models.DateTimeField(db_default=Now(), editable=False)),
            ],
            options={
                "db_table": "resonate_steps",
                "default_permissions": (),
                "indexes": [models.Index(fields=["created_at"], name="resonate_steps_created_at")],
            },
        ),
    ]
