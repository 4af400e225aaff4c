"""Two schedules overlap: the archive moves rows while the report still sums them, so that the report counts too little.

Fixed: both run in a queue that runs one job at a time.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.testing import IDLE, Choices, interleave
from zoo.working import HOUR, MINUTE, Program, new_store


def buggy(choices: Choices) -> None:
    nightly(choices, one_at_a_time=False)


def fixed(choices: Choices) -> None:
    nightly(choices, one_at_a_time=True)


def nightly(choices: Choices, *, one_at_a_time: bool) -> None:
    store = new_store()
    rows, archive = [10, 20, 30], [5]
    reports: list[int] = []
    if one_at_a_time:
        store.queues.set("nightly", concurrency=1)
    for name, cron in (("report", "0 * * * *"), ("archive", "30 * * * *")):
        store.schedules.create(name, cron, promise_timeout=2 * HOUR, job={"queue": "nightly", "type": name, "maxRetries": 3})

    def run(job: rc.Job) -> Program:
        if job.type == "archive":
            if rows:
                archive.append(rows.pop(0))
                yield "moves a row"
            return
        seen = list(archive)
        yield choices.integer(0, 50, "minutes of the report") * MINUTE
        reports.append(sum(seen) + sum(rows))
        assert reports[-1] == 65, f"the report says {reports[-1]}; the sum is 65 at each instant"
        yield "has its sum"

    def worker(name: str) -> Program:
        while True:
            for job in store.jobs.claim("nightly", worker=name, lease=2 * HOUR, start=1):
                yield
                yield from run(job)
                store.jobs.complete(job.id, job.version)
                yield
            yield IDLE

    interleave(choices, store, {"a": worker, "b": worker}, within=4 * HOUR)
    assert reports, "no report"
