"""Versions of a workflow's code on one store, for tests of code that changes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from workflow_runs import drained, error_of, records

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import sleep, step

__all__ = ["before", "begun", "charge", "deployed", "diverged", "line_of", "mail", "mended", "pack"]


@step
async def charge(order: str = "7") -> str:
    return f"receipt of {order}"


@step
async def pack(order: str = "7") -> str:
    return f"parcel of {order}"


@step
async def mail(text: str = "") -> None: ...


async def before() -> str:
    receipt = await charge()
    await sleep(1000)
    return receipt


def line_of(function: Callable[..., Any], text: str) -> int:
    """The line of a function that has a text."""
    lines, start = inspect.getsourcelines(function)
    return next(start + at for at, line in enumerate(lines) if text in line)


def begun(store: rc.Store, code: Callable[..., Any], id: str = "w") -> None:
    """A workflow that an earlier version of the code has run until it waits."""
    worker = Worker(store, name="old")
    worker.workflow("w")(code).using(id=id).delay()
    assert [each.outcome for each in worker.run_until_idle().runs][-1:] == ["suspended"]


def deployed(store: rc.Store, code: Callable[..., Any]) -> Worker:
    """A worker with another version of the code."""
    worker = Worker(store, name="new")
    worker.workflow("w")(code)
    return worker


def diverged(store: rc.Store, code: Callable[..., Any], id: str = "w") -> str:
    """What a worker with another version of the code says of the workflow, whose job is archived by it."""
    known = records(store, id)
    (ended,) = drained(deployed(store, code))
    assert ended.outcome == "failed" and ended.error is not None, ended
    assert ended.error.code == "NonDeterministic"
    job = store.jobs.get(id)
    assert (job.state, error_of(store, id)["code"]) == ("archived", "NonDeterministic")
    assert records(store, id) == known, "it wrote something"
    return ended.error.message


def mended(store: rc.Store, code: Callable[..., Any], id: str = "w") -> Any:
    """The result of the archived workflow, once the code is corrected and the job is run again."""
    store.jobs.run(id)
    ended = drained(deployed(store, code))[-1]
    assert ended.outcome == "completed", ended
    return ended.result
