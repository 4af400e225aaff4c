"""Shared by the tests of `submit`: the same requests have the same effects on a database and on a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy.ext.asyncio
import sqlalchemy.orm

import resonate_core as rc
import resonate_core.worker

FAR = 10**15

Submit = Callable[[Any, str], Any]
"""Submits the creation of a promise: on a connection, with an id."""


def promise(id: str) -> dict[str, Any]:
    return {"id": id, "timeoutAt": FAR, "param": {}, "tags": {}}


def ids(store: rc.Store) -> list[str]:
    """Returns the promises after a tick."""
    store.tick()
    return sorted(promise.id for promise in store.promises.search("*"))


def created_and_settled(count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Returns requests of which every second one needs the one before it."""
    for number in range(count):
        yield "promise.create", promise(f"p{number}")
        yield "promise.settle", {"id": f"p{number}", "state": "resolved", "value": {}}


def texts_to_refuse() -> Iterator[str]:
    """Returns requests that only SQL can submit and that are refused when they run: a read, one for debugging, and an unknown one."""
    for kind in ("promise.get", "debug.reset", "promise.creat"):
        yield json.dumps({"kind": kind, "head": {"corrId": "0", "version": "2026-04-01"}, "data": {"id": "taken"}})


def check_refused(store: rc.Store, numbers: list[int]) -> None:
    """Checks the problems of a refused `task.acquire` and of `texts_to_refuse`, and that no invariant is violated."""
    problems = store.problems()
    assert [problem.name for problem in problems] == ["submission_refused"] * 4
    assert [problem.id for problem in problems] == [str(number) for number in numbers]
    assert [problem.detail[:17] for problem in problems] == ["refused with 404:"] + ["refused with 400:"] * 3
    assert store.check() == problems


def check_worker(store: rc.Store, connection: Any, **options: Any) -> None:
    """Checks that a worker runs the job whose transaction was committed, and no other."""
    worker = rc.worker.Worker(store)
    ran: list[str] = []

    @worker.task("mail", max_retries=3)
    def mail(to: str) -> None:
        ran.append(to)
        worker.stop()

    mail.submit(connection, "nobody", **options)
    connection.rollback()
    mail.submit(connection, "ada", id="first", **options)
    connection.commit()
    asyncio.run(asyncio.wait_for(worker.serve(), 60))
    assert (ran, store.jobs.get("first").max_retries) == (["ada"], 3)


def through_sqlalchemy(engine: Any, submit: Submit) -> None:
    """Commits the promises a and b, and rolls c back."""
    with engine.begin() as connection:
        submit(connection, "a")
    with sqlalchemy.orm.Session(engine) as session:
        submit(session, "b")
        session.commit()
        submit(session, "c")
    engine.dispose()


async def through_async_sqlalchemy(engine: Any, submit: Submit) -> None:
    """Commits the promises a and b."""
    async with engine.begin() as connection:
        await submit(connection, "a")
    async with sqlalchemy.ext.asyncio.AsyncSession(engine) as session:
        await submit(session, "b")
        await session.commit()
    await engine.dispose()
