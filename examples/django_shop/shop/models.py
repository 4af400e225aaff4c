"""The tables of the shop."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """An order. Its workflow has the id `order-<number>`."""

    email = models.EmailField()
    item = models.CharField(max_length=100)
    state = models.CharField(max_length=20, default="placed")  # charged, shipped, cancelled
    receipt = models.CharField(max_length=40, blank=True)  # the id of the task that sends it
    placed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """The newest first."""

        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.workflow}: {self.item} for {self.email}"

    @property
    def workflow(self) -> str:
        """The id of its workflow."""
        return f"order-{self.pk}"


class Mail(models.Model):
    """A mail that was sent, as a real shop's mail server would have it."""

    to = models.EmailField()
    text = models.TextField()
