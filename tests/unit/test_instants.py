"""Instants as aware datetimes, beside Unix ms; durations as timedeltas, beside ms; dates in representations."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

import resonate_core as rc

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = 1_767_268_800_000
LATER = NOON + timedelta(hours=1)
LATER_MS = NOON_MS + 3_600_000
TARGET = "poll://any@workers"


def new_store() -> tuple[rc.ManualClock, rc.Store]:
    clock = rc.ManualClock(NOON)
    return clock, rc.Store(clock=clock)


def envelope(at: Any) -> Any:
    _, store = new_store()
    head = {"corrId": "1", "version": "2026-04-01"}
    store.apply({"kind": "promise.get", "head": head, "data": {"id": "a"}}, now=at)
    return store.now


def json_envelope(at: Any) -> Any:
    _, store = new_store()
    store.apply_json(b'{"kind":"promise.get","head":{"corrId":"1","version":"2026-04-01"},"data":{"id":"a"}}', now=at)
    return store.now


def moved(at: Any) -> Any:
    clock, _ = new_store()
    clock.advance_to(at)
    return clock.now


def ticked(at: Any) -> Any:
    clock, store = new_store()
    store.tick(at)
    return clock.now


def fenced(at: Any) -> Any:
    _, store = new_store()
    store.tasks.create("t", pid="w", ttl=1000, timeout=1000, target=TARGET)
    return store.tasks.fence_create("t", 1, "child", at).promise.timeout_at


def enqueued(name: str) -> Callable[[Any], Any]:
    return lambda at: getattr(new_store()[1].jobs.enqueue("t", **{name: at}), name)


# Each function passes the instant to one argument and returns what became of it.
INSTANTS: dict[str, Callable[[Any], Any]] = {
    "start": lambda at: rc.ManualClock(at).now,
    "at": moved,
    "now": ticked,
    "now of apply": envelope,
    "now of apply_json": json_envelope,
    "timeout_at": lambda at: new_store()[1].promises.create("a", at).timeout_at,
    "timeout_at of create_many": lambda at: new_store()[1].promises.create_many(["a", "b"], at)[1].timeout_at,
    "timeout_at in a column": lambda at: new_store()[1].promises.create_many(["a", "b"], [1, at])[1].timeout_at,
    "timeout_at of a task": lambda at: new_store()[1].tasks.create("t", at, pid="w", ttl=1000, target=TARGET).promise.timeout_at,
    "timeout_at of fence_create": fenced,
    "process_at": enqueued("process_at"),
    "deadline": enqueued("deadline"),
    "good_until": enqueued("good_until"),
    "process_at of enqueue_many": lambda at: new_store()[1].jobs.enqueue_many("t", [1], process_at=at)[0].process_at,
    "after": lambda at: rc.cron_next("0 0 * * *", at)[0] - 11 * 3_600_000,  # LATER is at 13:00
}


@pytest.mark.parametrize("argument", INSTANTS)
def test_a_datetime_is_as_good_as_its_milliseconds(argument: str) -> None:
    of_int, of_datetime = (INSTANTS[argument](at) for at in (LATER_MS, LATER))
    assert of_int == of_datetime == LATER_MS
    assert INSTANTS[argument](LATER.astimezone(ZoneInfo("Asia/Kathmandu"))) == LATER_MS


@pytest.mark.parametrize("argument", INSTANTS)
def test_a_naive_datetime_is_refused(argument: str) -> None:
    name = argument.split()[0]
    with pytest.raises(rc.errors.Invalid) as refused:
        INSTANTS[argument](datetime(2026, 1, 1, 13))
    assert str(refused.value) == (
        f"{name} must be an aware datetime, got datetime.datetime(2026, 1, 1, 13, 0): "
        "give it a time zone, e.g. datetime.now(timezone.utc)"
    )


@pytest.mark.parametrize("argument", INSTANTS)
@pytest.mark.parametrize("given", [1.5, "2026-01-01", True, date(2026, 1, 1)])
def test_what_is_no_instant_is_refused(argument: str, given: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{argument.split()[0]} must be an int of Unix milliseconds"):
        INSTANTS[argument](given)


def test_purge_takes_a_datetime() -> None:
    clock, store = new_store()
    store.promises.create("old", timeout=1000)
    store.promises.resolve("old")
    clock.advance(timedelta(hours=2))
    assert store.purge(settled_before=NOON) == 0
    assert store.purge(settled_before=LATER) == 1
    with pytest.raises(rc.errors.Invalid, match=r"^settled_before must be an aware datetime"):
        store.purge(settled_before=datetime(2026, 1, 1))


def test_rearm_takes_a_datetime() -> None:
    _, store = new_store()
    reader, writer = os.pipe()
    watch = store.watch(writer)
    watch.rearm(LATER)
    with pytest.raises(rc.errors.Invalid, match=r"^until must be an aware datetime"):
        watch.rearm(datetime(2026, 1, 1))
    watch.close()
    os.close(reader)
    os.close(writer)


@given(st.datetimes(min_value=datetime(1970, 1, 2), timezones=st.timezones()))
def test_every_datetime_is_exact_and_cut_to_a_millisecond(at: datetime) -> None:
    exact = (at - EPOCH) // timedelta(milliseconds=1)
    assert rc.ManualClock(at).now == exact


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        (EPOCH, 0),
        (datetime(1970, 1, 1, 0, 0, 0, 1999, tzinfo=UTC), 1),
        (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), 253_402_300_799_999),
        (datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC), 1_709_251_199_999),
        (datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=0), 1_792_888_200_000),
        (datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1), 1_792_891_800_000),
        (datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=-1, microseconds=-1500))), 3_600_001),
    ],
)
def test_datetimes_at_the_edges(at: datetime, wanted: int) -> None:
    assert rc.ManualClock(at).now == wanted


def test_before_1970_is_refused_like_a_negative_number() -> None:
    _, store = new_store()
    at = datetime(1969, 12, 31, 23, 59, 59, 999_500, tzinfo=UTC)
    for call in (lambda at: store.promises.create("a", at), rc.ManualClock):
        refusals = []
        for early in (-1, at):
            with pytest.raises(rc.errors.Invalid) as refused:
                call(early)
            refusals.append(str(refused.value))
        assert refusals[0] == refusals[1] and "-1" in refusals[0]


class Vague(tzinfo):
    """A time zone that does not know its offset: Python calls such a datetime naive."""

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        return None


class Broken(tzinfo):
    def utcoffset(self, _: datetime | None) -> timedelta | None:
        raise ZeroDivisionError("broken")


def test_odd_time_zones() -> None:
    with pytest.raises(rc.errors.Invalid, match=r"^start must be an aware datetime"):
        rc.ManualClock(datetime(2026, 1, 1, tzinfo=Vague()))
    with pytest.raises(ZeroDivisionError, match="broken"):
        rc.ManualClock(datetime(2026, 1, 1, tzinfo=Broken()))


def test_limits_of_requests_are_durations() -> None:
    text = (
        b'{"kind":"task.acquire","head":{"corrId":"1","version":"2026-04-01"},"data":{"id":"a","version":0,"pid":"w","ttl":2000}}'
    )
    assert rc.Envelope(text, rc.RequestLimits(ttl=timedelta(seconds=1))).refused
    assert not rc.Envelope(text, rc.RequestLimits(ttl=timedelta(seconds=2))).refused


def test_representations_show_dates() -> None:
    clock, store = new_store()
    promise = store.promises.create("a", LATER, tags={"resonate:timer": "true"})
    assert repr(promise) == (
        "Promise(id='a', state='pending', tags={'resonate:timer': 'true'}, "
        "timeout_at=2026-01-01T13:00:00.000Z, created_at=2026-01-01T12:00:00.000Z)"
    )
    assert "2026-01-01T13:00:00.000Z" in promise._repr_html_() and str(LATER_MS) not in promise._repr_html_()
    assert "2026-01-01T13:00:00.000Z" in store.promises.search()._repr_html_()
    assert "2026-01-01T12:00:00.000Z" in store._repr_html_()
    assert repr(clock) == "ManualClock(now=2026-01-01T12:00:00.000Z)"
    (fired,) = clock.advance_to(LATER)
    assert repr(fired) == "Fired(kind='promise_timeout', id='a', at=2026-01-01T13:00:00.000Z, now=2026-01-01T13:00:00.000Z)"
    assert promise.timeout_at == LATER_MS  # attributes stay ints


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (10**11 - 1, "99999999999"),
        (10**11, "1973-03-03T09:46:40.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "253402300800000"),
        (2**63 - 1, "9223372036854775807"),
    ],
)
def test_only_what_looks_like_unix_time_is_shown_as_a_date(at: int, shown: str) -> None:
    promise = rc.Store(clock=rc.ManualClock()).promises.create("a", at)
    assert f"timeout_at={shown}, created_at=0" in repr(promise)
    assert f"<td>{shown}</td>" in promise._repr_html_()
