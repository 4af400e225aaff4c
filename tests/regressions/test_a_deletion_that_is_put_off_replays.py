"""A deletion that waits for what refers to the job is part of a recording: when it was tried decides when it is tried again."""

from __future__ import annotations

import io

import resonate_core as rc


def test_a_deletion_that_is_put_off_replays() -> None:
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    recording = io.StringIO()
    with store.record(recording):
        store.queues.set("default", lifecycle="asynq")
        store.jobs.enqueue("t", id="first", retention=10)
        store.jobs.enqueue("t", id="second", after=["first"])
        (first,) = store.jobs.claim("default", worker="w", lease=60_000)
        store.jobs.complete(first.id, first.version)
        clock.advance(10)
        assert clock.advance(5) == [], "the second job refers to the first one"
        (second,) = store.jobs.claim("default", worker="w", lease=60_000)
        clock.advance(500)
        store.jobs.complete(second.id, second.version)
        removed = [(step.id, step.at) for step in clock.advance(60_000) if step.kind == "job_retention"]
    assert removed == [("first", 1010)]
    lines = recording.getvalue().splitlines()
    assert sum('"step.job_retention_put_off"' in line for line in lines) == 1
    assert rc.replay(lines).ok
