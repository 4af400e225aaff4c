"""Several workers on one store, bodies with every outcome, stops at any time: each job completes once, and none is lost."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest
from waiting import until

import resonate_core as rc
from resonate_core.worker import JobContext, Retry, Snooze, Worker

SEED = random.randrange(2**32)
JOBS = 300

#: Under the lifecycle horsies there are retries by a policy only.
AT_ONCE = {"kind": "fixed", "intervals": [0]}


def workers_of(store: rc.Store, seed: int) -> list[Worker]:
    """Returns three workers with the same handlers. The id and the attempt of a job decide what its body does."""
    made = []

    def step(job: JobContext) -> float:
        dice = random.Random(f"{seed}/{job.id}/{job.attempt}")
        if dice.random() < 0.2:
            raise Retry(after=dice.randrange(20))
        if dice.random() < 0.2:
            raise Snooze(dice.randrange(20))
        return dice.choice([0, 0, 0, 0.001, 0.01])

    for number in range(3):
        options = {"concurrency": 1 + number * 3, "batch": number * 5, "lifecycle": ["asynq", None, "horsies"][number]}
        worker = Worker(store, name=f"w{number}", lease=400, poll_interval=20, grace=20, **options)

        @worker.task("sync", max_retries=1000, retry_policy=AT_ONCE, retention="kept")
        def sync(*, job: JobContext):
            threading.Event().wait(step(job))
            return job.id

        @worker.task("async", max_retries=1000, retry_policy=AT_ONCE, retention="kept")
        async def asynchronous(*, job: JobContext):
            await asyncio.sleep(step(job))
            return job.id

        made.append(worker)
    return made


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_each_job_completes_once(live_store: rc.Store, kind: str):
    print(f"seed {SEED}")
    workers = workers_of(live_store, SEED)
    jobs = [job for worker in workers for job in worker.tasks[kind].enqueue_many([None] * (JOBS // 3))]
    dice = random.Random(SEED)

    def done() -> int:
        return sum(worker.counts.completed for worker in workers)

    while done() < JOBS:
        chosen = dice.sample(workers, dice.choice([1, 2, 3]))
        before = done()
        for worker in chosen:
            worker.__enter__()
        until(lambda before=before: done() > before + 20 or done() == JOBS, [worker.counts for worker in workers])
        for worker in chosen:
            worker.__exit__()
    assert done() == JOBS
    for job in jobs:
        there = live_store.jobs.get(job.id)
        assert there.state == "completed" and there.result.json() == job.id
        assert [each["outcome"] for each in there.attempts].count("completed") == 1
    assert live_store.check() == []
