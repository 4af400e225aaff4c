"""After a server had refused one put-back, every later one of the process was reported as a failure: a shared outcome was written to."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.errors import Invalid
from resonate_core.worker import Counts, Worker, outcomes
from resonate_core.worker.execution import Attempt
from resonate_core.worker.reporting import report
from resonate_core.worker.store_client import StoreClient

SHARED = [outcomes.DROPPED, outcomes.TIMED_OUT, outcomes.PUT_BACK, outcomes.RELEASED]


class RefusesOnce(StoreClient):
    """A client whose first snooze is refused, as by a proxy that answers 400."""

    refusals = 1

    def end_many(self, held: Any, outcome: outcomes.Outcome) -> list[int]:
        if outcome.kind == "snoozed" and self.refusals:
            self.refusals -= 1
            raise Invalid("a proxy does not like it")
        return super().end_many(held, outcome)


def test_a_put_back_after_a_refused_one_is_a_put_back():
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)
    worker.task("t")(lambda: None).enqueue_many([1, 2], ids=["a", "b"], lifecycle="asynq")
    client, counts = RefusesOnce(store), Counts()
    for job in store.jobs.claim("default", 2, worker="w", lease=1000):
        report(client, deque([(Attempt(job, "w", 0, None, lambda: 0), outcomes.PUT_BACK)]), counts)
    assert [(id, store.jobs.get(id).state, store.jobs.get(id).retry_count) for id in "ab"] == [
        ("a", "retry", 1),
        ("b", "pending", 0),
    ]
    assert (counts.failed, counts.snoozed) == (1, 1)
    assert outcomes.PUT_BACK.kind == "snoozed"


@pytest.mark.parametrize("outcome", SHARED, ids=lambda outcome: outcome.kind)
def test_an_outcome_cannot_be_written(outcome: Any):
    for member in outcome._fields:
        with pytest.raises(AttributeError):
            setattr(outcome, member, None)


def test_the_headers_of_a_stream_are_its_own():
    from resonate_core.server import event_stream

    assert isinstance(event_stream._HEADERS, tuple)
