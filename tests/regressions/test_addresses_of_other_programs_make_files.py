"""`Store("host=db dbname=app")`, `Store("postgresql:app")` and `Store("sqlite:x.db")` made files of these names: the state was in a place
that the caller did not mean, and no other process had it. The errors of such texts showed passwords before the last '@' or in
options."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import resonate_core as rc
from command_line import run_command
from resonate_core._core import schema_versions
from resonate_core.worker import Worker

FORMS = {
    "host=db.internal dbname=app": "write 'postgresql://db.internal/app'",
    "host=db port=5433 dbname=app user=me password=secret": "write 'postgresql://me@db:5433/app'",
    "dbname = app": "write 'postgresql:///",
    "service=shop": "write 'postgresql:///'",
    "hostaddr=::1 dbname=app": "write 'postgresql://[::1]/app'",
    "host=/var/run dbname='a b'": "write 'postgresql://HOST:PORT/DBNAME'",
    "postgresql:app": "write 'postgresql:///app'",
    "postgres:app": "write 'postgresql:///app'",
    "postgresql:/app": "write 'postgresql:///app'",
    "PostgreSQL://db/app": "write 'postgresql://db/app'",
    "postgresql+psycopg://me:secret@db/app": "write 'postgresql://...@db/app'",
    "postgresql+asyncpg:app": "write 'postgresql:///app'",
    "sqlite:x.db": "write 'x.db' or 'sqlite:///x.db'",
    "sqlite:/tmp/x.db": "write '/tmp/x.db' or 'sqlite:////tmp/x.db'",
    "sqlite://x.db": "write 'x.db' or 'sqlite:///x.db'",
    "sqlite3:x.db": "write 'x.db' or 'sqlite:///x.db'",
    "SQLITE:///x.db": "write 'x.db' or 'sqlite:///x.db'",
    "sqlite+aiosqlite:///x.db": "write 'x.db' or 'sqlite:///x.db'",
    "sqlite://": "leave it out for a store in memory",
    "sqlite::memory:": "leave it out for a store in memory",
    "http://127.0.0.1:8001": "to use a server, call resonate_core.connect",
    "https://me:secret@shop.test": "to use a server, call resonate_core.connect",
    "http:localhost": "to use a server, call resonate_core.connect",
    "mysql://me:secret@db/app": "be the path of a SQLite file or a URL sqlite:/// or postgresql://, got 'mysql://...@db/app'",
    "postgresql:me:secret@db/app": "got 'postgresql:...@db/app': write 'postgresql://...@db/app'",
    "postgresql:/me:secret@db/app": "write 'postgresql://...@db/app'",
    "postgresql+asyncpg://db/app?user=me&password=secret": "write 'postgresql://db/app?...'",
    "postgresql+asyncpg://me:secret@db/app?ssl=secret": "write 'postgresql://...@db/app?...'",
    "postgresql+psycopg://me:sec?ret:secret@db/app": "got 'postgresql+psycopg://...'",
    "postgresql+psycopg://db/app?user=me&password=at@secret": "got 'postgresql+psycopg://...'",
    "mysql://db/app?password=secret": "got 'mysql://db/app?...'",
    "sqlserver://db;user=me;password=secret": "got 'sqlserver://db?...'",
    "jdbc:postgresql://me:secret@db/app": "got 'jdbc:...@db/app'",
    "http:me:secret@shop.test": "got 'http:...@shop.test'",
    "sqlite+pysqlcipher://:secret@/x.db?cipher=aes": "got 'sqlite+pysqlcipher://...@/x.db?...'",
    "dbname=postgresql://me:secret@db/app": "write 'postgresql://HOST:PORT/DBNAME'",
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("RESONATE_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("given", FORMS)
def test_a_store_names_the_nearest_form(given: str, tmp_path: Path) -> None:
    for spelling in (given, os.fsencode(given)):
        with pytest.raises((rc.Invalid, rc.Unsupported)) as refused:
            rc.Store(spelling)
        assert FORMS[given] in str(refused.value)
        assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", [one for one in FORMS if not one.startswith("http")])
def test_so_do_the_other_ways_to_a_store(given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((rc.Invalid, rc.Unsupported)):
        Worker(given).run_until_idle()
    with rc.Store() as store, pytest.raises((rc.Invalid, rc.Unsupported)):
        store.backup(given)
    for read in (rc.check_file, schema_versions):
        with pytest.raises(rc.ResonateError) as refused:
            read(given)  # type: ignore[operator]
        assert "secret" not in str(refused.value)
    ran = run_command(capsys, "promises", "create", "a", "--timeout", "1h", "--db", given, "--make")
    assert ran.code != 0 and "secret" not in ran.err
    for command in (["migrate"], ["check"], ["promises", "get", "a"]):
        ran = run_command(capsys, *command, "--db", given)
        assert ran.code != 0 and "secret" not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_nul_shows_no_password() -> None:
    with pytest.raises(rc.Invalid, match="contain no NUL") as refused:
        rc.Store("postgresql://me:secret@db/app\0")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["a:b.db", "app=1.db", "file:x.db", "postgres.db", "my sqlite.db", "host"])
def test_other_names_are_names(name: str, tmp_path: Path) -> None:
    rc.Store(name).close()
    assert [one.name for one in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["sqlite:x.db", "postgres:app", "host=db"])
def test_an_absolute_path_is_a_path(name: str, tmp_path: Path) -> None:
    rc.Store(tmp_path / name).close()
    rc.Store(f"./{name}").close()
    assert [one.name for one in tmp_path.iterdir()] == [name]
