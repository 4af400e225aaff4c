"""The lease is shorter than the step: another worker claims the job while the first one still runs it.

Fixed: the worker renews its lease while it works.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import IDLE, Choices, interleave
from zoo.working import QUICK, SECOND, Program, all_final, new_store


def buggy(choices: Choices) -> None:
    build(choices, heartbeat=False)


def fixed(choices: Choices) -> None:
    build(choices, heartbeat=True)


def build(choices: Choices, *, heartbeat: bool) -> None:
    store = new_store()
    building: set[str] = set()

    def worker(name: str) -> Program:
        while True:
            for job in store.jobs.claim("default", worker=name, lease=10 * SECOND, start=1):
                left = choices.integer(1, 15, "seconds of the build") * SECOND
                building.add(name)
                yield "begins to build"
                while left > 0:
                    part = min(left, 4 * SECOND if heartbeat else left)
                    yield part
                    left -= part
                    if heartbeat:
                        store.jobs.heartbeat(name, [(job.id, job.version)])
                building.discard(name)
                yield "ends its build"
                try:
                    store.jobs.complete(job.id, job.version)
                except rc.Conflict:
                    yield "has lost its job"
            yield IDLE

    def watch(name: str) -> Program:
        while True:
            assert len(building) < 2, "two workers build at the same time"
            yield IDLE

    store.jobs.enqueue("build", id="site", retry_policy=QUICK)
    interleave(choices, store, {"a": worker, "b": worker, "watch": watch}, until=all_final(store, "site"))
