"""Transactions that begin without a look at PostgreSQL (decision 53): when they do, and what makes them run again."""

from __future__ import annotations

import base64
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import libpq
import resonate_core as rc
from postgres_urls import plain, schema_of

FAR = 4 * 10**12
LEASE = 10**9


def counted(name: str = "optimistic_commits") -> int:
    return rc.database_counts()[name]


@pytest.fixture
def store(postgres_url: str) -> Iterator[rc.Store]:
    """The only store that writes. It has written, so it knows the state."""
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as opened:
        opened.queues.set("default", lifecycle="asynq")
        opened.jobs.enqueue("first", {}, id="first")
        yield opened


@contextlib.contextmanager
def optimistic(commits: int, again: int = 0) -> Iterator[None]:
    """Checks how many commits of the block were optimistic, and how many transactions ran again."""
    before = counted(), counted("run_again")
    yield
    assert (counted() - before[0], counted("run_again") - before[1]) == (commits, again)


def ask(kind: str, **data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}


def state_after(store: rc.Store, id: str, settled: str, *before: dict[str, Any]) -> str:
    """The state of a promise after a request to settle it, in one transaction with those before."""
    replies = store.apply([*before, ask("promise.settle", id=id, state=settled, value={"data": ""})])
    return str(replies[-1]["data"]["promise"]["state"])


