"""``resonate-core migrate``: brings the tables of a store to the schema of this release."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import resonate_core as rc
from resonate_core._core import schema_versions
from resonate_core.cli.command import CONFIG, DB, JSON, place_with_options
from resonate_core.cli.exits import Exit, Failure
from resonate_core.cli.show import Output
from resonate_core.cli.target import Access, FileTarget

__all__ = ["Mark", "mark_of", "migrate"]

_DRY_RUN = Annotated[bool, typer.Option("--dry-run", help="say what it would do, and change nothing", show_default=False)]


@dataclass(frozen=True)
class Mark:
    """The header of a SQLite file: the program that made its tables, and the version of their schema."""

    application: int
    version: int


def mark_of(path: Path) -> Mark:
    """Read the mark of a file.

    No store of this process may have the file open: Python's SQLite may be another copy of the library, which would release its locks.

    Raises:
        Failure: SQLite cannot read the file (UNREACHABLE).

    Example:
        >>> import pathlib, tempfile
        >>> from resonate_core.cli.migration import mark_of
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "app.db"
        ...     rc.Store(path).close()
        ...     mark_of(path).version > 0
        True
    """
    import sqlite3  # no other command needs it

    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            return Mark(*(int(file.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version")))
    except sqlite3.Error as error:
        raise Failure(f"{path}: {error}", Exit.UNREACHABLE) from error


def _mark_of_this_release() -> Mark:
    with tempfile.TemporaryDirectory(prefix="resonate-") as folder:
        path = Path(folder) / "new.db"
        rc.Store(path).close()
        return mark_of(path)


def _is_current(path: Path) -> bool:
    """Return whether the tables are those of this release: a read-only store opens only these."""
    try:
        rc.Store(path, read_only=True, clock=rc.ManualClock()).close()
    except rc.ResonateError:  # the next opening reports it
        return False
    return True


@dataclass(frozen=True)
class _Plan:
    """The versions before and after a migration."""

    place: dict[str, str]  # its kind and its name
    found: int | None
    newest: int

    def show(self, out: Output, done: bool) -> None:
        (name,) = self.place.values()
        answer = {**self.place, "from": self.found, "to": self.newest, "done": done}
        if self.found == self.newest:
            text = f"up to date, schema version {self.newest}"
        elif self.found is None:
            text = f"{'made' if done else 'would make'} its tables, schema version {self.newest}"
        else:
            text = f"{'' if done else 'would be '}migrated from schema version {self.found} to {self.newest}"
        out.line(f"{name}: {text}", answer)


def _plan_of_file(path: Path) -> _Plan:
    if not path.exists():
        raise Failure(f"there is no file {str(path)!r}", Exit.UNREACHABLE)
    place = {"file": str(path)}
    if _is_current(path):
        return _Plan(place, mark_of(path).version, mark_of(path).version)
    found, newest = mark_of(path), _mark_of_this_release()
    if found.application != newest.application or not 0 < found.version < newest.version:
        FileTarget(path, Access.READ).close()  # its error names the reason
    return _Plan(place, found.version, newest.version)


def _plan_of_database(url: str) -> _Plan:
    try:
        shown, found, newest = schema_versions(url)
    except rc.ResonateError as error:
        raise Failure(str(error), Exit.USAGE if isinstance(error, rc.Invalid) else Exit.UNREACHABLE) from error
    if found is not None and found >= newest:
        FileTarget(url, Access.READ).close()  # its error names what is wrong
    return _Plan({"url": shown}, found, newest)


def migrate(db: DB = None, dry_run: _DRY_RUN = False, config: CONFIG = None, json: JSON = False) -> None:
    """Bring the tables of a file or database to the schema of this release.

    A command or server that opens the store for writing does this too. In a database without tables it makes them; a file must exist.
    A store of a newer release is refused.
    """
    place, _ = place_with_options(db, config)
    plan = _plan_of_file(place) if isinstance(place, Path) else _plan_of_database(place)
    done = not dry_run and plan.found != plan.newest
    if done:
        FileTarget(place, Access.WRITE, clock=rc.ManualClock()).close()
    plan.show(Output(json), done)
