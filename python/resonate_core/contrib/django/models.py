"""A model without a table: it gives jobs their place in the admin, and their permissions."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

__all__ = ["Job"]


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
