"""`why QUEUE` said "Next: nothing happens by itself" of a queue whose jobs were due in a minute.

What happens next to a queue is the first of its scheduled jobs, retries and batches that becomes pending; at its limit, a lease that
ends.
"""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from resonate_core.explain import why_queues
from ui.ui_client import client_of

MINUTE = 60_000


@pytest.fixture
def store(make_store: Any) -> Any:
    made = make_store(clock=rc.ManualClock(start=0))
    made.jobs.enqueue("t", id="first", queue="other", process_in=1)
    return made


def following(store: Any, queue: str) -> str:
    return rc.why(store, queue).following


def test_a_scheduled_job(store: Any) -> None:
    store.jobs.enqueue("t", id="later", queue="q", process_in=2 * MINUTE)
    store.jobs.enqueue("t", id="soon", queue="q", process_in=MINUTE)
    assert following(store, "q") == "job soon becomes pending, at 1970-01-01T00:01:00.000Z (in 1m)"
    store.queues.pause("q")
    assert following(store, "q") == "job soon becomes pending, at 1970-01-01T00:01:00.000Z (in 1m)"
    assert rc.why(store, "q").stuck, "a pending job of a paused queue does not move"


def test_a_retry(store: Any) -> None:
    store.jobs.enqueue("t", id="again", queue="q", retry_policy={"kind": "fixed", "intervals": [5000]})
    store.jobs.enqueue("t", id="later", queue="q", process_in=MINUTE)
    (job,) = store.jobs.claim("q", 1, worker="w", lease=MINUTE, start=1)
    store.jobs.fail(job.id, job.version, "Down")
    assert following(store, "q").startswith("job again becomes pending, at 1970-01-01T00:00:05.000Z")


def test_a_batch(store: Any) -> None:
    store.queues.set("q", groups={"size": 10, "grace": MINUTE, "maxDelay": 10 * MINUTE})
    for n in range(3):
        store.jobs.enqueue("t", id=f"like-{n}", queue="q", group="ann")
        store.clock.advance(1000)
    assert following(store, "q") == "the batch of job like-0 is ready, at 1970-01-01T00:01:02.000Z (in 59s)"


def test_a_queue_at_its_limit(store: Any) -> None:
    store.queues.set("q", concurrency=1)
    store.jobs.enqueue_many("t", [1, 2], queue="q")
    store.jobs.claim("q", 1, worker="w", lease=MINUTE, start=1)
    assert following(store, "q").startswith(
        "a place is free when one of them ends, at the latest when the first lease ends, at 1970"
    )


def test_nothing_waits(store: Any) -> None:
    store.jobs.enqueue("t", queue="q")
    assert following(store, "q") == "nothing happens by itself", "a pending job waits for a worker"


def test_more_than_can_be_read(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why_queues, "_MOST_WAITING", 2)
    store.jobs.enqueue_many("t", [1, 2, 3], queue="q", process_in=MINUTE)
    assert following(store, "q") == "its scheduled jobs and retries become pending, each at its time"


def test_a_principal_sees_its_own_ids_alone(store: Any) -> None:
    store.jobs.enqueue("t", id="theirs", queue="mine.q", process_in=1000)
    assert "theirs" not in client_of(store, prefix="mine").get("why", id="mine.q").text
    store.jobs.enqueue("t", id="mine.j", queue="mine.q", process_in=2000)
    assert client_of(store, prefix="mine").see("why", id="mine.q")["next"] == {"what": "job mine.j becomes pending", "at": 2000}


def test_steps_of_others_do_not_change_the_answer(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why_queues, "_MOST_WAITING", 2)
    store.jobs.enqueue_many("t", [None] * 3, queue="theirs.q", ids=[f"theirs.{n}" for n in range(3)], process_in=500)
    store.jobs.enqueue("t", id="mine.j", queue="mine.q", process_in=2000)
    assert client_of(store, prefix="mine.").see("why", id="mine.q")["next"] == {"what": "job mine.j becomes pending", "at": 2000}
