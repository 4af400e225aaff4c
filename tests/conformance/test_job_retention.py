"""How long a job is kept: retention, awaiters that have not read the result, undelivered messages, deletion by hand, purge."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import JOB, JobClient
from conformance.wire import LISTENER

HOUR = 3_600_000


@pytest.fixture
def client(store: Any) -> JobClient:
    return JobClient(store)


def complete(client: JobClient, now: int) -> None:
    version = client.run_one(now=now)
    client.complete(version=version, now=now).must()


@pytest.mark.parametrize("retention", [1, 500])
def test_a_retention(client: JobClient, retention: int) -> None:
    client.enqueue(now=0, retention=retention).must()
    complete(client, 100)
    assert client.store.clock.advance_to(100 + retention - 1) == [] and client.state() == "completed"
    (fired,) = client.store.clock.advance(1)
    assert (fired.kind, fired.id, fired.at) == ("job_retention", JOB, 100 + retention)
    assert client.state() == "absent"
    client.get(JOB).must(404)
    assert client.enqueue(payload={"data": "eA=="}).must()["job"]["version"] == 0, "an id that comes back is a new job"


def test_retention_0_goes_with_the_completion(client: JobClient) -> None:
    """The reply still shows the job; nothing of it is stored after that."""
    client.enqueue(now=0, retention=0, uniqueKey="k").must()
    client.run_one(now=1)
    assert client.complete(now=2, result={"data": "eA=="}).must()["job"]["state"] == "completed"
    assert client.state() == "absent" and client.jobs() == []
    assert client.store.snapshot()["promises"] == []
    assert client.stats()["days"] == [{"day": "1970-01-01", "processed": 1, "failed": 0}], "it is counted all the same"
    client.enqueue("other", now=3, uniqueKey="k").must()


def test_retention_is_of_what_completed(client: JobClient) -> None:
    for id in ("failed", "archived"):
        client.enqueue(id, retention=0, onExhausted=id).must()
        client.run_one(id)
        client.fail(id, retryable=False).must()
    client.enqueue("cancelled", retention=0).must()
    client.administer("cancel", "cancelled").must()
    client.enqueue("expired", retention=0, goodUntil=2).must()
    client.store.tick(10**10)
    ended = ("archived", "cancelled", "expired", "failed")
    assert [client.state(id) for id in ended] == list(ended)


def test_a_job_stays_while_who_awaited_it_has_not_ended(client: JobClient) -> None:
    """The workflow's next run may read the job again, perhaps days later."""
    clock = client.store.clock
    client.enqueue(now=0, retention=0).must()
    client.task_create("workflow", ttl=10 * HOUR, now=0).must()
    client.suspend("workflow", 1, JOB, now=1).must()
    complete(client, 100)
    assert client.task("workflow").must()["task"]["state"] == "pending"
    clock.advance_to(5_000)
    assert client.state() == "completed"
    client.acquire("workflow", 1, ttl=100 * HOUR, now=5_000).must()
    clock.advance_to(48 * HOUR)
    assert client.state() == "completed"
    client.fulfill("workflow", 2, now=48 * HOUR).must()
    fired = [f for f in clock.advance(HOUR) if f.kind == "job_retention"]
    assert fired and client.state() == "absent"
    assert client.store.check() == []


def test_a_job_stays_while_its_unblock_is_on_its_way(client: JobClient) -> None:
    clock = client.store.clock
    client.enqueue(now=0, retention=0).must()
    client.listen(JOB, LISTENER, now=0).must()
    complete(client, 100)
    assert [m.address for m in client.store.messages()] == [LISTENER]
    clock.advance_to(10_000)
    assert client.state() == "completed"
    (message,) = client.store.take_messages()
    assert message["message"]["data"]["promise"]["state"] == "resolved"
    clock.advance(HOUR)
    assert client.state() == "absent"


def test_it_is_looked_at_again_ever_more_rarely(client: JobClient) -> None:
    """The step checks a job first after a second, then each time the time since the settlement has doubled, at least every hour."""
    clock = client.store.clock
    client.enqueue(now=0, retention=0).must()
    client.listen(JOB, LISTENER, now=0).must()
    complete(client, 0)
    looks = []
    while not looks or looks[-1] < 20 * HOUR:
        looks.append(client.store.next_due())
        assert clock.advance_to(looks[-1]) == [], "a look at a job that stays is no step"
    doubled = [1_000 * 2**n for n in range(13)]
    assert looks == [*doubled, *(doubled[-1] + n * HOUR for n in range(1, len(looks) - 12))]
    assert client.state() == "completed"


# --- by hand --------------------------------------------------------------------------------------------------------
def test_delete_of_what_is_not_settled(client: JobClient) -> None:
    """A job is deleted at once, unless a listener or an awaiter waits for it."""
    client.enqueue("free", now=0).must()
    client.administer("delete", "free").must()
    assert client.state("free") == "absent"
    client.get("free").must(404)
    client.enqueue("heard", now=0).must()
    client.listen("heard", now=0).must()
    client.administer("delete", "heard").must(409)
    client.enqueue("awaited", now=0).must()
    client.task_create("workflow", now=0).must()
    client.register("awaited", "workflow", now=0).must()
    client.administer("delete", "awaited").must(409)
    client.enqueue("third", now=0).must()
    assert client.all_of("delete", state="pending") == 1, "by a filter such jobs are passed over"
    assert client.jobs() == ["awaited", "heard"]


def test_delete_of_what_is_settled_waits_for_its_messages(client: JobClient) -> None:
    clock = client.store.clock
    client.enqueue(now=0).must()
    client.listen(JOB, LISTENER, now=0).must()
    client.administer("cancel", now=10).must()
    assert client.administer("delete", now=20).status == 200
    clock.advance_to(30)
    assert client.get(JOB).must()["promise"]["state"] == "rejected_canceled", "nothing undelivered may lose what it is about"
    client.store.take_messages()
    clock.advance(HOUR)
    assert client.state() == "absent" and client.store.check() == []


def test_delete_of_what_is_settled_and_free(client: JobClient) -> None:
    client.enqueue(now=0).must()
    complete(client, 10)
    assert client.administer("delete", now=20).must().data == {}
    assert client.state() == "absent"
    client.administer("delete").must(404)
