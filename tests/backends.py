"""The storages that every behavioural test runs on: the one list of them.

A storage joins by one line in BACK_ENDS. If one cannot be opened here, the first lines of the run and its skips give the reason; with
RESONATE_REQUIRE_BACK_ENDS set, as in CI, the run fails.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import pgbouncer
import postgres_schemas
import postgres_server
import resonate_core as rc
import tiers
from temporary_files import place_of_files


@dataclass(frozen=True)
class BackEnd:
    """One storage, or another end with the interface of a store: the app over HTTP, the reference model.

    Attributes:
        name: The name of the storage or end, which is in the ids of tests.
        open: Opens an empty store with the given options.
        missing: Why it cannot be used here, or None.
        check_each_step: Whether its stores check the invariants after each request and step. A durable store with `check=True`
            runs no group commit, so that durable stores check their whole state after each test instead.
        clock_type: The class of the manual clock of its stores.
    """

    name: str
    open: Callable[..., Any]
    missing: str | None = None
    check_each_step: bool = True
    clock_type: type[Any] = rc.ManualClock


_files = itertools.count()
_folder: Path | None = None


def new_file() -> Path:
    """A path where no file is yet, in a folder that is deleted when the tests end."""
    global _folder
    if _folder is None:
        _folder = Path(tempfile.mkdtemp(prefix="resonate-tests-", dir=place_of_files()))
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    return _folder / f"{os.getpid()}-{next(_files)}.db"


def open_file(**options: Any) -> Any:
    """An empty store in a SQLite file. Without fsync: what a loss of power does has tests of its own."""
    options.setdefault("durability", "normal")
    return rc.Store(new_file(), **options)


def open_in_postgres(**options: Any) -> Any:
    """An empty store in a schema of the shared PostgreSQL server."""
    return schemas_of_postgres().open(rc.Store, **options)


def open_behind_pgbouncer(**options: Any) -> Any:
    """An empty store in a schema of the shared PostgreSQL server, behind a pooler in transaction mode."""
    return schemas_of_postgres().open(lambda url, **more: rc.Store(pgbouncer.shared().url(url), **more), **options)


def schemas_of_postgres() -> postgres_schemas.Schemas:
    """The schemas of this process on the shared PostgreSQL server, for tests that open stores by URL."""
    return postgres_schemas.schemas(_make_tables)


def _make_tables(url: str) -> None:
    rc.Store(url, clock=rc.ManualClock(0)).close()


def no_postgres() -> str | None:
    """Why stores in PostgreSQL cannot be tested here, or None. Opens no store: see tests/mutants/forking.py."""
    if not tiers.runs(tiers.ALL):
        return f"the tier {tiers.wanted()} has no PostgreSQL; scripts/test --all has"
    if not hasattr(rc.Store, "url"):
        return "this build of resonate_core opens no URL of PostgreSQL"
    return postgres_server.missing()


POSTGRES = BackEnd("postgres", open_in_postgres, missing=no_postgres(), check_each_step=False)
PGBOUNCER = BackEnd("pgbouncer", open_behind_pgbouncer, missing=POSTGRES.missing or pgbouncer.missing(), check_each_step=False)
"""PostgreSQL behind a pooler. Not one of BACK_ENDS: only tests of what a pooler can change run on it."""

BACK_ENDS = [
    BackEnd("memory", lambda **options: rc.Store(None, **options)),
    BackEnd("sqlite", open_file, check_each_step=False),
    POSTGRES,
]


def require(back_end: BackEnd) -> None:
    """Skips the test if a storage is missing; fails it if every storage is required."""
    if back_end.missing is not None:
        # A machine without PostgreSQL still runs the other tests; CI sets the variable, so nothing is skipped there.
        refuse = pytest.fail if os.environ.get("RESONATE_REQUIRE_BACK_ENDS") else pytest.skip
        refuse(f"storage {back_end.name}: {back_end.missing}")
