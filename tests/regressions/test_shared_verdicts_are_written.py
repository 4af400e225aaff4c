"""After one put-back that a server refused, every later put-back of the process was told as a failure: a shared verdict was written."""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.errors import Invalid
from resonate_core.worker import Counts, JobContext, Worker, outcomes
from resonate_core.worker.doors import StoreDoor
from resonate_core.worker.turn import Run, settle

SHARED = [outcomes.DROPPED, outcomes.TIMED_OUT, outcomes.PUT_BACK, outcomes.RELEASED]


class RefusesOnce(StoreDoor):
    """A door whose first snooze is refused, as by a proxy that answers 400."""

    refusals = 1

    def snooze(self, id: str, version: int, delay: int) -> int:
        if self.refusals:
            self.refusals -= 1
            raise Invalid("a proxy does not like it")
        return super().snooze(id, version, delay)


def test_a_put_back_after_a_refused_one_is_a_put_back():
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)
    worker.task("t")(lambda: None).enqueue_many([1, 2], ids=["a", "b"], lifecycle="asynq")
    door, counts = RefusesOnce(store), Counts()
    for job in store.jobs.claim("default", 2, worker="w", lease=1000):
        context = JobContext(job, "w", 0, None, lambda: 0)
        settle(door, deque([(Run(job, job.id, job.version, None, context), outcomes.PUT_BACK)]), counts)
    assert [(id, store.jobs.get(id).state, store.jobs.get(id).retry_count) for id in "ab"] == [
        ("a", "retry", 1),
        ("b", "pending", 0),
    ]
    assert (counts.failed, counts.snoozed) == (1, 1)
    assert outcomes.PUT_BACK.outcome == "snoozed"


@pytest.mark.parametrize("verdict", SHARED, ids=lambda verdict: verdict.outcome)
def test_a_verdict_cannot_be_written(verdict: Any):
    for member in dataclasses.fields(verdict):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(verdict, member.name, None)


def test_the_headers_of_a_stream_are_its_own():
    from resonate_core.server import poll

    assert isinstance(poll._HEADERS, tuple)
