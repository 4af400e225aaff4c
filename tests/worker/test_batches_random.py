"""Batches of random jobs on simulated time: every call is a batch, and every job ends as its script says, after as many attempts."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import BatchContext, Retry, Skip, Snooze, Worker

SECOND = 1000
#: What a job does at each of its attempts before the last, and at the last.
BEFORE = ("error", "retry", "snooze")
AT_LAST = ("ok", "ok", "ok", "skip", "none")


def end_of(what: str) -> Any:
    """Returns the outcome that a handler gives for a job."""
    ends = {"error": ValueError("no"), "retry": Retry(after=SECOND), "snooze": Snooze(2 * SECOND), "skip": Skip("no"), "none": None}
    return ends.get(what, what)


def script(chance: random.Random) -> list[str]:
    return [chance.choice(BEFORE) for _ in range(chance.choice((0, 0, 1, 3)))] + [chance.choice(AT_LAST)]


@pytest.mark.parametrize("seed", range(12))
def test_random_batches(seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock, check=True)
    limits = {"size": chance.choice((1, 2, 5, 20)), "grace": chance.choice((0, SECOND, 5 * SECOND)), "maxDelay": 8 * SECOND}
    lifecycle = chance.choice((None, "asynq", "horsies"))
    store.queues.set("default", groups=limits)
    worker = Worker(store, batch=chance.choice((0, 3, 30)), lifecycle=lifecycle)
    attempts: Counter[str] = Counter()
    batches: dict[str, str] = {}
    sizes: list[int] = []

    @worker.batch_task("t", retention="kept", max_retries=9, retry_policy={"kind": "exponential", "base": 500, "jitter": 0.5})
    def body(scripts: list[list[str]], batch: BatchContext) -> Any:
        assert {job.job.group for job in batch} == {batch.group}
        assert {job.job.batch for job in batch} == ({None} if batch.group is None else {batch.id})
        assert batch.group is not None or len(batch) == 1
        ids = [job.id for job in batch]
        assert ids == sorted(ids, key=lambda id: (id != ids[0], id))  # the rest come after the first, by id
        sizes.append(len(batch))
        says = []
        for job, seen in zip(batch, scripts):
            assert batches.setdefault(job.id, batch.id) == batch.id
            says.append(seen[attempts[job.id]])
            attempts[job.id] += 1
        if len(set(says)) == 1 and isinstance(end_of(says[0]), BaseException):
            raise end_of(says[0])
        return None if set(says) == {"none"} else [end_of(one) for one in says]

    scripts: dict[str, list[str]] = {}
    for number in range(120):
        id = f"j{number:03}"
        scripts[id] = script(chance)
        options = {"process_in": chance.randrange(1, 4) * SECOND} if chance.random() < 0.2 else {}
        body.enqueue(scripts[id], id=id, group=chance.choice((None, "a", "b", "c")), priority=chance.choice((10, 50)), **options)
        if chance.random() < 0.3:
            clock.advance(chance.randrange(3 * SECOND))
        if chance.random() < 0.2:
            worker.run_until_idle(limit=chance.choice((None, 1, 4)))
    worker.run_until_idle(advance=True)

    assert attempts == {id: len(seen) for id, seen in scripts.items()}
    skipped = "failed" if lifecycle == "horsies" else "archived"
    error = {"__type": "error", "name": "SkipRetry", "message": "no", "code": "SkipRetry"} if skipped == "failed" else None
    ends = {"ok": ("completed", "ok"), "none": ("completed", None), "skip": (skipped, error)}
    for id, seen in scripts.items():
        job = store.jobs.get(id)
        assert (job.state, job.result.json()) == ends[seen[-1]]
    assert max(sizes) <= limits["size"] and sum(sizes) == sum(attempts.values())
    assert store.check() == []
