"""The number of round trips to PostgreSQL depends on the calls, not on the number of records in them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

import resonate_core as rc

HOUR = 3_600_000


@pytest.fixture
def store(postgres_url: str) -> Iterator[rc.Store]:
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:  # with the database's clock, the first call after 1 s looks
        store.queues.set("default", lifecycle="asynq")
        store.jobs.enqueue("first", {})  # the connection and what a process reads once
        yield store


@contextlib.contextmanager
def counted(round_trips: int) -> Iterator[None]:
    """Checks that the block takes this many round trips, even if it raises."""
    before = rc.database_counts()["round_trips"]
    try:
        yield
    finally:
        assert rc.database_counts()["round_trips"] - before == round_trips


def test_calls_of_one_record(store: rc.Store) -> None:
    with counted(1):
        store.promises.create("a", timeout=HOUR)
    with counted(1):
        store.promises.get("a")
    with pytest.raises(rc.NotFound), counted(1):
        store.promises.get("none")
    with counted(1):
        store.promises.resolve("a")
    with counted(1):
        store.jobs.enqueue("t", {})


@pytest.mark.parametrize("count", [1, 100, 1000])
def test_jobs_at_once(store: rc.Store, count: int) -> None:
    with counted(1):
        store.jobs.enqueue_many("t", [{}] * count)
    with counted(2):
        claimed = store.jobs.claim("default", count, worker="w", lease=HOUR)
    done = [(job.id, job.version, None) for job in claimed]
    store.jobs.enqueue_many("t", [{}] * count)
    with counted(2):  # of a worker's round
        of_worker = {"worker": "w", "lease": HOUR, "run_lease": HOUR, "strict": False, "start": 1}
        statuses, _, claimed = store.jobs._exchange(done, [], "default", count, **of_worker)
    assert statuses == [200] * count and len(claimed) == count
    done = [(job.id, job.version, None) for job in claimed]
    with counted(1):
        store.jobs.complete_many(done)
    assert store.queues.stats()[0]["counts"]["completed"] == 0  # without retention they are deleted in the same commit


def test_undelivered_messages_are_read_once(store: rc.Store) -> None:
    """A finished job stays while a message about its promise waits; all of these messages are read in one round trip."""
    for name in ("a", "b", "c"):
        store.promises.create(name, timeout=HOUR)
        store.promises.register_listener(name, "poll://any@g/1")
        store.promises.resolve(name)
    assert len(store.messages()) == 3
    store.jobs.enqueue_many("t", [{}] * 100)
    claimed = store.jobs.claim("default", 100, worker="w", lease=HOUR)
    with counted(1):
        store.jobs.complete_many([(job.id, job.version, None) for job in claimed])


def test_claims_of_several_queues(store: rc.Store) -> None:
    for queue in ("a", "b", "c"):
        store.jobs.enqueue_many("t", [{}] * 5, queue=queue)
    with counted(2):
        assert len(store.jobs.claim(["a", "b", "c"], 9, worker="w", lease=HOUR)) == 9
    with counted(2):
        assert len(store.jobs.claim({"c": 1, "a": 1, "b": 1}, 9, worker="w", lease=HOUR)) == 6
    store.jobs.enqueue_many("t", [{}] * 5, queue="b", priority=1)
    with counted(2):
        assert len(store.jobs.claim(["a", "b", "c"], 9, worker="w", lease=HOUR)) == 5


@pytest.mark.parametrize(("writers", "of_new_ids", "of_first_lease"), [("auto", 2, 3), ("alone", 3, 2)])
def test_beside_another_writer(postgres_url: str, writers: str, of_new_ids: int, of_first_lease: int) -> None:
    """The round trip that begins the transaction also reads the records again that the other process may have changed."""
    url = f"{postgres_url}&writers={writers}"
    with rc.Store(url) as store, rc.Store(url) as other:
        store.queues.set("default", lifecycle="asynq")
        store.jobs.enqueue("first", {})
        for number in range(3):
            other.promises.create(f"a{number}", timeout=HOUR)
            store.promises.create(f"b{number}", timeout=HOUR)
        other.promises.create("a", timeout=HOUR)
        with counted(2):
            store.promises.resolve("a")
        other.promises.create("b", timeout=HOUR)
        with counted(2):
            store.jobs.enqueue_many("t", [{}] * 100)
        other.jobs.enqueue("t", {})
        with counted(of_new_ids):  # alone one more: other ids than expected are generated
            store.jobs.enqueue_many("t", [{}] * 100)
        other.jobs.enqueue("u", {}, priority=5)
        with counted(of_first_lease):  # a transaction that shares finds that it must be alone
            (job,) = store.jobs.claim("default", 1, worker="w", lease=HOUR)
        assert job.type == "u"


def test_generated_ids_skip_those_that_exist(store: rc.Store, postgres_url: str) -> None:
    first = store.jobs.enqueue("t", {}).id
    number = int(first.removeprefix("job:"), 16)
    taken = [f"job:{number + step:016x}" for step in (1, 3)]
    for id in taken:
        store.promises.create(id, timeout=HOUR)
    named = [job.id for job in store.jobs.enqueue_many("t", [{}] * 3)]
    assert named == [f"job:{number + step:016x}" for step in (2, 4, 5)]
    with rc.Store(postgres_url) as other:
        assert other.jobs.enqueue("t", {}).id == f"job:{number + 6:016x}"
    assert store.jobs.enqueue("t", {}).id == f"job:{number + 7:016x}"
