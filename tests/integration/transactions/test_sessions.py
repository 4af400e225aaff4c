"""Which sessions are taken: those in a transaction are left as they are, and unknown ones are named."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

from integration.transactions.ways import EFFECT, JSON, KEY, WAYS, Database, Way, engine, named, over, synchronous
from resonate_core.errors import Invalid, Unsupported
from resonate_core.worker.transactions import StepUnsettled, run_once, run_once_async
from resonate_core.worker.transactions.statements import dialect_of

ONE = over([named("sqlite: sqlite3")])


@over([way for way in WAYS if not way.reopens and way.label != "asyncpg" and "autocommit" not in way.label])
def test_a_session_in_a_transaction_is_refused_and_stays_in_it(way: Way, database: Database) -> None:
    ran: list[Any] = []

    async def main() -> None:
        async with way.open(database) as session:
            if "without implicit" in way.label:
                session.execute("BEGIN")
            done = session.execute(way.text(EFFECT))
            if way.asynchronous:
                await done
            with pytest.raises(StepUnsettled, match='step 3 of "order-7" is not settled: the session must not be in a transaction'):
                await way.once(session, way.function(ran))
            committed = session.commit()
            if way.asynchronous:
                await committed
            assert (ran, database.count("effects")) == ([], 1)  # its own
            assert await way.once(session, way.function(ran)) == "receipt"

    asyncio.run(main())
    assert database.count("effects") == 2


@over([named("postgres: asyncpg"), named("postgres: psycopg, autocommit")])
def test_transactions_by_hand_are_seen_too(way: Way, database: Database) -> None:
    async def main() -> None:
        async with way.open(database) as session:
            for statement in ("BEGIN", EFFECT):
                done = session.execute(statement)
                if way.asynchronous:
                    await done
            with pytest.raises(StepUnsettled, match="must not be in a transaction"):
                await way.once(session, way.function([]))
            done = session.execute("COMMIT")
            if way.asynchronous:
                await done

    asyncio.run(main())
    assert database.count("effects") == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sqlite3.connect has autocommit since Python 3.12")
@pytest.mark.parametrize("way", ["sqlite"])
def test_the_two_ways_of_autocommit_of_sqlite3(database: Database) -> None:
    def place(session: Any) -> None:
        session.execute(EFFECT)

    options: dict[str, Any] = {"autocommit": False}
    with closing(sqlite3.connect(str(database.path), **options)) as connection:
        with pytest.raises(StepUnsettled, match="open it with autocommit=True"):
            run_once(connection, KEY, place, **JSON)
        connection.rollback()
    options["autocommit"] = True
    with closing(sqlite3.connect(str(database.path), **options)) as connection:
        assert run_once(connection, KEY, place, **JSON) is None
    with engine(database, connect_args={"autocommit": False}) as made:  # SQLAlchemy knows its own transactions

        def place_again(session: Any) -> None:
            session.execute(sqlalchemy.text(EFFECT))

        for _ in range(2):
            run_once(made, KEY._replace(step="4"), place_again, **JSON)
    assert database.count("effects") == 2


@pytest.mark.parametrize("way", ["sqlite", "postgres"])
def test_an_engine_without_transactions_is_refused(way: str, database: Database) -> None:
    options = [{"isolation_level": "AUTOCOMMIT"}, {"execution_options": {"isolation_level": "AUTOCOMMIT"}}]
    for each in options:
        with engine(database, **each) as made, pytest.raises(StepUnsettled, match="isolation level AUTOCOMMIT"):
            run_once(made, KEY, lambda session: None, **JSON)


@pytest.mark.parametrize("way", ["sqlite", "postgres"])
def test_in_a_test_of_an_application_that_is_rolled_back(way: str, database: Database) -> None:
    """The recipe of SQLAlchemy's pages, "joining a session into an external transaction"."""

    def place(session: Any) -> str:
        session.execute(sqlalchemy.text(EFFECT))
        return "placed"

    with engine(database) as made:
        if way == "sqlite":  # the driver does not begin a transaction before a savepoint: SQLAlchemy's page on SQLite
            sqlalchemy.event.listen(made, "connect", lambda connection, record: setattr(connection, "isolation_level", None))
            sqlalchemy.event.listen(made, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        run_once(made, KEY._replace(step="1"), place, **JSON)  # makes the table
        with made.connect() as connection:
            outer = connection.begin()
            with sqlalchemy.orm.Session(connection) as session, pytest.raises(StepUnsettled, match="create_savepoint"):
                run_once(session, KEY, place, **JSON)
            with sqlalchemy.orm.Session(connection, join_transaction_mode="create_savepoint") as session:
                for _ in range(2):
                    assert run_once(session, KEY, place, **JSON) == "placed"
                assert session.execute(sqlalchemy.text("SELECT count(*) FROM effects")).scalar_one() == 2
            outer.rollback()
    assert database.count("effects") == 1


class Base(sqlalchemy.orm.DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: sqlalchemy.orm.Mapped[int] = sqlalchemy.orm.mapped_column(primary_key=True)
    name: sqlalchemy.orm.Mapped[str] = sqlalchemy.orm.mapped_column(unique=True)


class WarningSession(sqlalchemy.orm.Session):
    """As sqlmodel's: a subclass whose `execute` warns."""

    def execute(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("use exec instead")


@pytest.mark.parametrize("way", ["sqlite", "postgres"])
def test_objects_that_a_function_adds(way: str, database: Database) -> None:
    """Their SQL runs before the result is kept: an error of it is one of the function, and its id is known."""

    def place(session: Any, name: str) -> Order:
        order = Order(name=name)
        session.add(order)
        return order

    with engine(database) as made:
        Base.metadata.drop_all(made)
        Base.metadata.create_all(made)
        sessions = sqlalchemy.orm.sessionmaker(made, class_=WarningSession)
        options: dict[str, Any] = {**JSON, "encode": lambda order: str(order.id)}
        assert run_once(sessions, KEY, place, ["a"], **options) == 1
        assert run_once(sqlalchemy.orm.scoped_session(sessions), KEY, place, ["a"], **options) == 1
        with pytest.raises(sqlalchemy.exc.IntegrityError):
            run_once(sessions, KEY._replace(step="4"), place, ["a"], **options)
        with sessions() as session:
            session.add(Order(name="b"))  # not sent, and so in a transaction
            with pytest.raises(StepUnsettled, match="must not be in a transaction"):
                run_once(session, KEY._replace(step="4"), place, ["c"], **options)
    assert (database.count("orders"), database.count("resonate_steps")) == (1, 1)


class Proxy:
    """A wrapper like those of wrapt, with which tracers wrap connections."""

    def __init__(self, wrapped: Any) -> None:
        self.__wrapped__ = wrapped

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


class Subclass(sqlite3.Connection):
    def cursor(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("not this")


@pytest.mark.parametrize("way", ["sqlite"])
def test_subclasses_wrappers_and_odd_rows_are_known(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sqlalchemy.orm", "psycopg", "asyncpg", "aiosqlite", "django.db"):
        monkeypatch.setitem(sys.modules, name, None)  # an import of it would fail
    got: list[Any] = []
    with closing(sqlite3.connect(str(database.path), factory=Subclass)) as connection:
        connection.row_factory = lambda cursor, row: {"rows": row}
        connection.text_factory = bytes
        for given in (connection, Proxy(connection), Proxy(Proxy(connection))):
            assert run_once(given, KEY, got.append, name="ä", **JSON) is None
    assert got == [connection]


class Wrong:
    pass


@pytest.mark.parametrize("given", [None, "default", 7, Wrong(), Wrong, SimpleNamespace(begin=None), lambda: Wrong()])
def test_what_is_no_session_is_named(given: Any) -> None:
    with pytest.raises(
        Unsupported, match="session must be a session, connection, engine or sessionmaker of SQLAlchemy, a connection of sqlite3"
    ):
        run_once(given, KEY, lambda session: None, **JSON)
    with pytest.raises(Unsupported, match="session must be a session"):
        asyncio.run(run_once_async(given, KEY, lambda session: None, **JSON))


def test_other_databases_are_named() -> None:
    with pytest.raises(Unsupported, match="the database of a step must be SQLite or PostgreSQL, got mysql"):
        dialect_of("mysql")


@pytest.mark.parametrize("way", ["sqlite"])
def test_a_session_and_its_function_are_both_synchronous_or_both_asynchronous(database: Database) -> None:
    async def place(session: Any) -> None:
        raise AssertionError("it ran")

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(str(database.path))

    with pytest.raises(Invalid, match="function must be a def, got an async def"):
        run_once(connect, KEY, place, **JSON)
    with pytest.raises(Invalid, match="function must return its result, got a coroutine"):
        run_once(connect, KEY, lambda session: place(session), **JSON)
    with pytest.raises(Unsupported, match="session must be an asynchronous one, as its function is an async def, got Connection"):
        asyncio.run(run_once_async(connect, KEY, place, **JSON))
    made = sqlalchemy.ext.asyncio.create_async_engine(f"sqlite+aiosqlite:///{database.path}")
    with pytest.raises(Unsupported, match="session must be a synchronous one, as its function is a def, got AsyncSession"):
        run_once(sqlalchemy.ext.asyncio.AsyncSession(made), KEY, print, **JSON)
    assert database.count("resonate_steps") == 0


@pytest.mark.parametrize("way", ["sqlite"])
def test_what_opens_a_session_is_closed_with_the_step(database: Database) -> None:
    opened: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        opened.append(sqlite3.connect(str(database.path)))
        return opened[-1]

    def fail(session: Any) -> None:
        raise ValueError("no stock")

    run_once(connect, KEY, lambda session: session.execute(EFFECT) and None, name="a", **JSON)
    with pytest.raises(ValueError, match="no stock"):
        run_once(connect, KEY._replace(step="4"), fail, **JSON)
    for each in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            each.execute("SELECT 1")
    assert database.count("effects") == 1


@pytest.mark.parametrize("way", ["sqlite"])
def test_an_error_of_opening_leaves_the_step_unsettled_and_one_of_closing_changes_nothing(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def cannot() -> Any:
        raise ConnectionRefusedError("nobody listens")

    with pytest.raises(StepUnsettled, match=r"its session cannot be opened: .*nobody listens") as caught:
        run_once(cannot, KEY, lambda session: None, **JSON)
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)

    class Closing(nullcontext[Any]):
        def __exit__(self, *_: object) -> None:
            raise OSError("it was gone already")

    with closing(sqlite3.connect(str(database.path))) as connection:
        assert run_once(lambda: Closing(connection), KEY, lambda session: 7, **JSON) == 7
    assert "it was gone already" in caplog.text


def test_memory_of_one_connection() -> None:
    way = Way("sqlite", "memory", synchronous(lambda database: closing(sqlite3.connect(":memory:"))))

    async def main() -> None:
        async with way.open(Database()) as session:
            session.execute("CREATE TABLE effects (name text)")
            assert [await way.once(session, way.function([], result=n)) for n in (1, 2)] == [1, 1]

    asyncio.run(main())
