"""Places for durable stores that a test closes, opens again or opens twice: SQLite files, or schemas of a PostgreSQL server,
which may be behind a pooler."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import backends
import pgbouncer
from temporary_files import place_of_files


class Home(Protocol):
    """Creates places for stores, and opens stores in them."""

    def new_place(self) -> Any:
        """The path or URL of a place without a store."""

    def open(self, place: Any, **options: Any) -> Any:
        """Opens the store in a place."""

    def copy(self, store: Any, place: Any) -> None:
        """Copies a store of this home to a new place."""

    def end(self) -> None:
        """Deletes the places."""


class Files:
    """SQLite files in a temporary folder.

    Args:
        subject: The module under test.
    """

    def __init__(self, subject: Any) -> None:
        self.subject = subject
        self.folder = tempfile.TemporaryDirectory(prefix="resonate-", dir=place_of_files())
        self.count = 0

    def new_place(self) -> Path:
        self.count += 1
        return Path(self.folder.name) / f"{self.count}.db"

    def open(self, place: Path, **options: Any) -> Any:
        return self.subject.Store(place, durability="normal", **options)

    def copy(self, store: Any, place: Path) -> None:
        store.backup(place)

    def end(self) -> None:
        self.folder.cleanup()


class PostgresSchemas:
    """Schemas of the server that the test run shares.

    Args:
        subject: The module under test.
    """

    def __init__(self, subject: Any) -> None:
        self.subject = subject
        self.schemas = backends.schemas_of_postgres()
        self.taken: list[str] = []

    def new_place(self) -> str:
        self.taken.append(self.schemas.take())
        return self.schemas.url(self.taken[-1])

    def open(self, place: str, **options: Any) -> Any:
        return self.subject.Store(place, **options)

    def copy(self, store: Any, place: str) -> None:
        with self.open(place, clock=self.subject.ManualClock(store.now)) as copied:
            copied.restore(store.snapshot())

    def end(self) -> None:
        while self.taken:
            self.schemas.give_back(self.taken.pop())


class PooledSchemas(PostgresSchemas):
    """Schemas of that server, used through PgBouncer in transaction mode."""

    def new_place(self) -> str:
        return pgbouncer.shared().url(super().new_place())


HOMES: dict[str, Callable[[Any], Home]] = {"sqlite": Files, "postgres": PostgresSchemas, "pgbouncer": PooledSchemas}
"""The homes, by the name of their storage."""
