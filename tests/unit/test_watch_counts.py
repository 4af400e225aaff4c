"""The attempts and state changes that a watch counts agree with the jobs of the store."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

import resonate_core as rc

MakeStore = Callable[..., rc.Store]


@pytest.mark.parametrize("seed", range(5))
def test_attempts_and_states_of_random_jobs(make_store: MakeStore, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    clock = rc.ManualClock()
    store = make_store(clock=clock)
    store.jobs.enqueue("t", id="before")
    store.jobs.claim("default", worker="w", lease=5, start=1)
    watch = store.watch(-1)
    entered: Counter[str] = Counter()
    states = {"before": "running"}

    def note() -> None:
        for job in store.jobs.search(limit=1000):
            if states.get(job.id) != job.state:
                entered[job.state] += 1
                states[job.id] = job.state

    for turn in range(600):
        running = [job for job in store.jobs.search(limit=1000) if job.state == "running"]
        job = chance.choice(running) if running else None
        what = chance.choice(
            [
                "enqueue",
                "enqueue",
                "claim",
                "start",
                "start",
                "complete",
                "fail",
                "fail",
                "snooze",
                "suspend",
                "cancel",
                "pass",
                "settle",
            ]
        )
        if what == "enqueue":
            store.jobs.enqueue("t", id=f"j{turn}", max_retries=chance.choice([0, 1, 5]), timeout=chance.choice([None, 3]))
        elif what in ("claim", "start"):
            store.jobs.claim("default", worker="w", lease=chance.choice([2, 50]), start=int(what == "start"))
        elif what == "pass":
            clock.advance_to_next()
        elif job is None:
            continue
        elif what == "complete":
            store.jobs.complete(job.id, job.version)
        elif what == "fail":
            store.jobs.fail(job.id, job.version, "E", retryable=chance.random() < 0.8)
        elif what == "snooze":
            store.jobs.snooze(job.id, job.version, 10)
        elif what == "suspend":
            store.jobs.suspend(job.id, job.version, store.jobs.enqueue("t", id=f"part{turn}"))
        elif what == "cancel":
            store.jobs.cancel(job.id)
        else:
            store.promises.reject(job.id)
        note()
    attempts = Counter(
        attempt["outcome"] for job in store.jobs.search(limit=1000) for attempt in job.attempts if attempt.get("outcome")
    )
    assert {outcome: count for outcome, count in watch.job_attempts.items() if count} == dict(attempts)
    assert set(watch.job_attempts) == {"completed", "failed", "crashed", "timed_out", "snoozed", "suspended", "cancelled"}
    for state in ("archived", "failed", "cancelled", "completed", "running"):
        assert watch.job_states[state] == entered[state], state
    assert attempts["crashed"] and attempts["failed"] and entered["archived"], "this seed shows nothing"


def test_a_job_that_goes_as_it_completes(make_store: MakeStore) -> None:
    store = make_store(clock=rc.ManualClock())
    watch = store.watch(-1)
    for i in range(3):
        store.jobs.enqueue("t", id=f"j{i}", retention=0)
        store.jobs.claim("default", worker="w", lease=1000, start=1)
        store.jobs.complete(f"j{i}", 1)
    assert list(store.jobs.search()) == []
    assert watch.job_attempts["completed"] == watch.job_states["completed"] == 3


def test_what_was_not_committed_does_not_count(make_store: MakeStore) -> None:
    store = make_store(clock=rc.ManualClock())
    store.jobs.enqueue("t", id="j")
    watch = store.watch(-1)
    head = {"corrId": "c", "version": "2026-04-01"}
    refused = store.apply(
        [
            {"kind": "job.archive", "head": head, "data": {"id": "j"}},
            {"kind": "job.complete", "head": head, "data": {"id": "j", "version": 1}},
        ],
        atomic=True,
    )
    assert [answer["head"]["status"] for answer in refused] == [409, 409]
    assert not any(watch.job_states.values()) and not any(watch.job_attempts.values())
