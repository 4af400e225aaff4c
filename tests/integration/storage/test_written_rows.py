"""A process that shares does not read the jobs again that it has claimed itself, unless someone else has written them since."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import libpq
import resonate_core as rc
from integration.storage.test_shared_jobs import LEASE, SHARED, begin, shared, sharing
from postgres_urls import plain, schema_of


def claim(store: rc.Store, count: int = 1) -> list[rc.Job]:
    """Claims jobs, which begin at once."""
    return list(store.jobs.claim("default", count, worker="w", lease=LEASE, start=count))


def done(store: rc.Store, job: str) -> Any:
    return store.jobs.get(job).result.json()


@pytest.fixture
def clock() -> rc.ManualClock:
    return rc.ManualClock(0)


@pytest.fixture
def store(postgres_url: str, clock: rc.ManualClock) -> Iterator[rc.Store]:
    with rc.Store(shared(postgres_url), clock=clock) as store:
        begin(store)
        yield store


@pytest.fixture
def other(postgres_url: str, clock: rc.ManualClock) -> Iterator[rc.Store]:
    with rc.Store(shared(postgres_url), clock=clock) as other:
        yield other


@pytest.fixture
def sql(postgres_url: str) -> Iterator[libpq.Connection]:
    with libpq.Connection(plain(postgres_url)) as connection:
        connection.execute(f"SET search_path TO {schema_of(postgres_url)}")
        yield connection


def test_an_own_claim_is_completed_beside_others(store: rc.Store) -> None:
    store.jobs.enqueue_many("t", [1, 2, 3], ids=["a", "b", "c"])
    jobs = claim(store, 3)
    assert sharing(lambda: store.jobs.complete_many([(job.id, job.version, job.id) for job in jobs[:2]])) == SHARED
    assert done(store, "a") == "a"
    assert sharing(lambda: store.jobs.heartbeat("w", [(jobs[2].id, jobs[2].version)])) == SHARED
    assert sharing(lambda: store.jobs.complete("c", jobs[2].version)) == SHARED


def test_what_the_process_has_written_alone_since_is_not_expected_as_it_was(store: rc.Store, clock: rc.ManualClock) -> None:
    """The completion reads it at once, and does not run again."""
    store.jobs.enqueue("t", id="a")
    (job,) = claim(store)
    clock.advance(1)
    missing = ("missing", 1)  # for which a transaction runs alone
    assert sharing(lambda: store.jobs.heartbeat("w", [(job.id, job.version), missing]))[0] == 0
    assert sharing(lambda: store.jobs.complete("a", job.version)) == SHARED


def test_a_job_that_another_process_has_claimed_meanwhile(store: rc.Store, other: rc.Store, clock: rc.ManualClock) -> None:
    """Its lease ended, and another worker has it: the first worker's completion is refused."""
    store.jobs.enqueue("t", id="a")
    (job,) = claim(store)
    clock.advance(2 * LEASE)
    other.tick()
    clock.advance(10 * LEASE)
    other.tick()
    (again,) = (one for one in other.jobs.claim("default", 9, worker="v", lease=LEASE, start=9) if one.id == "a")
    with pytest.raises(rc.Conflict):
        store.jobs.complete(job.id, job.version)
    assert other.jobs.complete("a", again.version, "by the other").result.json() == "by the other"


@pytest.mark.parametrize("waits", [False, True])
def test_a_row_that_is_changed_by_hand(store: rc.Store, sql: libpq.Connection, waits: bool) -> None:
    """Also while the completion waits for its lock."""
    store.jobs.enqueue("t", "given", id="a")
    (job,) = claim(store)
    sql.execute("BEGIN")
    sql.execute("UPDATE promises SET param_data = encode('\"other\"', 'base64') WHERE id = 'a'")
    ended: list[rc.Job] = []
    completes = threading.Thread(target=lambda: ended.append(store.jobs.complete("a", job.version, "done")))
    if waits:
        completes.start()
        while not sql.execute("SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"):
            pass
        sql.execute("COMMIT")
    else:
        sql.execute("COMMIT")
        completes.start()
    completes.join()
    assert [(one.state, one.payload.json()) for one in ended] == [("completed", "other")]


def test_a_row_that_is_gone(store: rc.Store, sql: libpq.Connection) -> None:
    store.jobs.enqueue("t", id="a")
    (job,) = claim(store)
    sql.execute("DELETE FROM promises WHERE id = 'a'")
    with pytest.raises(rc.NotFound):
        store.jobs.complete("a", job.version)


def test_more_claims_than_are_kept(store: rc.Store) -> None:
    """The oldest ones are read again."""
    store.jobs.enqueue_many("t", list(range(1200)))
    jobs = [job for _ in range(12) for job in claim(store, 100)]
    store.jobs.complete_many([(job.id, job.version, number) for number, job in enumerate(jobs)])
    assert [done(store, job.id) for job in jobs[::100]] == list(range(0, 1200, 100))


def test_large_jobs_are_read_again(store: rc.Store) -> None:
    store.jobs.enqueue("t", "x" * 100_000, id="a")
    (job,) = claim(store)
    assert sharing(lambda: store.jobs.complete("a", job.version)) == SHARED
