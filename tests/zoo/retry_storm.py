"""A handler that fails enqueues a copy of its job, and fails: the queue retries the job as well, so that each failure doubles the calls.

Fixed: the handler fails, and leaves the retry to the queue.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import Choices, interleave
from zoo.working import MINUTE, QUICK, SECOND, Program, new_store, worker


def buggy(choices: Choices) -> None:
    notify(choices, copies=True)


def fixed(choices: Choices) -> None:
    notify(choices, copies=False)


def notify(choices: Choices, *, copies: bool) -> None:
    store = new_store()
    back_at = choices.integer(0, 6, "seconds of the outage") * SECOND
    allowed = 2 + back_at // SECOND
    calls: list[int] = []

    def call(job: rc.Job, name: str) -> Program:
        calls.append(store.now)
        assert len(calls) <= allowed, f"{len(calls)} calls in an outage of {back_at // SECOND} s"
        yield "calls the service"
        if store.now < back_at:
            if copies:
                store.jobs.enqueue("call", id=f"{job.id}+", retry_policy=QUICK, max_retries=9)
                yield
            raise ConnectionError("the service is down")

    store.jobs.enqueue("call", id="call", retry_policy=QUICK, max_retries=9)
    programs = {"a": worker(store, call), "b": worker(store, call)}
    interleave(choices, store, programs, within=MINUTE)
