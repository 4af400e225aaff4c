"""A filter of jobs read every row in one transaction, and a take removed all messages in one: other requests waited for both."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc

ROWS = 150_000
#: Creates of one thread while another looks at all those rows: many where it lets others in, else one or two.
LEAST = 10
HEAD = {"corrId": "1", "version": "2026-04-01"}


def request(kind: str, **data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": HEAD, "data": data}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[rc.Store]:
    path = None if request.param == "memory" else tmp_path / "a.db"
    with rc.Store(path, clock=rc.ManualClock(1000), durability="normal") as made:
        yield made


def creates_beside(store: rc.Store, work: Callable[[], object]) -> tuple[int, Any]:
    """Returns how many promises were created while `work` ran, and the result of `work`."""
    created = 0
    stop = threading.Event()

    def create() -> None:
        nonlocal created
        while not stop.is_set():
            store.promises.create(f"beside-{created}", 10**15)
            created += 1

    creating = threading.Thread(target=create)
    creating.start()
    before = created
    given = work()
    beside = created - before
    stop.set()
    creating.join()
    return beside, given


def test_jobs_that_a_filter_chooses_are_looked_for_beside_the_others(store: rc.Store) -> None:
    store.promises.create_many([f"p{i:05}" for i in range(ROWS)], 10**15)
    store.jobs.enqueue("mail", id="z")
    asked = request("job.cancel", type="nobody")

    created, answer = creates_beside(store, lambda: store.apply(asked))
    assert answer["data"] == {"count": 0, "more": False}
    assert created >= LEAST
    assert store.apply(request("job.cancel", type="mail"))["data"] == {"count": 1, "more": False}


def numbers_left_while_taken(store: rc.Store, id: str, count: int) -> set[int]:
    """Takes this many messages of a promise; returns the numbers of those left that another thread saw meanwhile."""
    store.promises.create(id, 10**15, tags={"resonate:external": "true"})
    store.apply([request("promise.register_listener", awaited=id, address=f"poll://uni@g/{i}") for i in range(count)])
    store.promises.resolve(id)
    store.tick()
    assert store.outbox_counts()["waiting"] == count
    taken: list[dict[str, Any]] = []
    taking = threading.Thread(target=lambda: taken.extend(store.take_messages()))
    taking.start()
    left = set()
    while taking.is_alive():
        left.add(store.outbox_counts()["waiting"])
    taking.join()
    assert len(taken) == count and len({message["address"] for message in taken}) == count
    assert store.outbox_counts()["waiting"] == 0
    return left - {0, count}


def test_messages_are_taken_in_portions(store: rc.Store) -> None:
    # In memory it takes some ms, in which a busy machine may not let another thread run at all.
    seen = (numbers_left_while_taken(store, f"p{attempt}", 20_000) for attempt in range(10))
    assert any(seen), "nothing could look while they were taken"
    assert store.check() == []


@pytest.mark.parametrize("limit", [1, 255, 256, 257, 600, 1000])
def test_as_many_are_taken_as_were_asked_for(store: rc.Store, limit: int) -> None:
    store.promises.create("p", 10**15, tags={"resonate:external": "true"})
    store.apply([request("promise.register_listener", awaited="p", address=f"poll://uni@g{i % 3}/{i}") for i in range(900)])
    store.promises.resolve("p")
    store.tick()
    first = store.take_messages(limit)
    assert len(first) == min(limit, 900)
    rest = store.take_messages(addresses=["poll://uni@g1/*"])
    others = store.take_messages()
    addresses = [message["address"] for message in (*first, *rest, *others)]
    assert len(addresses) == len(set(addresses)) == 900
    assert all(message["address"].startswith("poll://uni@g1/") for message in rest)


def test_a_failure_in_between_loses_no_message(tmp_path: Path) -> None:
    """The messages taken before the failure are returned; the others stay."""
    count = 2_000
    with rc.Store(tmp_path / "a.db", clock=rc.ManualClock(1000), durability="normal", busy_timeout=0) as store:
        store.promises.create("p", 10**15, tags={"resonate:external": "true"})
        store.apply([request("promise.register_listener", awaited="p", address=f"poll://uni@g/{i}") for i in range(count)])
        store.promises.resolve("p")
        store.tick()
        other = sqlite3.connect(str(store.path), isolation_level=None, check_same_thread=False)
        stop = threading.Event()

        def lock_now_and_then() -> None:
            while not stop.is_set():
                try:
                    other.execute("BEGIN IMMEDIATE")
                    other.execute("ROLLBACK")
                except sqlite3.OperationalError:  # the store has it
                    pass

        locking = threading.Thread(target=lock_now_and_then)
        locking.start()
        addresses: list[str] = []
        try:
            while len(addresses) < count:
                with contextlib.suppress(rc.errors.StoreError):
                    addresses += [message["address"] for message in store.take_messages()]
        finally:
            stop.set()
            locking.join()
            other.close()
        assert sorted(addresses) == sorted(f"poll://uni@g/{i}" for i in range(count))
