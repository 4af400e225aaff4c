"""Leases on messages: of several processes on one store, only one delivers a message."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import resonate_core as rc
from homes import Home

FAR = 10**15
PATIENCE = 60.0


def settled(store: rc.Store, id: str, address: str) -> None:
    store.promises.create(id, timeout_at=FAR)
    store.promises.register_listener(id, address)
    store.promises.resolve(id)


def test_one_process_of_two_calls_its_function(home: Home, place: Any) -> None:
    with home.open(place) as one, home.open(place) as other:
        seen: list[tuple[str, str]] = []
        inside = threading.Event()
        go_on = threading.Event()

        def slowly(message: rc.Message) -> None:
            inside.set()
            assert go_on.wait(PATIENCE)
            seen.append(("one", message.id))

        one.on_message("local", slowly, background=False)
        other.on_message("local", lambda message: seen.append(("other", message.id)), background=False)
        settled(one, "a", "local://here")
        settled(one, "b", "local://here")
        delivering = threading.Thread(target=one.deliver)
        delivering.start()
        assert inside.wait(PATIENCE)
        assert other.deliver() == 0
        go_on.set()
        delivering.join()
        assert seen == [("one", "a"), ("one", "b")]
        assert other.messages() == []


def test_a_function_that_raises_leaves_the_message_to_another_process(home: Home, place: Any) -> None:
    with home.open(place) as one, home.open(place) as other:

        def fail(message: rc.Message) -> None:
            raise ValueError("not here")

        seen: list[str] = []
        one.on_message("local", fail, background=False)
        other.on_message("local", lambda message: seen.append(message.id), background=False)
        settled(one, "a", "local://here")
        assert one.deliver() == 0
        assert other.deliver() == 1
        assert seen == ["a"]


def test_a_lease_ends_on_the_clock_of_the_store(home: Home, place: Any) -> None:
    clock = rc.ManualClock(1000)
    with home.open(place, clock=clock) as store:
        settled(store, "p", "poll://any@group")
        (number,) = (message.number for message in store.messages())
        digest = store.digest()
        assert store.lease_messages([number, number, -1, 99], holder="one", lease=5000) == [number]
        assert store.digest() == digest
        assert [(message.holder, message.leased_until) for message in store.messages()] == [("one", 6000)]
        assert "holder='one', leased_until=6000" in repr(store.messages()[0])
        assert store.lease_messages([number], holder="other", lease=5000) == []
        clock.advance(5000)
        assert store.lease_messages([number], holder="other", lease=5000) == [number]
        with home.open(place, clock=clock) as again:
            assert again.messages()[0].holder == "other"
            assert again.lease_messages([number], holder="one", lease=1) == []
            assert again.lease_messages([number], holder="other", lease=0) == [number]
        assert store.messages()[0].holder is None
        assert store.messages()[0].leased_until is None
        assert store.acknowledge([number]) == [number]
        assert store.lease_messages([number], holder="one", lease=1) == []


def test_no_copy_of_a_store_has_its_leases(home: Home, place: Any) -> None:
    with home.open(place, clock=rc.ManualClock(0)) as store:
        settled(store, "p", "poll://any@group")
        numbers = [message.number for message in store.messages()]
        snapshot = store.snapshot()
        assert store.lease_messages(numbers, holder="one", lease=1000) == numbers
        assert store.snapshot() == snapshot
        assert [message.holder for message in store.fork().messages()] == [None]
        store.restore(snapshot)
        assert [message.holder for message in store.messages()] == [None]


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"holder": ""}, rc.Invalid, "holder must not be empty"),
        ({"holder": 5}, TypeError, "holder must be"),
        ({"lease": -1}, rc.Invalid, "lease must be at least 0 ms, got -1"),
        ({"lease": "10"}, TypeError, "lease must be"),
        ({"numbers": ["1"]}, TypeError, "numbers must"),
    ],
)
def test_a_lease_that_breaks_a_rule_is_refused(given: dict[str, object], error: type[Exception], text: str) -> None:
    arguments: dict[str, object] = {"numbers": [1], "holder": "one", "lease": 10, **given}
    with rc.Store(clock=rc.ManualClock()) as store, pytest.raises(error, match=text):
        store.lease_messages(arguments.pop("numbers"), **arguments)  # type: ignore[arg-type]
