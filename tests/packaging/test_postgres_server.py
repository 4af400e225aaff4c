"""The PostgreSQL servers of the tests: they leave nothing behind, and a schema that was used is like a new one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import libpq
import postgres_server
from backends import BackEnd, require
from postgres_schemas import Schemas

PROGRAM = Path(postgres_server.__file__)


@pytest.fixture(autouse=True)
def _server() -> None:
    require(BackEnd("postgres", lambda: None, missing=postgres_server.missing()))


def test_nothing_is_left_of_a_server_whose_owner_was_killed() -> None:
    say = f'echo "${postgres_server.FOLDER} $PGPORT"; sleep 600'
    owner = subprocess.Popen([sys.executable, PROGRAM, "sh", "-c", say], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert owner.stdout is not None
    with owner, owner.stdout:
        folder, port = owner.stdout.readline().split()
        url = f"postgresql://{postgres_server.USER}@127.0.0.1:{port}/postgres"
        libpq.Connection(url).close()
        os.killpg(owner.pid, signal.SIGKILL)
    end = time.monotonic() + 60
    while Path(folder).exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    with pytest.raises(libpq.SqlError):
        libpq.Connection(url)


def test_what_was_committed_outlives_a_crash_of_the_server() -> None:
    with postgres_server.running(durable=True, settings={"max_connections": "10"}) as server:
        server.create_database("a")
        server.execute("CREATE TABLE t (n int); INSERT INTO t VALUES (1)", "a")
        server.restart("immediate")
        assert server.execute("SELECT n, current_setting('max_connections') FROM t", "a") == [("1", "10")]
        server.drop_database("a")
    assert not server.folder.exists()


def test_databases_of_one_name_are_made_in_turn() -> None:
    server = postgres_server.shared()

    def use(number: int) -> list[tuple[str | None, ...]]:
        with server.database_in_turn("turns"):
            server.execute(f"CREATE TABLE t (n int); INSERT INTO t VALUES ({number})", "turns")
            return server.execute("SELECT n FROM t", "turns")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(use, range(4))) == [[(f"{number}",)] for number in range(4)]


TABLES = """
CREATE SCHEMA {0};
CREATE TABLE {0}.version (n int);
INSERT INTO {0}.version VALUES (3);
CREATE TABLE {0}.owners (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE {0}.owned (id int REFERENCES {0}.owners, text text);
"""
USE = """
UPDATE {0}.version SET n = 4;
INSERT INTO {0}.owners DEFAULT VALUES;
INSERT INTO {0}.owned SELECT 1, repeat('x', 99) FROM generate_series(1, {1});
"""
SHOW = "SELECT (SELECT sum(n) FROM {0}.version), (SELECT count(*) FROM {0}.owned), nextval('{0}.owners_id_seq')"


@pytest.mark.parametrize("rows", [10, 10_000])
def test_a_schema_is_used_again_as_if_it_were_new(rows: int) -> None:
    def make_tables(url: str) -> None:
        with libpq.Connection(url.partition("?")[0]) as connection:
            connection.execute(TABLES.format(url.partition("schema=")[2]))

    schemas = Schemas(make_tables)
    for _ in range(3):
        schema = schemas.take()
        assert schema == "s1"
        with libpq.Connection(schemas.url(schema).partition("?")[0]) as connection:
            assert connection.execute(SHOW.format(schema)) == [("3", "0", "1")]
            connection.execute(f"SELECT setval('{schema}.owners_id_seq', 1, false);" + USE.format(schema, rows))
        schemas.give_back(schema)
    schemas.close()