REQUESTS: dict[str, Callable[[rc.Store], Any]] = {
    "create": lambda store: store.promises.create("new", FAR),
    "create a task": lambda store: store.promises.create("new", FAR, tags={"resonate:target": "poll://any@w"}),
    "settle": lambda store: store.promises.resolve("known"),
    "enqueue": lambda store: store.jobs.enqueue("t", {}),
    "enqueue many": lambda store: store.jobs.enqueue_many("t", [{}] * 30),
    "enqueue by name": lambda store: store.jobs.enqueue("t", {}, id="named"),
    "complete": lambda store: store.jobs.complete("first", 1),
    "heartbeat": lambda store: store.jobs.heartbeat("w", [("first", 1)]),
    "fail": lambda store: store.jobs.fail("first", 1, "E"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_on_what_is_known(store: rc.Store, name: str) -> None:
    store.promises.create("known", FAR)
    store.jobs.claim("default", 1, worker="w", lease=LEASE)
    with optimistic(1):
        REQUESTS[name](store)
    assert store.check() == []


def test_what_needs_the_database_looks(store: rc.Store) -> None:
    with optimistic(0):
        assert store.jobs.claim("default", 1, worker="w", lease=LEASE)  # a range
    store.promises.create("p", FAR)
    with optimistic(0):
        store.promises.create("p", FAR)  # nothing would be committed, and so nothing checked
    with optimistic(0, again=1):
        store.schedules.create("s", cron="* * * * *", promise_id="{{.id}}.{{.timestamp}}", promise_timeout=1)


@pytest.mark.parametrize("writers", ["auto", "shared", "alone"])
def test_a_commit_of_another_process_is_seen(store: rc.Store, postgres_url: str, writers: str) -> None:
    """If another process has changed a promise, the next request of this one finds the change."""
    with rc.Store(f"{postgres_url}&writers={writers}", clock=rc.ManualClock(0)) as other:
        store.promises.create("p", FAR)
        other.promises.resolve("p")
        with optimistic(0, again=1):
            assert state_after(store, "p", "rejected") == "resolved"
        for number in range(40):  # the other one is forgotten meanwhile
            store.promises.create(f"q{number}", FAR)
        other.promises.create("r", FAR, param="other")
        with optimistic(0, again=1):
            assert store.promises.create("r", FAR).param.json() == "other"


def test_a_create_that_changes_nothing_sees_the_commit_of_another_process(store: rc.Store, postgres_url: str) -> None:
    """No commit would check its reply, so it looks."""
    store.promises.create("p", FAR)
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as other:
        other.promises.resolve("p")
    with optimistic(0):
        assert store.promises.create("p", FAR).state == "resolved"


def test_a_promise_that_is_not_known_exists(store: rc.Store, postgres_url: str) -> None:
    """A request that takes an id for free finds out at the commit; the next 32 transactions look first, of which its own is one."""
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as other:
        other.promises.create("old", FAR, param="other")
        other.promises.create("pending", FAR)
    for number in range(40):
        store.promises.create(f"p{number}", FAR)
    with optimistic(0, again=1):
        assert store.promises.create("old", FAR).param.json() == "other"
    with optimistic(9):
        for number in range(40):
            store.promises.create(f"q{number}", FAR)
    with optimistic(0, again=1):
        create = ask("promise.create", id="beside", timeoutAt=FAR, param={}, tags={})
        assert state_after(store, "pending", "resolved", create) == "resolved"


def test_a_submission_runs_before_the_next_request(store: rc.Store, postgres_url: str) -> None:
    store.promises.create("before", FAR)
    with psycopg.connect(plain(postgres_url)) as connection:
        request = {"id": "p", "timeoutAt": FAR, "param": {"data": base64.b64encode(b'"submitted"').decode()}, "tags": {}}
        rc.submit(connection, "promise.create", request, schema=schema_of(postgres_url))
    with optimistic(0, again=1):
        assert store.promises.create("p", FAR).param.json() == "submitted"


def test_a_step_that_is_due_runs_before_the_request(postgres_url: str) -> None:
    with rc.Store(postgres_url) as store:
        store.promises.create("p", timeout=200, tags={"resonate:target": "poll://any@w"})
        time.sleep(0.3)
        with optimistic(0):
            assert state_after(store, "p", "resolved") == "rejected_timedout"


def test_all_or_none(store: rc.Store) -> None:
    with optimistic(0), pytest.raises(rc.Conflict):
        store.jobs.enqueue_many("t", [{}, {}], ids=["b", "first"])
    with pytest.raises(rc.NotFound):
        store.jobs.get("b")


def test_with_the_databases_clock_a_process_looks_again_after_a_second(postgres_url: str) -> None:
    with rc.Store(postgres_url) as store:
        store.promises.create("a", timeout=60_000)
        time.sleep(1.1)
        with optimistic(0):
            store.promises.create("b", timeout=60_000)


def test_an_instant_is_not_older_than_a_wait(postgres_url: str) -> None:
    """A transaction that finds another writer at the lock has the instant after the wait."""
    schema = schema_of(postgres_url)
    with rc.Store(postgres_url) as store, contextlib.closing(libpq.Connection(plain(postgres_url))) as holder:
        key = f"hashtextextended('resonate_core writers {schema}', 0)"
        store.promises.create("a", timeout=60_000)
        holder.execute(f"SELECT pg_advisory_lock({key})")
        waiting = threading.Thread(target=store.promises.create, args=("b", 60_000_000_000_000))
        waiting.start()
        time.sleep(0.5)
        held_until = int(str(holder.execute("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")[0][0]))
        holder.execute(f"SELECT pg_advisory_unlock({key})")
        waiting.join(30)
        assert store.promises.get("b").created_at >= held_until
        assert store.check() == []


def test_who_finds_another_writer_at_the_lock_waits_in_a_look(postgres_url: str) -> None:
    """A look can be interrupted, and its wait ends with the busy timeout; a commit can not."""
    with (
        rc.Store(postgres_url, clock=rc.ManualClock(0), busy_timeout=120_000) as store,
        contextlib.closing(libpq.Connection(plain(postgres_url))) as holder,
    ):
        store.promises.create("a", FAR)
        holder.execute(f"BEGIN; SELECT FROM {schema_of(postgres_url)}.write_lock FOR UPDATE")
        before = counted("run_again")
        waiting = threading.Thread(target=store.promises.create, args=("b", FAR))
        waiting.start()
        deadline = time.monotonic() + 60
        while counted("run_again") == before:
            assert time.monotonic() < deadline, "it waits in its commit"
            time.sleep(0.01)
        holder.execute("ROLLBACK")
        waiting.join(60)
        assert store.promises.get("b").state == "pending"


def test_a_lost_connection_costs_no_error(store: rc.Store, postgres_url: str) -> None:
    """The server ends the session between two calls: the second one looks, on a new connection."""
    store.promises.create("a", FAR)
    with contextlib.closing(libpq.Connection(plain(postgres_url))) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE application_name = 'resonate_core' AND datname = current_database()"
        )
    lost = counted("lost_commits")
    store.promises.create("b", FAR)
    assert counted("lost_commits") == lost
    assert {promise.id for promise in store.promises.search()} >= {"a", "b"}


def test_many_threads_of_one_process(postgres_url: str) -> None:
    """Requests of threads share commits without a look; each id is created by one of them."""
    with rc.Store(postgres_url, durability="normal") as store:
        store.promises.create("first", FAR)
        before = counted()
        won: list[tuple[str, str]] = []

        def run(name: str) -> None:
            for number in range(100):
                made = store.promises.create(f"p{number}", FAR, param=name)
                if made.param.json() == name:
                    won.append((made.id, name))

        threads = [threading.Thread(target=run, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(id for id, _ in won) == sorted(f"p{number}" for number in range(100))
        # How many depends on the threads: after a wrong guess, an id that another one has created, the next 32 transactions look.
        assert counted() > before
        assert store.check() == []
