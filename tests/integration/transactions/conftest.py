"""The databases of applications: with a table `effects`, and no table of steps."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import postgres_server
from backends import POSTGRES, require
from integration.transactions.ways import Database

_names = itertools.count()


@pytest.fixture(scope="module")
def postgres_database() -> Iterator[Database]:
    """One database for the tests of a module."""
    require(POSTGRES)
    server = postgres_server.shared()
    name = f"app_{os.getpid()}_{next(_names)}"
    yield Database(url=server.create_database(name))
    server.drop_database(name)


@pytest.fixture
def way() -> Any:
    """A way, or the name of a storage: each test has its own as parameters."""
    raise NotImplementedError


@pytest.fixture
def database(way: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """The database of the test's way, or of the storage that it names."""
    if getattr(way, "name", way) == "sqlite":
        made = Database(path=tmp_path / "app.db")
    else:
        made = request.getfixturevalue("postgres_database")
        made.query("DROP TABLE IF EXISTS resonate_steps, effects")
    made.query("CREATE TABLE effects (name text)")
    return made
