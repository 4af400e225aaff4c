"""`Store("host=db dbname=app")`, `Store("postgresql:app")` and `Store("sqlite:x.db")` made files of these names: the state was in a place
that the caller did not mean, and no other process had it. The errors of such texts showed passwords before the last '@' or in
options.

The hints for connection strings lost the host behind spaces, the service and every option; those of other programs (`duckdb:x`, `C:\\x.db`,
`localhost:8001`, `Server=db;Database=app`) still made files."""

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
    "service=shop": "write 'postgresql:///?service=shop'",
    "host = localhost dbname = app": "write 'postgresql://localhost/app'",
    "dbname = app  host =localhost": "write 'postgresql://localhost/app'",
    "port=5433 user='me' host='db' dbname='app'": "write 'postgresql://me@db:5433/app'",
    " host=db\tdbname=app\n": "write 'postgresql://db/app'",
    "HOST=db DBNAME=app": "write 'postgresql://db/app'",
    "sslmode=require connect_timeout=3 host=db dbname=app": "write 'postgresql://db/app?sslmode=require&connect_timeout=3'",
    "host=a,b port=1,2 dbname=app": "write 'postgresql://a:1,b:2/app'",
    "host=db hostaddr=10.0.0.1 dbname=app": "write 'postgresql://db/app?hostaddr=10.0.0.1'",
    "port=5433 dbname=app": "write 'postgresql:///app?port=5433'",
    r"user='o\'neil' password='se\'cret secret' host=db": "write 'postgresql://o%27neil@db/'",
    "password=secret sslpassword=secret": "write 'postgresql:///'",
    "options='-c statement_timeout=1' host=db": "write 'postgresql://db/?options=-c%20statement_timeout%3D1'",
    "schema=jobs host=db dbname=app": "write 'postgresql://db/app?schema=jobs'",
    "host=db dbname='app": "write 'postgresql://HOST:PORT/DBNAME'",
    "host=db passwd=secret": "write 'postgresql://HOST:PORT/DBNAME'",
    "dbname='host=db password=secret'": "write 'postgresql://HOST:PORT/DBNAME'",
    "host=db; dbname=app; password=secret": "write 'postgresql://HOST:PORT/DBNAME'",
    "Server=db;Database=app;Password=secret": "write 'postgresql://HOST:PORT/DBNAME'",
    "Data Source=app.db;Version=3;": "write 'postgresql://HOST:PORT/DBNAME'",
    "pgsql:host=db;dbname=app;password=secret": "write 'postgresql://HOST:PORT/DBNAME'",
    "postgresql:host=db dbname=app": "write 'postgresql://db/app'",
    "pgsql://db/app": "write 'postgresql://db/app'",
    "postgis://me:secret@db/app": "write 'postgresql://...@db/app'",
    " postgresql://db/app": "write 'postgresql://db/app'",
    "localhost:8001": "the address of a server, 'localhost:8001': write 'postgresql://HOST:PORT/DBNAME', or for a server call",
    "127.0.0.1:5432/app": "the address of a server",
    "db.internal:5432": "the address of a server",
    "[::1]:8001": "the address of a server",
    "db.internal:5432/app?password=secret": "got the address of a server, 'db.internal:5432/app?...'",
    "duckdb:x": "got 'duckdb:x': give an absolute path for a file of that name",
    "mysql:host=db;dbname=app": "got 'mysql:host=db?...': give an absolute path",
    "mysql:me:secret@db/app": "got 'mysql:...@db/app'",
    "MariaDB:app": "got 'MariaDB:app'",
    "redis:6379": "got 'redis:6379'",
    "jdbc:postgresql:app": "got 'jdbc:postgresql:app'",
    "oracle:thin:@db:1521": "got 'oracle:...@db:1521'",
    "libsql:app": "got 'libsql:app'",
    "mongodb+srv://me:secret@db": "got 'mongodb+srv://...@db'",
    "memory:": "leave it out for a store in memory",
    "memory://": "leave it out for a store in memory",
    "file:///tmp/x.db": "write '/tmp/x.db'",
    "file://localhost/tmp/x.db": "write '/tmp/x.db'",
    r"C:\x.db": r"a path of Windows, 'C:\x.db': write the path that the file has here",
    "c:/data/x.db": "a path of Windows",
    r"\\server\share\x.db": "a path of Windows",
    r"data\x.db": "write 'data/x.db'",
    r".\x.db": "write './x.db'",
    r"sqlite:///C:\x.db": "a path of Windows",
    "sqlite:///x.db?mode=ro&key=secret": "parameters after 'sqlite:///': write 'x.db'",
    "hostaddr=::1 dbname=app": "write 'postgresql://[::1]/app'",
    "host=/var/run dbname='a b'": "write 'postgresql://%2Fvar%2Frun/a%20b'",
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


