"""The last rules of a target group; see `test_target_group`."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from mortal_client import Given
from waiting import until

import resonate_core as rc
import test_target_group
from resonate_core.errors import StoreError
from resonate_core.worker import Worker
from resonate_core.worker.store_client import StoreClient
from resonate_core.worker.target_group import TargetGroup

call, end = test_target_group.call, test_target_group.end


def test_a_worker_that_stops_gives_back_what_it_held(
    end: tuple[rc.Store, Callable[..., Worker]], request: pytest.FixtureRequest
) -> None:
    """In this process it holds nothing: it leaves the message to others. A server sends the message to it again."""
    store, make = end
    version = 3 if "url" in request.node.callspec.id else 1
    with make(name="w1"):
        call(store, "c", "elsewhere")
        until(lambda: store.tasks.get("c").version >= version)
    assert store.tasks.get("c").state == "pending"


def test_a_lost_worker(end: tuple[rc.Store, Callable[..., Worker]]) -> None:
    """A process acquired the task and was lost: after the lease another one serves the call."""
    store, make = end
    call(store, "c", "double", 4)
    store.tasks.acquire("c", 0, pid="lost", ttl=500)
    worker = make()
    worker.task("double")(lambda n: 2 * n)
    stop = threading.Event()
    ticking = threading.Thread(target=lambda: [store.tick() for _ in iter(lambda: stop.wait(0.05), True)])
    ticking.start()  # in a program, the claims of any worker do this
    try:
        with worker:
            assert store.result("c", timeout=60) == 8
    finally:
        stop.set()
        ticking.join()


def test_a_message_waits_for_others_while_its_task_cannot_be_acquired(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store fails, and the worker may be lost before its next round: the message is still there for another one."""
    with rc.Store(clock=rc.ManualClock(start=0)) as store:
        client = StoreClient(store)
        worker = Worker(Given(client), target_group="shop")
        worker.task("price")(lambda n: n)
        group = TargetGroup(worker._parts(), client.inbox("shop", worker.name, -1), lambda: 0.0)
        other = client.inbox("shop", "other", -1)
        call(store, "c", "price", 1)
        with monkeypatch.context() as failing:
            failing.setattr(client, "send", lambda calls: [StoreError("the disk is full") for _ in calls])
            with pytest.raises(StoreError, match="the disk is full"):
                group.round()
        assert [each.id for each in other.take()] == ["c"]
        group.round()
        assert store.tasks.get("c").state == "suspended"
        group.round()
        assert store.messages() == []


def test_a_message_whose_acknowledgement_fails() -> None:
    with rc.Store(clock=rc.ManualClock(start=0)) as store:
        client = StoreClient(store)
        worker = Worker(Given(client), target_group="shop")
        worker.task("price")(lambda n: n)
        inbox = client.inbox("shop", worker.name, -1)
        group = TargetGroup(worker._parts(), inbox, lambda: 0.0)
        call(store, "c", "price", 1)
        store.tasks.acquire("c", 0, pid="other", ttl=1000)  # so the message is stale
        acknowledge = inbox._acknowledge

        def failing(numbers: object) -> None:
            inbox._acknowledge = acknowledge
            raise StoreError("the disk is full")

        inbox._acknowledge = failing
        with pytest.raises(StoreError, match="the disk is full"):
            group.round()
        assert [message.id for message in store.messages()] == ["c"]
        group.round()
        assert store.messages() == []


def test_a_function_that_is_registered_while_its_calls_wait(store: rc.Store) -> None:
    client, seconds = StoreClient(store), [0.0]
    worker = Worker(Given(client), target_group="shop")
    group = TargetGroup(worker._parts(), client.inbox("shop", worker.name, -1), lambda: seconds[0])
    call(store, "c", "late")
    assert group.round() and not group.round()
    worker.task("late")(lambda: 5)
    seconds[0] += 5
    assert group.round()
    assert store.tasks.get("c").state == "suspended"
