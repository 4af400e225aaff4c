"""`submit` guessed the library by the name of the connection's module and indexed the row that it got.

Subclasses, wrapped connections and scoped sessions were refused, or got the SQL of another database. With some row factories the call
raised after the request had been written: the program took it for not submitted, and submitted it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiosqlite
import asyncpg
import psycopg
import psycopg.rows
import pytest
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

import resonate_core as rc
from postgres_urls import plain, schema_of
from resonate_core.worker import Worker

FAR = 10**15
Write = Callable[[Any], Any]
ROWS = {
    "scalar": lambda cursor, row: row[0],
    "dict": lambda cursor, row: {"count": row[0]},
    "class": lambda cursor, row: SimpleNamespace(value=row[0]),
    "named tuple": lambda cursor, row: namedtuple("Row", "a")(row[0]),
    "nothing": lambda cursor, row: None,
}


class Proxy:
    """A wrapper like those of wrapt, which tracers use: it claims the class of what it wraps, and passes on what it has not."""

    def __init__(self, wrapped: Any) -> None:
        self.__wrapped__ = wrapped

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


class Delegate:
    """A wrapper that claims nothing."""

    def __init__(self, wrapped: Any) -> None:
        self._connection = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class TracedSqlite(sqlite3.Connection):
    """A subclass whose cursors are of a class of its own."""

    class Cursor(sqlite3.Cursor):
        def fetchall(self) -> Any:
            raise AssertionError("a row was read")

        fetchone = fetchall

    def cursor(self, factory: Any = None) -> Any:  # type: ignore[override]
        return super().cursor(self.Cursor)


class WarningSession(sqlalchemy.orm.Session):
    """As sqlmodel's: `execute` is deprecated there."""

    def execute(self, *args: Any, **options: Any) -> Any:
        warnings.warn("use exec instead", DeprecationWarning, stacklevel=2)
        return super().execute(*args, **options)

    def get_bind(self, *args: Any, **options: Any) -> Any:
        return super().get_bind(*args, **options)


class WarningAsyncSession(sqlalchemy.ext.asyncio.AsyncSession):
    """As sqlmodel's."""

    sync_session_class = WarningSession

    async def execute(self, *args: Any, **options: Any) -> Any:
        warnings.warn("use exec instead", DeprecationWarning, stacklevel=2)
        return await super().execute(*args, **options)


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


def check(store: rc.Store, number: Any, id: str = "a") -> None:
    """Checks the number of the only request, and that it runs."""
    assert number in (1, 2)  # in PostgreSQL the identity of the column takes one, too
    store.tick()
    assert [promise.id for promise in store.promises.search("*")] == [id]


def create(connection: Any, **options: Any) -> Any:
    return rc.submit(connection, "promise.create", {"id": "a", "timeoutAt": FAR}, **options)


def sqlite_connections(path: Path) -> dict[str, Callable[[], sqlite3.Connection]]:
    def with_rows(rows: Any) -> sqlite3.Connection:
        connection = sqlite3.connect(path)
        connection.row_factory = rows
        return connection

    made: dict[str, Callable[[], Any]] = {f"{name} rows": lambda rows=rows: with_rows(rows) for name, rows in ROWS.items()}
    made["subclass"] = lambda: sqlite3.connect(path, factory=TracedSqlite)
    made["types by columns"] = lambda: sqlite3.connect(path, detect_types=sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES)
    return made


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda connection: connection,
    "proxy": Proxy,
    "proxy of a proxy": lambda connection: Proxy(Proxy(connection)),
    "delegate": Delegate,
    "cursor": lambda connection: connection.cursor(),
    "proxy of a cursor": lambda connection: Proxy(connection.cursor()),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("kind", [*(f"{name} rows" for name in ROWS), "subclass", "types by columns"])
def test_any_connection_of_sqlite3(kind: str, wrapper: str, path: Path) -> None:
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        with contextlib.closing(sqlite_connections(path)[kind]()) as connection:
            number = create(WRAPPERS[wrapper](connection))
            connection.commit()
        check(store, number)


