"""The backends of this app that the settings name."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connections

from .backend import ResonateBackend
from .framework import task_backends
from .places import is_in_memory

__all__ = ["backend_of", "make_tables", "resonate_backends"]


def resonate_backends() -> list[ResonateBackend]:
    """The backends in TASKS that are of this package, in order."""
    return [backend for backend in task_backends.all() if isinstance(backend, ResonateBackend)]


def backend_of(alias: str | None) -> ResonateBackend:
    """The backend of this name; without one, the first.

    Raises:
        LookupError: There is no such backend; the message names those that there are.
    """
    found = {backend.alias: backend for backend in resonate_backends()}
    if not found:
        raise LookupError("TASKS must have a backend of resonate_core.contrib.django, got none")
    if alias is None:
        return next(iter(found.values()))
    if alias not in found:
        raise LookupError(f"backend must be one of {', '.join(found)}, got {alias!r}")
    return found[alias]


def make_tables(database: str) -> Iterator[str]:
    """Make the tables of each store in a Django database, and yield where each is.

    A database in memory has none, and neither has the backend for tests.
    """
    for backend in resonate_backends():
        if not backend.in_database or backend.settings.database != database:
            continue
        connection = connections[database]
        if connection.vendor == "sqlite" and is_in_memory(connection.settings_dict["NAME"]):
            continue
        place = backend.settings.place
        with place.open() as store:
            yield store.url or store.path or place.url
