"""A task that no worker acquired was dispatched again every five seconds, although its message still waited in the outbox.

600,000 such tasks kept a core and a disk busy. A task whose execute waits now has no timer: `retryAt` moves on by itself, and the timer
is set when the message is taken (PROTOCOL 4).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from conformance.wire import ADDRESS, DialectClient, executes, stored_task
from older_files import give_older_schema
from resonate_core import ManualClock, Store

DEADLINE = 900_000


def retry_at(store: Any) -> int:
    task = stored_task(store, "t")
    assert task is not None
    at: int = task["retryAt"]
    return at


def fired(steps: list[Any]) -> list[tuple[str, int]]:
    return [(step.kind, step.at) for step in steps]


@pytest.fixture
def waiting(make_store: Callable[..., Any]) -> Callable[..., Any]:
    """A store whose one task was dispatched at 3, without a worker."""

    def make(**options: Any) -> Any:
        store = make_store(**options)
        DialectClient(store).create("t", timeout=DEADLINE, target=ADDRESS, now=3).must()
        return store

    return make


def test_a_message_that_waits_is_not_queued_again(waiting: Callable[..., Any]) -> None:
    store = waiting()
    assert store.next_due() == DEADLINE
    assert store.clock.advance_to(DEADLINE - 1) == []
    assert store.tick() == []
    assert [(one.kind, one.id, one.queued_at) for one in store.messages()] == [("execute", "t", 3)]
    assert fired(store.clock.advance_to(DEADLINE)) == [("promise_timeout", DEADLINE)]


@pytest.mark.parametrize(
    ("now", "shown"), [(3, 5_003), (5_002, 5_003), (5_003, 10_003), (5_004, 10_003), (10_002, 10_003), (777_777, 780_003)]
)
def test_retry_at_is_the_next_multiple(waiting: Callable[..., Any], now: int, shown: int) -> None:
    store = waiting()
    store.tick(now=now)
    assert retry_at(store) == shown
    assert [one["timeout"] for one in store.snapshot("debug")["taskTimeouts"]] == [shown]


@pytest.mark.parametrize("taken_at", [3, 4_000, 5_003, 123_456])
def test_taking_the_message_arms_the_timer(waiting: Callable[..., Any], taken_at: int) -> None:
    store = waiting()
    store.tick(now=taken_at)
    due = retry_at(store)
    assert taken_at < due <= taken_at + 5_000 and (due - 3) % 5_000 == 0
    assert len(store.take_messages()) == 1
    assert (retry_at(store), store.next_due()) == (due, due)
    assert fired(store.clock.advance_to(due)) == [("dispatch", due)]
    assert retry_at(store) == due + 5_000 and len(executes(store)) == 1
    assert store.clock.advance_to(DEADLINE - 1) == []  # and rests again


def test_messages_that_are_left_keep_their_tasks_without_a_timer(make_store: Callable[..., Any]) -> None:
    store = make_store()
    client = DialectClient(store)
    for id in ("a", "b", "c"):
        client.create(id, timeout=DEADLINE, target=ADDRESS, now=0).must()
    assert len(store.take_messages(limit=2)) == 2
    assert [(one.kind, one.id) for one in store.clock.advance_to(20_000)] == [("dispatch", "a"), ("dispatch", "b")]
    assert [one.id for one in store.messages()] == ["c", "a", "b"]


def test_the_interval_may_be_the_last_ttl(waiting: Callable[..., Any]) -> None:
    store = waiting(retry_timeout="ttl")
    client = DialectClient(store)
    assert retry_at(store) == 5_003
    client.acquire("t", 0, ttl=120, now=4).must()
    client.release("t", 1, now=5).must()
    assert (retry_at(store), store.next_due()) == (125, DEADLINE)
    store.tick(now=130)
    assert retry_at(store) == 245
    assert len(store.take_messages()) == 1
    assert store.next_due() == 245


def test_a_task_that_moves_on_is_sent_at_once_in_place_of_what_waits(waiting: Callable[..., Any]) -> None:
    store = waiting()
    client = DialectClient(store)
    client.acquire("t", 0, ttl=100, now=10).must()
    assert store.next_due() == 110  # its lease; what waits is stale
    client.release("t", 1, now=20).must()
    assert [(one.version, one.queued_at) for one in store.messages()] == [(1, 20)]
    client.halt("t", now=30).must()
    assert store.next_due() == DEADLINE
    client.cont("t", now=40).must()
    assert [(one.version, one.queued_at) for one in store.messages()] == [(1, 40)]
    assert (retry_at(store), store.next_due()) == (5_040, DEADLINE)


def test_a_stale_message_that_is_taken_arms_nothing(waiting: Callable[..., Any]) -> None:
    store = waiting()
    client = DialectClient(store)
    client.acquire("t", 0, ttl=100_000, now=10).must()
    assert len(store.take_messages()) == 1
    assert store.next_due() == 100_010
    client.halt("t", now=20).must()
    assert store.take_messages() == [] and store.next_due() == DEADLINE


def test_a_resumed_task_is_sent_at_once_and_rests(waiting: Callable[..., Any]) -> None:
    store = waiting()
    client = DialectClient(store)
    client.create("x", timeout=DEADLINE, tags={"resonate:external": "true"}, now=4).must()
    client.acquire("t", 0, ttl=100_000, now=10).must()
    client.suspend("t", 1, "x", now=20).must()
    client.settle("x", now=30).must()
    assert [(one.version, one.queued_at) for one in store.messages()] == [(1, 30)]
    assert (retry_at(store), store.next_due()) == (5_030, DEADLINE)


def test_a_delayed_task_has_its_timer_until_it_is_sent(make_store: Callable[..., Any]) -> None:
    store = make_store()
    DialectClient(store).create("t", timeout=DEADLINE, tags={"resonate:target": ADDRESS, "resonate:delay": "500"}, now=0).must()
    assert store.next_due() == 500
    assert fired(store.clock.advance_to(100_000)) == [("dispatch", 500)]
    assert retry_at(store) == 100_500


def test_a_restored_store_goes_on(waiting: Callable[..., Any], make_store: Callable[..., Any]) -> None:
    store = waiting()
    store.tick(now=7_000)
    other = make_store(clock=ManualClock(7_000))
    other.restore(store.snapshot())
    assert other.snapshot() == store.snapshot() and other.digest() == store.digest()
    for one in (store, other):
        assert one.next_due() == DEADLINE
        assert one.tick(now=23_456) == []
    assert other.snapshot() == store.snapshot() and other.digest() == store.digest()
    for one in (store, other):
        assert len(one.take_messages()) == 1
        assert (retry_at(one), one.next_due()) == (25_003, 25_003)
    assert other.digest() == store.digest()


def test_a_snapshot_whose_dispatch_is_due_is_sent_once_and_rests(
    waiting: Callable[..., Any], make_store: Callable[..., Any]
) -> None:
    """An older release, or one between two steps, may have left such a snapshot."""
    snapshot = waiting().snapshot()
    snapshot["promises"][0]["task"]["retryAt"] = 3
    store = make_store(clock=ManualClock(10))
    store.restore(snapshot)
    assert store.next_due() == 10
    assert fired(store.tick()) == [("dispatch", 3)]
    assert [one.queued_at for one in store.messages()] == [10] and store.next_due() == DEADLINE


def test_the_end_of_time(make_store: Callable[..., Any]) -> None:
    last = 2**63 - 1
    store = make_store(clock=ManualClock(last - 7_000))
    DialectClient(store).create("t", timeout=last, target=ADDRESS).must()
    assert retry_at(store) == last - 2_000
    store.tick(now=last - 1_999)
    assert retry_at(store) == last  # saturated
    assert len(store.take_messages()) == 1
    assert fired(store.clock.advance_to(last)) == [("promise_timeout", last)]


def test_a_waiting_message_costs_the_file_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    clock = ManualClock(0)
    with Store(file, clock=clock, check=False) as store:
        for i in range(2_000):
            store.promises.create(f"t{i}", timeout=DEADLINE, tags={"resonate:target": ADDRESS})
        before = [(path.name, path.read_bytes()) for path in sorted(tmp_path.iterdir()) if path.suffix != ".db-shm"]
        assert clock.advance_to(DEADLINE - 1) == []
        after = [(path.name, path.read_bytes()) for path in sorted(tmp_path.iterdir()) if path.suffix != ".db-shm"]
        assert after == before
        assert store.outbox_counts()["waiting"] == 2_000
    with Store(file, clock=ManualClock(DEADLINE - 1), check=False) as store:
        assert (store.next_due(), store.outbox_counts()["waiting"]) == (DEADLINE, 2_000)
        assert len(store.take_messages(limit=500)) == 500
        assert (store.next_due(), store.outbox_counts()["waiting"], len(store.messages())) == (DEADLINE, 1_500, 1_500)


def test_tasks_of_an_older_file_are_sent_once_more_and_rest(tmp_path: Path) -> None:
    """In such a file every task has a timer, whether or not its message waits, and the messages are not counted."""
    file = tmp_path / "a.db"
    with Store(file, clock=ManualClock(0)) as store:
        for id in ("taken", "waits"):
            store.promises.create(id, timeout=DEADLINE, tags={"resonate:target": ADDRESS})
        assert len(store.take_messages(limit=1)) == 1
    give_older_schema(file, 3, "UPDATE promises SET due_at = retry_at, due_kind = 3;")
    with Store(file, clock=ManualClock(7_000), check=True) as store:
        assert (store.outbox_counts()["waiting"], store.next_due()) == (1, 7_000)
        assert [(step.kind, step.id) for step in store.tick()] == [("dispatch", "taken"), ("dispatch", "waits")]
        assert (store.outbox_counts()["waiting"], store.next_due()) == (2, DEADLINE)
        assert [one.id for one in store.messages(addresses=[ADDRESS])] == ["taken", "waits"]
        assert store.check() == []
    assert rc.check_file(file) == []


def test_a_taken_message_is_told_to_whoever_drives_the_store(tmp_path: Path) -> None:
    """The server sleeps until the next timer; taking a message sets an earlier one."""
    with Store(tmp_path / "a.db") as store:
        store.promises.create("t", timeout=store.now + 10**9, tags={"resonate:target": ADDRESS})
        due = store.next_due()
        assert due is not None and due > store.now + 10**8
        before = store.now
        assert len(store.take_messages()) == 1
        due = store.next_due()
        assert due is not None and before < due <= store.now + 5_000


def test_a_recording_of_takes_can_be_replayed(tmp_path: Path) -> None:
    """Taking a message changes a row, at the instant of the clock."""
    clock = ManualClock(0)
    with Store(clock=clock) as store:
        path = tmp_path / "trace.jsonl"
        with store.record(path):
            store.promises.create("t", timeout=DEADLINE, tags={"resonate:target": ADDRESS})
            clock.advance_to(12_345)
            assert len(store.take_messages()) == 1
            clock.advance_to(20_000)
            store.tasks.acquire("t", 0, pid="w", ttl=10)
    result = rc.replay(path)
    assert result.ok, result