def test_what_a_cursor_has_read_stays(path: Path) -> None:
    with rc.Store(path, clock=rc.ManualClock(0)) as store, contextlib.closing(sqlite3.connect(path)) as connection:
        cursor = connection.execute("SELECT 1 UNION SELECT 2")
        create(cursor)
        assert cursor.fetchall() == [(1,), (2,)]
        connection.commit()
        check(store, 1)


@pytest.mark.parametrize("rows", [None, *ROWS])
def test_any_rows_of_aiosqlite(rows: str | None, path: Path) -> None:
    async def main() -> int:
        async with aiosqlite.connect(path) as connection:
            connection.row_factory = None if rows is None else ROWS[rows]
            number = await create(connection)
            await connection.commit()
            return int(number)

    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        check(store, asyncio.run(main()))


def sessions(engine: Any) -> dict[str, Callable[[], Any]]:
    return {
        "subclass": lambda: WarningSession(engine),
        "scoped session": sqlalchemy.orm.scoped_session(sqlalchemy.orm.sessionmaker(engine)),
        "the registry of scoped sessions": lambda: sqlalchemy.orm.scoped_session(
            sqlalchemy.orm.sessionmaker(engine, class_=WarningSession)
        ),
        "proxy": lambda: Proxy(WarningSession(engine)),
        "delegate": lambda: Delegate(WarningSession(engine)),
    }


SESSIONS = ["subclass", "scoped session", "the registry of scoped sessions", "proxy", "delegate"]


def through_session(engine: Any, kind: str, **options: Any) -> int:
    session = sessions(engine)[kind]()
    try:
        number = create(session, **options)
        session.commit()
    finally:
        session.close()
        engine.dispose()
    return int(number)


@pytest.mark.parametrize("kind", SESSIONS)
def test_any_session_of_sqlalchemy_on_a_file(kind: str, path: Path) -> None:
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        check(store, through_session(sqlalchemy.create_engine(f"sqlite:///{path}"), kind))


@pytest.mark.parametrize("kind", SESSIONS)
def test_any_session_of_sqlalchemy_on_postgres(kind: str, postgres_url: str) -> None:
    engine = sqlalchemy.create_engine(plain(postgres_url).replace("postgresql://", "postgresql+psycopg://"))
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        check(store, through_session(engine, kind, schema=schema_of(postgres_url)))


async def through_async_session(engine: Any, scoped: bool, **options: Any) -> int:
    made = sqlalchemy.ext.asyncio.async_sessionmaker(engine, class_=WarningAsyncSession)
    session: Any = sqlalchemy.ext.asyncio.async_scoped_session(made, asyncio.current_task) if scoped else made()
    number = await create(session, **options)
    await session.commit()
    await session.close()
    await engine.dispose()
    return int(number)


@pytest.mark.parametrize("scoped", [False, True])
def test_any_asynchronous_session_of_sqlalchemy(scoped: bool, path: Path, postgres_url: str) -> None:
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        engine = sqlalchemy.ext.asyncio.create_async_engine(f"sqlite+aiosqlite:///{path}")
        check(store, asyncio.run(through_async_session(engine, scoped)))
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        engine = sqlalchemy.ext.asyncio.create_async_engine(plain(postgres_url).replace("postgresql://", "postgresql+asyncpg://"))
        check(store, asyncio.run(through_async_session(engine, scoped, schema=schema_of(postgres_url))))


def test_a_connection_that_sqlalchemy_lends(path: Path) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        with contextlib.closing(engine.raw_connection()) as connection:
            number = create(connection)
            connection.commit()
        engine.dispose()
        check(store, number)


