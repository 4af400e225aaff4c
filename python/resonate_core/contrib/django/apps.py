"""The app."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate

__all__ = ["ResonateConfig"]


class ResonateConfig(AppConfig):
    """Makes the store's tables when its database is migrated, and brings the commands and the admin."""

    name = "resonate_core.contrib.django"
    label = "resonate"
    verbose_name = "Resonate"
    default = True

    def ready(self) -> None:
        """Listen to the migrations."""
        post_migrate.connect(_make_tables, sender=self)


def _make_tables(using: str, verbosity: int = 1, **kwargs: Any) -> None:
    """Make the tables of each store that is in the migrated database."""
    from .backends import make_tables

    for place in make_tables(using):
        if verbosity >= 1:
            print(f"  Made the tables of the store in {place}, if there were none")
