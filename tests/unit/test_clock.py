"""Clocks: the manual clock and the system's clock."""

from __future__ import annotations

import signal
import threading
import time
import weakref
from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc

TIMER = {"resonate:timer": "true"}


class TestManual:
    def test_stands_still(self) -> None:
        clock = rc.ManualClock(start=7)
        assert (clock.now, clock.now, rc.ManualClock().now) == (7, 7, 0)
        assert repr(clock) == "ManualClock(now=7)"

    @pytest.mark.parametrize(
        "by, expected",
        [
            (0, 0),
            (5, 5),
            (timedelta(0), 0),
            (timedelta(milliseconds=5), 5),
            (timedelta(days=1, seconds=2), 86_402_000),
            (2**62, 2**62),
        ],
    )
    def test_advance(self, by: int | timedelta, expected: int) -> None:
        clock = rc.ManualClock()
        assert clock.advance(by) == [] and clock.now == expected

    def test_sums_saturate(self) -> None:
        clock = rc.ManualClock(2**62)
        clock.advance(2**63 - 1)
        assert clock.now == 2**63 - 1

    @pytest.mark.parametrize("by", [-1, timedelta(milliseconds=-1), timedelta(microseconds=1), 2**63, timedelta.min])
    def test_a_duration_that_is_none(self, by: Any) -> None:
        clock = rc.ManualClock(5)
        with pytest.raises(rc.Invalid):
            clock.advance(by)
        assert clock.now == 5

    @pytest.mark.parametrize("by", [1.0, "1", None, True, b"1"])
    def test_a_duration_of_the_wrong_type(self, by: Any) -> None:
        with pytest.raises(TypeError):
            rc.ManualClock().advance(by)

    @pytest.mark.parametrize("at", [1.0, True, timedelta(1), None])
    def test_an_instant_of_the_wrong_type(self, at: Any) -> None:
        with pytest.raises(TypeError):
            rc.ManualClock().advance_to(at)
        with pytest.raises(TypeError):
            rc.ManualClock(at)

    @pytest.mark.parametrize("at", [4, -1, 2**63, -(2**63) - 1])
    def test_an_instant_that_cannot_be(self, at: int) -> None:
        clock = rc.ManualClock(5)
        with pytest.raises(rc.Invalid):
            clock.advance_to(at)
        assert clock.now == 5

    @pytest.mark.parametrize("start", [-1, 2**63])
    def test_a_start_that_cannot_be(self, start: int) -> None:
        with pytest.raises(rc.Invalid):
            rc.ManualClock(start)

    def test_anything_with_an_index_is_an_int(self) -> None:
        class Indexed:
            def __index__(self) -> int:
                return 9

        clock = rc.ManualClock(Indexed())  # type: ignore[arg-type]
        assert clock.now == 9

    def test_visits_every_instant_in_order(self) -> None:
        clock = rc.ManualClock()
        store = rc.Store(clock=clock, check=True)
        for at in (30, 10, 20):
            store.promises.create(f"p{at}", at, tags=TIMER)
        fired = clock.advance_to(25)
        assert [(f.kind, f.id, f.at, f.now) for f in fired] == [
            ("promise_timeout", "p10", 10, 10),
            ("promise_timeout", "p20", 20, 20),
        ]
        assert clock.advance_to(clock.now) == []
        assert [f.id for f in clock.advance_to_next()] == ["p30"] and clock.now == 30
        assert clock.advance_to_next() == [] and clock.now == 30

    def test_a_tick_is_a_server_that_was_away(self) -> None:
        store = rc.Store(clock=rc.ManualClock(), check=True)
        for at in (10, 20):
            store.promises.create(f"p{at}", at, tags=TIMER)
        assert [(f.at, f.now) for f in store.tick(99)] == [(10, 99), (20, 99)]
        assert store.clock.now == store.now == 99

    def test_drives_several_stores(self) -> None:
        clock = rc.ManualClock()
        first, second = rc.Store(clock=clock), rc.Store(clock=clock)
        first.promises.create("a", 20, tags=TIMER)
        second.promises.create("b", 10, tags=TIMER)
        second.promises.create("c", 20, tags=TIMER)
        assert [f.id for f in clock.advance(50)] == ["b", "a", "c"]
        assert first.clock is second.clock is clock

    def test_forgets_stores_that_are_gone(self) -> None:
        clock = rc.ManualClock()
        store = rc.Store(clock=clock)
        store.promises.create("a", 20, tags=TIMER)
        gone = weakref.ref(store)
        del store
        assert gone() is None and clock.advance(50) == []

    def test_timeout_is_relative_to_now(self) -> None:
        store = rc.Store(clock=rc.ManualClock(100))
        assert store.promises.create("a", timeout=5).timeout_at == 105
        assert store.promises.create("b", timeout=timedelta(seconds=1)).timeout_at == 1100
        assert store.promises.create("c", timeout=2**63 - 1).timeout_at == 2**63 - 1
        with pytest.raises(rc.Invalid):
            store.promises.create("d", timeout=-1)

    def test_now_moves_it(self) -> None:
        store = rc.Store(clock=rc.ManualClock(10))
        get = {"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "a"}}
        assert store.apply(get, now=50)["head"]["status"] == 404 and store.now == 50
        assert store.apply(get, now=49)["head"]["status"] == 400 and store.now == 50

    def test_records_hold_durations_as_given(self) -> None:
        store = rc.Store(clock=rc.ManualClock(), retry_timeout=timedelta(seconds=3), unblock_retention=timedelta(hours=1))
        assert store.retry_timeout == 3000
        assert rc.Store(retry_timeout="ttl").retry_timeout == "ttl"


class TestSystem:
    def test_is_the_wall(self) -> None:
        store = rc.Store()
        assert isinstance(store.clock, rc.SystemClock)
        assert abs(store.now - time.time() * 1000) < 5000
        assert repr(store.clock) == "SystemClock()"

    def test_cannot_be_moved(self) -> None:
        store = rc.Store()
        with pytest.raises(rc.Invalid):
            store.tick(store.now + 1000)
        assert not hasattr(store.clock, "advance")
        get = {"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "a"}}
        assert store.apply(get, now=store.now + 1000)["head"]["status"] == 400

    def test_fires_what_is_due(self) -> None:
        store = rc.Store(check=True)
        store.promises.create("later", timeout=timedelta(hours=1), tags=TIMER)
        # Any request fires what is due, so none stands between this one and the tick, however slow the machine is.
        due = store.promises.create("a", timeout=200, tags=TIMER).timeout_at
        while store.now < due:
            time.sleep(0.01)
        assert [f.id for f in store.tick()] == ["a"]

    def test_a_fork_keeps_it(self) -> None:
        store = rc.Store()
        assert store.fork().clock is store.clock


def test_a_signal_stops_a_long_advance() -> None:
    """Ctrl-C sends SIGINT, which a process in the background may ignore, so the test sends another signal."""

    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    store.schedules.create("often", "* * * * * *", promise_timeout=1)
    before = signal.signal(signal.SIGUSR1, stop)
    try:
        threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGUSR1)).start()
        with pytest.raises(Stopped):
            clock.advance(timedelta(days=5))  # without the signal, several seconds of work and several hundred MB
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert 0 < clock.now < 5 * 86_400_000 and store.check() == []
