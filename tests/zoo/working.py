"""What most of the programs have in common: a store on a manual clock, and a worker of its jobs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import resonate_core as rc
from resonate_core.testing import IDLE

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

#: Retries after a second, so that stories are short.
QUICK = {"kind": "fixed", "intervals": [SECOND]}

Store = rc.Store[rc.ManualClock]
Program = Generator[Any, Any, Any]


def new_store() -> Store:
    """Returns a store in memory, at the instant 0."""
    return rc.Store(clock=rc.ManualClock(start=0))


def worker(store: Store, handler: Callable[[rc.Job, str], Program], *, lease: int = 10 * SECOND) -> Callable[[str], Program]:
    """Returns a program that claims jobs and runs them with a handler. It can crash after each request, and where the handler yields."""

    def program(name: str) -> Program:
        while True:
            for job in store.jobs.claim("default", worker=name, lease=lease, start=1):
                yield
                try:
                    yield from handler(job, name)
                    store.jobs.complete(job.id, job.version)
                except ConnectionError as error:
                    store.jobs.fail(job.id, job.version, "Unreachable", str(error))
                except rc.Conflict:
                    yield "has lost its job"
                yield
            yield IDLE

    return program


def all_final(store: Store, *ids: str) -> Callable[[], bool]:
    """Returns the condition that jobs have ended."""
    return lambda: all(store.jobs.get(id).state in ("completed", "failed", "archived", "cancelled", "expired") for id in ids)
