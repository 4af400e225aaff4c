"""Jobs, a model without a table, which gives them their place in the admin and their permissions; and the table of exactly-once steps."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

__all__ = ["Job", "WorkflowStep"]


class Job(models.Model):
    """A job of a store. Its rows are the store's: read them by `store.jobs`, not by queries.

    Permissions: ``resonate.view_job`` shows jobs, ``resonate.change_job`` runs and cancels them, ``resonate.delete_job`` deletes them.
    """

    id = models.CharField(primary_key=True, max_length=255, editable=False)

    class Meta:
        """There is no table, and no permission to add jobs."""

        managed = False
        default_permissions = ("view", "change", "delete")
        verbose_name = _("job")
        verbose_name_plural = _("jobs")

    def __str__(self) -> str:
        return str(self.pk)


class WorkflowStep(models.Model):
    """A step of a workflow that has happened in this database, and its result. Steps write and read their rows themselves.

    `resonate_core.workflow.transaction` makes the rows, `prune_steps` removes them.
    """

    id = models.CharField(primary_key=True, max_length=64, editable=False)
    job = models.TextField(editable=False)
    step = models.TextField(editable=False)
    name = models.TextField(editable=False)
    result = models.TextField(null=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        """The table is one for all libraries. It has no pages, and so no permissions."""

        db_table = "resonate_steps"
        default_permissions = ()
        indexes = (models.Index(fields=["created_at"], name="resonate_steps_created_at"),)

    def __str__(self) -> str:
        return f"{self.job}, {self.step}"