CURSORS = {"plain": psycopg.Cursor, "raw": psycopg.RawCursor, "client": psycopg.ClientCursor}
PSYCOPG_ROWS = {
    "scalar": psycopg.rows.scalar_row,
    "dict": psycopg.rows.dict_row,
    "named tuple": psycopg.rows.namedtuple_row,
    "class": psycopg.rows.class_row(SimpleNamespace),
    "nothing": lambda cursor: lambda values: None,
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("rows", PSYCOPG_ROWS)
@pytest.mark.parametrize("cursors", CURSORS)
def test_any_connection_of_psycopg(cursors: str, rows: str, wrapper: str, postgres_url: str) -> None:
    made: dict[str, Any] = {"cursor_factory": CURSORS[cursors], "row_factory": PSYCOPG_ROWS[rows]}
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        with psycopg.connect(plain(postgres_url), **made) as connection:
            number = create(WRAPPERS[wrapper](connection), schema=schema_of(postgres_url))
        check(store, number)


@pytest.mark.parametrize("rows", PSYCOPG_ROWS)
def test_any_rows_of_asynchronous_psycopg(rows: str, postgres_url: str) -> None:
    async def main() -> int:
        made: dict[str, Any] = {"cursor_factory": psycopg.AsyncRawCursor, "row_factory": PSYCOPG_ROWS[rows]}
        async with await psycopg.AsyncConnection.connect(plain(postgres_url), **made) as connection:
            return int(await create(connection, schema=schema_of(postgres_url)))

    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        check(store, asyncio.run(main()))


def test_a_pipeline_of_psycopg(postgres_url: str) -> None:
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        with psycopg.connect(plain(postgres_url)) as connection, connection.pipeline():
            number = create(connection, schema=schema_of(postgres_url))
        check(store, number)


class OddRecord(asyncpg.Record):
    def __getitem__(self, key: Any) -> Any:
        raise AssertionError("a row was read")


class TracedAsyncpg(asyncpg.Connection):
    async def fetchval(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("not this")


@pytest.mark.parametrize("wrapper", ["itself", "proxy", "delegate"])
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("made", [{"connection_class": TracedAsyncpg}, {"record_class": OddRecord}], ids=["connection", "record"])
def test_any_connection_of_asyncpg(made: dict[str, Any], pooled: bool, wrapper: str, postgres_url: str) -> None:
    wrap = WRAPPERS[wrapper]

    async def main() -> int:
        if not pooled:
            connection = await asyncpg.connect(plain(postgres_url), **made)
            number = await create(wrap(connection), schema=schema_of(postgres_url))
            await connection.close()
            return int(number)
        async with asyncpg.create_pool(plain(postgres_url), min_size=1, max_size=1, **made) as pool, pool.acquire() as connection:
            return int(await create(wrap(connection), schema=schema_of(postgres_url)))

    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        check(store, asyncio.run(main()))


def test_what_is_no_connection_is_refused_before_anything_is_written(path: Path) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    others: list[Any] = [
        None,
        "shop.db",
        object(),
        engine,
        sqlalchemy.orm.sessionmaker(engine),
        SimpleNamespace(cursor=lambda: object()),
    ]
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        for other in others:
            with pytest.raises(rc.Unsupported, match=r"connection must be of sqlite3, aiosqlite, psycopg"):
                create(other)
        engine.dispose()
        assert not store.submissions_waiting


def test_a_library_is_not_imported_to_recognize_a_connection(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sqlalchemy.orm", "psycopg", "asyncpg", "aiosqlite", "django.db"):
        monkeypatch.setitem(sys.modules, name, None)  # an import of it would fail
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        with contextlib.closing(sqlite3.connect(path, factory=TracedSqlite)) as connection:
            number = create(connection)
            connection.commit()
        check(store, number)


def test_the_task_of_a_worker(path: Path) -> None:
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        worker = Worker(store)
        ran: list[str] = []
        mail = worker.task("mail")(ran.append)
        with contextlib.closing(sqlite3.connect(path, factory=TracedSqlite)) as connection:
            connection.row_factory = ROWS["scalar"]
            assert mail.submit(connection, "ada") == 1
            connection.commit()
        worker.run_until_idle()
        assert ran == ["ada"]
