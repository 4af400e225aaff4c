"""The databases of the shop: a file, or a database of its own on the PostgreSQL server of the test run."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from backends import POSTGRES, require, schemas_of_postgres
from postgres_urls import plain

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=["sqlite", "postgres"])
def shop_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The path or URL of an empty database."""
    if request.param == "sqlite":
        yield str(tmp_path / "shop.db")
        return
    require(POSTGRES)
    server = plain(schemas_of_postgres().url("any"))
    name = f"shop_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{server.rpartition('/')[0]}/{name}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