def names_in(folder: Path) -> list[str]:
    """Returns the files of a folder without logs and their indexes, which a reader leaves."""
    return sorted({one.name.removesuffix("-wal").removesuffix("-shm") for one in folder.iterdir()})


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
def test_so_do_the_other_ways_to_a_store(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    for command in (["migrate"], ["check"], ["promises", "get", "a"], ["vacuum"], ["jobs", "list"]):
        ran = run_command(capsys, *command, "--db", given)
        assert ran.code in (2, 3) and FORMS[given].partition(" call")[0] in ran.err, command
        assert "secret" not in ran.err
    monkeypatch.setenv("RESONATE_STORE__PATH", given)
    for command in (
        ["check", given],
        ["copy", given, "new.db"],
        ["ui", given],
        ["jobs", "list"],
        ["serve"],
    ):
        ran = run_command(capsys, *command)
        assert ran.code in (2, 3) and FORMS[given].partition(" call")[0] in ran.err, command
        assert "secret" not in ran.err
    for command in (["backup", given, "new.db"], ["backup", "absent.db", given], ["clock", "reset", given]):
        ran = run_command(capsys, *command)
        assert ran.code == 2 and " must be the path of a SQLite file, got" in ran.err, command
        assert "secret" not in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", ["host=db", "duckdb:x", "C:\\x.db", "localhost:8001", "postgresql://db/app"])
def test_a_target_that_is_a_file(given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A backup is one, and `check_file` reads one: the error names no URL, which both would refuse."""
    with rc.Store(tmp_path / "app.db") as store:
        for takes_a_file in (store.backup, rc.check_file):
            with pytest.raises(rc.Invalid, match="path must be the path of a SQLite file, got") as refused:
                takes_a_file(given)
            assert "write 'postgresql" not in str(refused.value)
        for in_memory in (":memory:", "sqlite:///:memory:", ""):
            with pytest.raises(rc.Invalid, match="path must name a file"):
                store.backup(in_memory)
        store.backup("sqlite:///copy.db")
    assert rc.check_file("sqlite:///copy.db") == []
    for command, name in (
        (["backup", "app.db", given], "TARGET"),
        (["backup", given, "new.db"], "FILE"),
        (["clock", "reset", given], "FILE"),
    ):
        ran = run_command(capsys, *command)
        assert ran.code == 2 and ran.err.startswith(f"{name} must be the path of a SQLite file, got"), command
    assert names_in(tmp_path) == ["app.db", "copy.db"]


def test_a_nul_shows_no_password() -> None:
    with pytest.raises(rc.Invalid, match="contain no NUL") as refused:
        rc.Store("postgresql://me:secret@db/app\0")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "a:b.db",
            "app=1.db",
            "a=b.db",
            "file:x.db",
            "postgres.db",
            "my sqlite.db",
            "host",
            "localhost",
            "x=1 y=2.db",
            "a b=c.db",
        ),
        *(
            "tenant:7.db",
            "tenant:7",
            "2026-11-27T07:00.db",
            "a@b.db",
            "memory.db",
            "c:x.db",
            "app;1.db",
            "server=1.db",
            "schema=1.db",
        ),
        *("über:1.db", "~x.db", "app%20.db", "a?b#c.db", "[x].db", "localhost:x", "hosts=1.db"),
    ],
)
def test_other_names_are_names(name: str, tmp_path: Path) -> None:
    rc.Store(name).close()
    assert names_in(tmp_path) == [name]
    assert rc.check_file(name) == []
    rc.Store(f"sqlite:///{name}").close() if "?" not in name else None
    assert names_in(tmp_path) == [name]


@pytest.mark.parametrize("name", ["sqlite:x.db", "postgres:app", "host=db", "duckdb:x", "C:\\x.db", "localhost:8001"])
def test_an_absolute_path_is_a_path(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rc.Store(tmp_path / name).close()
    (tmp_path / "below").mkdir()
    os.chdir(tmp_path / "below")
    rc.Store(f"../{name}").close()
    os.chdir(tmp_path)
    for path in (f"./{name}", str(tmp_path / name)):
        rc.Store(path).close()
        assert rc.check_file(path) == []
        assert run_command(capsys, "promises", "create", path, "--timeout", "1h", "--db", path).code == 0
        assert run_command(capsys, "check", path).code == 0
    assert names_in(tmp_path) == sorted(["below", name])


def test_a_url_of_a_file_in_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(capsys, "promises", "create", "a", "--timeout", "1h", "--db", "sqlite:///app.db", "--make").code == 0
    assert run_command(capsys, "check", "sqlite:///app.db").code == 0
    assert run_command(capsys, "backup", "sqlite:///app.db", "./host=db").code == 0
    assert run_command(capsys, "clock", "reset", "sqlite:///host=db").code == 0
    assert names_in(tmp_path) == ["app.db", "host=db"]


@pytest.mark.parametrize("given", ["host=db", "localhost:8001", "postgresql://db/app", "C:\\x.db", ""])
def test_a_client_takes_the_url_of_a_server(given: str, tmp_path: Path) -> None:
    with pytest.raises(rc.Invalid, match="url must be an http:// or https:// address"):
        rc.connect(given)
    assert list(tmp_path.iterdir()) == []
