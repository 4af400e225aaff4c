"""How long a job is kept: retention, awaiters that have not read the result, undelivered messages, deletion by hand, purge."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import JOB, JobDoor
from conformance.wire import LISTENER

HOUR = 3_600_000


@pytest.fixture
def door(store: Any) -> JobDoor:
    return JobDoor(store)


def complete(door: JobDoor, now: int) -> None:
    version = door.run_one(now=now)
    door.complete(version=version, now=now).must()


@pytest.mark.parametrize("retention", [1, 500])
def test_a_retention(door: JobDoor, retention: int) -> None:
    door.enqueue(now=0, retention=retention).must()
    complete(door, 100)
    assert door.store.clock.advance_to(100 + retention - 1) == [] and door.state() == "completed"
    (fired,) = door.store.clock.advance(1)
    assert (fired.kind, fired.id, fired.at) == ("job_retention", JOB, 100 + retention)
    assert door.state() == "absent"
    door.get(JOB).must(404)
    assert door.enqueue(payload={"data": "eA=="}).must()["job"]["version"] == 0, "an id that comes back is a new job"


def test_retention_0_goes_with_the_completion(door: JobDoor) -> None:
    """The reply still shows the job; nothing of it is stored after that."""
    door.enqueue(now=0, retention=0, uniqueKey="k").must()
    door.run_one(now=1)
    assert door.complete(now=2, result={"data": "eA=="}).must()["job"]["state"] == "completed"
    assert door.state() == "absent" and door.jobs() == []
    assert door.store.snapshot()["promises"] == []
    assert door.stats()["days"] == [{"day": "1970-01-01", "processed": 1, "failed": 0}], "it is counted all the same"
    door.enqueue("other", now=3, uniqueKey="k").must()


def test_retention_is_of_what_completed(door: JobDoor) -> None:
    for id in ("failed", "archived"):
        door.enqueue(id, retention=0, onExhausted=id).must()
        door.run_one(id)
        door.fail(id, retryable=False).must()
    door.enqueue("cancelled", retention=0).must()
    door.by_hand("cancel", "cancelled").must()
    door.enqueue("expired", retention=0, goodUntil=2).must()
    door.store.tick(10**10)
    ended = ("archived", "cancelled", "expired", "failed")
    assert [door.state(id) for id in ended] == list(ended)


def test_a_job_stays_while_who_awaited_it_has_not_ended(door: JobDoor) -> None:
    """The workflow's next run may read the job again, perhaps days later."""
    clock = door.store.clock
    door.enqueue(now=0, retention=0).must()
    door.task_create("workflow", ttl=10 * HOUR, now=0).must()
    door.suspend("workflow", 1, JOB, now=1).must()
    complete(door, 100)
    assert door.task("workflow").must()["task"]["state"] == "pending"
    clock.advance_to(5_000)
    assert door.state() == "completed"
    door.acquire("workflow", 1, ttl=100 * HOUR, now=5_000).must()
    clock.advance_to(48 * HOUR)
    assert door.state() == "completed"
    door.fulfill("workflow", 2, now=48 * HOUR).must()
    fired = [f for f in clock.advance(HOUR) if f.kind == "job_retention"]
    assert fired and door.state() == "absent"
    assert door.store.check() == []


def test_a_job_stays_while_its_unblock_is_on_its_way(door: JobDoor) -> None:
    clock = door.store.clock
    door.enqueue(now=0, retention=0).must()
    door.listen(JOB, LISTENER, now=0).must()
    complete(door, 100)
    assert [m.address for m in door.store.messages()] == [LISTENER]
    clock.advance_to(10_000)
    assert door.state() == "completed"
    (message,) = door.store.take_messages()
    assert message["message"]["data"]["promise"]["state"] == "resolved"
    clock.advance(HOUR)
    assert door.state() == "absent"


def test_it_is_looked_at_again_ever_more_rarely(door: JobDoor) -> None:
    """The step checks a job first after a second, then each time the time since the settlement has doubled, at least every hour."""
    clock = door.store.clock
    door.enqueue(now=0, retention=0).must()
    door.listen(JOB, LISTENER, now=0).must()
    complete(door, 0)
    looks = [f.now for f in clock.advance_to(20 * HOUR) if f.kind == "job_retention"]
    assert len(looks) <= 40, "one that waits is not looked at each moment"
    assert door.state() == "completed"
    assert door.store.next_due() is not None and door.store.next_due() - door.store.now <= HOUR


# --- by hand --------------------------------------------------------------------------------------------------------
def test_delete_of_what_is_not_settled(door: JobDoor) -> None:
    """A job is deleted at once, unless a listener or an awaiter waits for it."""
    door.enqueue("free", now=0).must()
    door.by_hand("delete", "free").must()
    assert door.state("free") == "absent"
    door.get("free").must(404)
    door.enqueue("heard", now=0).must()
    door.listen("heard", now=0).must()
    door.by_hand("delete", "heard").must(409)
    door.enqueue("awaited", now=0).must()
    door.task_create("workflow", now=0).must()
    door.register("awaited", "workflow", now=0).must()
    door.by_hand("delete", "awaited").must(409)
    door.enqueue("third", now=0).must()
    assert door.all_of("delete", state="pending") == 1, "by a filter such jobs are passed over"
    assert door.jobs() == ["awaited", "heard"]


def test_delete_of_what_is_settled_waits_for_its_messages(door: JobDoor) -> None:
    clock = door.store.clock
    door.enqueue(now=0).must()
    door.listen(JOB, LISTENER, now=0).must()
    door.by_hand("cancel", now=10).must()
    assert door.by_hand("delete", now=20).status == 200
    clock.advance_to(30)
    assert door.get(JOB).must()["promise"]["state"] == "rejected_canceled", "nothing undelivered may lose what it is about"
    door.store.take_messages()
    clock.advance(HOUR)
    assert door.state() == "absent" and door.store.check() == []


def test_delete_of_what_is_settled_and_free(door: JobDoor) -> None:
    door.enqueue(now=0).must()
    complete(door, 10)
    assert door.by_hand("delete", now=20).must().data == {}
    assert door.state() == "absent"
    door.by_hand("delete").must(404)
