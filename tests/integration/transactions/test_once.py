"""A step in the application's database happens once, with every kind of session; what fails leaves nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from integration.transactions.ways import KEY, WAYS, Database, Way, named, over
from resonate_core.errors import Invalid
from resonate_core.worker.transactions import AnotherStep, StepKey, StepUnsettled


@over(WAYS)
def test_a_second_attempt_takes_the_result_of_the_first(way: Way, database: Database) -> None:
    ran: list[Any] = []
    function = way.function(ran, result={"receipt": "ü\x00'%s{}", "cents": 1200})

    async def main() -> None:
        async with way.open(database) as session:
            first = await way.once(session, function, "7", kwargs={"cents": 1200})
            assert await way.once(session, function, "7", kwargs={"cents": 1200}) == first  # the record was lost

    asyncio.run(main())
    assert way.run(database, function, "7") == {"receipt": "ü\x00'%s{}", "cents": 1200}  # and the process
    assert ran == [("7", 1200)]
    assert (database.count("effects"), database.count("resonate_steps")) == (1, 1)


OTHERS = [KEY._replace(job="order-8"), KEY._replace(created_at=1_001), KEY._replace(restarts=1), KEY._replace(step="3:1")]


@over([named("sqlite: sqlite3"), named("postgres: psycopg")])
def test_each_part_of_the_key_makes_another_step(way: Way, database: Database) -> None:
    ran: list[Any] = []
    for number, key in enumerate([KEY, *OTHERS, KEY]):
        assert way.run(database, way.function(ran, result=number), key=key) == number % 5
    assert database.count("effects") == 5


ODD = ["", "x" * 10_000, "'; DROP TABLE effects; --", "%s %(id)s :id $1 ? {id}", "日本 \N{PILE OF POO}\n", '"', "\\"]


@over(WAYS)
def test_keys_may_have_any_characters(way: Way, database: Database) -> None:
    ran: list[Any] = []

    async def main() -> None:
        async with way.open(database) as session:
            for odd in ODD:
                key, name = StepKey(odd, 0, 0, odd), odd or "charge"
                assert await way.once(session, way.function(ran, result=odd), key=key, name=name) == odd
                assert await way.once(session, way.function(ran, result=1), key=key, name=name) == odd

    asyncio.run(main())
    assert (len(ran), database.count("effects")) == (len(ODD), len(ODD))
    assert len(database.query("SELECT job, step FROM resonate_steps")) == len(ODD)


@over(WAYS)
def test_an_exception_undoes_the_step(way: Way, database: Database) -> None:
    ran: list[Any] = []

    async def main() -> None:
        async with way.open(database) as session:
            with pytest.raises(ValueError, match="no stock"):
                await way.once(session, way.function(ran, result=ValueError("no stock")))
            assert (database.count("effects"), database.count("resonate_steps")) == (0, 0)
            assert await way.once(session, way.function(ran)) == "receipt"  # the session is as good as new

    asyncio.run(main())
    assert (len(ran), database.count("effects")) == (2, 1)


@over(WAYS)
def test_a_failed_statement_undoes_the_step(way: Way, database: Database) -> None:
    ran: list[Any] = []
    with pytest.raises(Exception, match="no_such_table"):
        way.run(database, way.function(ran, also=lambda session: session.execute(way.text("INSERT INTO no_such_table VALUES (1)"))))
    assert (len(ran), database.count("effects"), database.count("resonate_steps")) == (1, 0, 0)


@over(WAYS)
def test_a_result_without_json_undoes_the_step(way: Way, database: Database) -> None:
    ran: list[Any] = []
    with pytest.raises(TypeError, match="not JSON serializable"):
        way.run(database, way.function(ran, result=object()))
    with pytest.raises(KeyError):
        way.run(database, way.function(ran, result={}), decode=lambda text: {}["receipt"])
    assert (len(ran), database.count("effects"), database.count("resonate_steps")) == (2, 0, 0)


@over([named("sqlite: sqlite3"), named("postgres: psycopg")])
def test_the_first_caller_gets_what_is_decoded_too(way: Way, database: Database) -> None:
    ran: list[Any] = []
    assert way.run(database, way.function(ran, result=(1, 2)), encode=lambda value: b"[1,2]") == [1, 2]
    assert way.run(database, way.function(ran)) == [1, 2]


@over([named("sqlite: sqlite3"), named("postgres: psycopg")])
def test_another_function_with_this_key_is_refused(way: Way, database: Database) -> None:
    ran: list[Any] = []
    way.run(database, way.function(ran))
    with pytest.raises(AnotherStep, match='step 3 of "order-7" has run charge, and now is refund') as caught:
        way.run(database, way.function(ran), name="refund")
    assert (caught.value.recorded, caught.value.called, caught.value.status) == ("charge", "refund", 409)
    assert database.count("effects") == 1


CRASH = """
import os, sys, json, sqlite3
from resonate_core.worker.transactions import StepKey, run_once
place, when = sys.argv[1:]
def connect():
    if not place.startswith("postgresql:"):
        return sqlite3.connect(place)
    import psycopg
    return psycopg.connect(place)
def charge(session):
    session.execute("INSERT INTO effects VALUES ('done')")
    if when == "before": os._exit(9)
    return "receipt"
run_once(connect, StepKey("order-7", 1000, 0, "3"), charge, encode=json.dumps, decode=json.loads)
os._exit(9)
"""


@over([named("sqlite: sqlite3"), named("postgres: psycopg")])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_around_the_commit(when: str, way: Way, database: Database) -> None:
    place = str(database.path or database.url)
    assert subprocess.run([sys.executable, "-c", CRASH, place, when], check=False).returncode == 9
    ran: list[Any] = []
    assert way.run(database, way.function(ran)) == "receipt"
    assert (len(ran), database.count("effects")) == (1 if when == "before" else 0, 1)


def _commit(way: Way) -> Any:
    """How a function ends the transaction of its step against the rule."""
    if way.text is not str or "sqlite" in way.name:
        return lambda session: session.commit()
    return lambda session: session.execute("COMMIT")


@over(WAYS)
def test_a_function_that_commits_is_refused_and_never_repeated(way: Way, database: Database) -> None:
    ran: list[Any] = []
    with pytest.raises(Invalid, match="must leave its transaction open"):
        way.run(database, way.function(ran, also=_commit(way)))
    with pytest.raises(StepUnsettled, match=f"committed the transaction itself.*{KEY.digest}"):
        way.run(database, way.function(ran))
    assert (len(ran), database.count("effects")) == (1, 1)
    database.query("""UPDATE resonate_steps SET result = '"by hand"'""")
    assert way.run(database, way.function(ran)) == "by hand"


@over(WAYS)
def test_a_function_that_rolls_back_is_refused(way: Way, database: Database) -> None:
    ran: list[Any] = []

    def undo(session: Any) -> Any:
        return session.rollback() if hasattr(session, "rollback") else session.execute("ROLLBACK")

    with pytest.raises(Invalid, match="must leave its transaction open"):
        way.run(database, way.function(ran, also=undo))
    assert (database.count("effects"), database.count("resonate_steps")) == (0, 0)
