"""A process that shares does not read the jobs again that it has claimed itself, unless someone else has written them since."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import pytest

import libpq
import resonate_core as rc
from integration.storage.interleaving import Interleaving
from integration.storage.test_shared_jobs import LEASE, SHARED, asked, asked_claim, begin, shared, sharing
from postgres_urls import plain, schema_of

Retention = Literal["kept", 0]
"""A job that is not kept is deleted by its completion, which does not lock it before."""


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


def wait_for_waiter(sql: libpq.Connection, waiter: threading.Thread) -> None:
    """Waits until a session waits for a row that this one has locked."""
    deadline = time.monotonic() + 60
    while not sql.execute("SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"):
        assert waiter.is_alive() and time.monotonic() < deadline, "it does not wait"
        time.sleep(0.01)


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


@pytest.mark.parametrize("retention", ["kept", 0])
@pytest.mark.parametrize("waits", [False, True])
def test_a_row_that_is_changed_by_hand(store: rc.Store, sql: libpq.Connection, waits: bool, retention: Retention) -> None:
    """Also while the completion waits for its lock."""
    store.jobs.enqueue("t", "given", id="a", retention=retention)
    (job,) = claim(store)
    sql.execute("BEGIN")
    sql.execute("UPDATE promises SET param_data = encode('\"other\"', 'base64') WHERE id = 'a'")
    ended: list[rc.Job] = []
    completes = threading.Thread(target=lambda: ended.append(store.jobs.complete("a", job.version, "done")))
    if waits:
        completes.start()
        wait_for_waiter(sql, completes)
        sql.execute("COMMIT")
    else:
        sql.execute("COMMIT")
        completes.start()
    completes.join()
    assert [(one.state, one.payload.json()) for one in ended] == [("completed", "other")]


@pytest.mark.parametrize("retention", ["kept", 0])
def test_a_row_that_is_gone(store: rc.Store, sql: libpq.Connection, retention: Retention) -> None:
    store.jobs.enqueue("t", id="a", retention=retention)
    (job,) = claim(store)
    sql.execute("DELETE FROM promises WHERE id = 'a'")
    with pytest.raises(rc.NotFound):
        store.jobs.complete("a", job.version)


def claimed(store: rc.Store, *names: str) -> list[rc.Job]:
    """New jobs that are not kept and that this store has claimed."""
    store.jobs.enqueue_many("t", [None] * len(names), ids=list(names), retention=0)
    return claim(store, len(names))


def test_jobs_that_are_not_kept_are_completed_beside_others(store: rc.Store) -> None:
    """With a claim in the same transaction, too."""
    a, b, c = claimed(store, "a", "b", "c")
    assert sharing(lambda: store.jobs.complete("a", a.version)) == SHARED
    store.jobs.enqueue("t", id="d", retention=0)
    both = [
        asked("job.complete_many", jobs=[{"id": job.id, "version": job.version, "result": {}} for job in (c, b)]),
        asked_claim("default"),
    ]
    replies: list[Any] = []
    assert sharing(lambda: replies.extend(store.apply(both))) == SHARED
    assert [job["id"] for job in replies[1]["data"]["jobs"]] == ["d"]
    for name in "abc":
        with pytest.raises(rc.NotFound):
            store.jobs.get(name)
    assert store.check() == []


def test_what_does_not_only_delete_jobs_locks_them(store: rc.Store) -> None:
    """It runs again, or does not try: a wrong version, a job that is only looked at, a promise that is created beside."""
    a, b, c = claimed(store, "a", "b", "c")

    def complete(job: rc.Job, version: int) -> dict[str, Any]:
        return asked("job.complete", id=job.id, version=version, result={})

    replies: list[Any] = []
    assert sharing(lambda: replies.extend(store.apply([complete(a, 9), complete(b, b.version)]))) == (1, 1)
    assert [one["head"]["status"] for one in replies] == [409, 200]
    assert sharing(lambda: store.apply([asked("job.get", id="a"), complete(c, c.version)])) == SHARED
    create = asked("promise.create", id="p", timeoutAt=10**15, param={}, tags={})
    assert sharing(lambda: store.apply([complete(a, a.version), create])) == SHARED
    assert store.check() == []


@pytest.mark.parametrize("beats", [("b",), ("a", "b"), ("b", "a")])
def test_another_process_writes_the_job_between_the_look_and_the_commit(postgres_url: str, beats: tuple[str, ...]) -> None:
    """It prolongs the lease of a job; the completion finds another row, and runs again."""
    between = Interleaving(postgres_url, writers={"A": "shared", "B": "shared"})
    a, b = between.actors["A"].store, between.actors["B"].store
    begin(a)
    jobs = {job.id: job.version for job in claimed(a, "a", "b")}
    for store in (a, b):
        store.clock.advance(1)
    seen: dict[str, Any] = {}

    def run() -> None:
        seen.update(
            between.run(
                {
                    "A": lambda store: store.jobs.complete_many([(id, jobs[id], None) for id in ("b", "a")]),
                    "B": lambda store: store.jobs.heartbeat("w", [(id, jobs[id]) for id in beats]),
                },
                "ABBA",
            )
        )

    assert sharing(run) == (2, 1)
    assert seen["A"] == [200, 200]
    assert b.check() == []
    between.close()


def test_jobs_are_deleted_in_the_order_in_which_others_lock_them(store: rc.Store, sql: libpq.Connection) -> None:
    """That is the order of their ids, not that of the request. So no two transactions wait for each other."""
    jobs = {job.id: job.version for job in claimed(store, "a", "b")}
    lock = "SELECT FROM promises WHERE id = '{}' FOR UPDATE"
    sql.execute("BEGIN")
    sql.execute(lock.format("a"))
    seen: list[tuple[int, int]] = []
    complete = partial(store.jobs.complete_many, [(id, jobs[id], None) for id in ("b", "a")])
    completes = threading.Thread(target=lambda: seen.append(sharing(complete)))
    completes.start()
    wait_for_waiter(sql, completes)
    sql.execute(lock.format("b"))
    sql.execute("COMMIT")
    completes.join()
    assert seen == [SHARED]


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
