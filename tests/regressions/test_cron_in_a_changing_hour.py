"""A daily job whose time the clock skips did not run that day, and an interval was silent in a repeated hour.

The rule is now that of Debian's cron (PROTOCOL 8, decision 44): a time of day runs once a day, an interval follows elapsed time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import resonate_core as rc
from resonate_core.conformance.reference import Model, cron as reference
from resonate_core.worker import Worker

HOUR = 3_600_000
#: Zones and a day on which each changes its clock: forward, back.
CHANGES = [
    ("Europe/Berlin", "2026-03-29", "2026-10-25"),
    ("America/New_York", "2026-03-08", "2026-11-01"),
    ("Australia/Lord_Howe", "2026-10-04", "2026-04-05"),
    ("America/Sao_Paulo", "2018-11-04", "2018-02-17"),
    ("Africa/Cairo", "2026-04-24", "2026-10-29"),
    ("America/Havana", "2026-03-08", "2026-11-01"),
    ("Antarctica/Troll", "2026-03-29", "2026-10-25"),
    ("Africa/Casablanca", "2026-03-22", "2026-02-15"),
    ("Pacific/Apia", "2011-12-31", "2012-04-01"),
]


def by_model(text: str, after: int, count: int) -> list[int]:
    found = []
    while len(found) < count and (at := reference.next_after(text, after)) is not None:
        found.append(at)
        after = at
    return found


@pytest.fixture(params=[rc.cron_next, by_model], ids=["engine", "reference model"])
def occurrences(request: pytest.FixtureRequest) -> Callable[[str, int, int], list[int]]:
    found: Callable[[str, int, int], list[int]] = request.param
    return found


def around(zone: str, day: str) -> int:
    return int((datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)) - timedelta(days=3)).timestamp() * 1000)


def local(zone: str, at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000, ZoneInfo(zone))


@pytest.mark.parametrize(("zone", "forward", "back"), CHANGES)
@pytest.mark.parametrize("time", ["0 0", "30 0", "30 1", "45 1", "0 2", "10 2", "30 2", "0 3", "30 23"])
def test_a_time_of_day_runs_once_a_day(occurrences: Any, zone: str, forward: str, back: str, time: str) -> None:
    for day in (forward, back):
        runs = [local(zone, at) for at in occurrences(f"CRON_TZ={zone} {time} * * *", around(zone, day), 6)]
        assert set(Counter(at.date() for at in runs).values()) == {1}, runs
        minute, hour = map(int, time.split())
        moved = [at for at in runs if (at.hour, at.minute) != (hour, minute)]
        assert all((at.hour, at.minute) > (hour, minute) and f"{at:%Y-%m-%d}" == forward for at in moved), moved
        assert all(at.fold == 0 for at in runs), "the first of two"


@pytest.mark.parametrize(("zone", "forward", "back"), CHANGES)
@pytest.mark.parametrize(
    ("text", "every"), [("*/15 * * * *", 900), ("* * * * *", 60), ("*/30 * * * * *", 30), ("0,15,30,45 * * * *", 900)]
)
def test_an_interval_goes_on(occurrences: Any, zone: str, forward: str, back: str, text: str, every: int) -> None:
    """In the hours around each change, without a pause and without a double run."""
    for day in (forward, back):
        first = around(zone, day) + 71 * HOUR
        assert occurrences(f"CRON_TZ={zone} {text}", first - 1, 8 * 3600 // every) == [
            first + n * every * 1000 for n in range(8 * 3600 // every)
        ]


def test_every_hour_of_a_day_with_25(occurrences: Any) -> None:
    midnight = int(datetime(2026, 10, 25, tzinfo=ZoneInfo("Europe/Berlin")).timestamp() * 1000)
    assert occurrences("CRON_TZ=Europe/Berlin @hourly", midnight - 1, 25) == [midnight + n * HOUR for n in range(25)]


def test_several_skipped_times_run_once(occurrences: Any) -> None:
    change = int(datetime(2026, 3, 29, 3, tzinfo=ZoneInfo("Europe/Berlin")).timestamp() * 1000)
    assert occurrences("CRON_TZ=Europe/Berlin 0,20,40 2,3 * * *", change - HOUR, 3) == [
        change,
        change + HOUR // 3,
        change + HOUR * 2 // 3,
    ]


def test_a_day_that_a_zone_leaves_out(occurrences: Any) -> None:
    start = around("Pacific/Apia", "2012-01-01")
    days = [local("Pacific/Apia", at) for at in occurrences("CRON_TZ=Pacific/Apia 0 9 * * *", start, 4)]
    assert [f"{at:%m-%d %H}" for at in days] == ["12-29 09", "12-31 09", "01-01 09", "01-02 09"]
    assert occurrences("CRON_TZ=Pacific/Apia 0 9 30 12 *", start, 1)[0] > start + 300 * 24 * HOUR


@pytest.mark.parametrize("kind", ["engine", "reference model"])
@pytest.mark.parametrize("catchup", ["all", "latest"])
def test_a_schedule_in_a_night_of_change(make_store: Callable[..., Any], kind: str, catchup: str) -> None:
    start = around("Europe/Berlin", "2026-03-29")
    store: Any = (
        make_store(clock=rc.ManualClock(start), catchup=catchup) if kind == "engine" else Model(start=start, catchup=catchup)
    )
    head = {"corrId": "1", "version": "2026-04-01"}
    data = {"id": "s", "cron": "CRON_TZ=Europe/Berlin 30 2 * * *", "promiseId": "s.{{.timestamp}}", "promiseTimeout": 1}
    assert store.apply({"kind": "schedule.create", "head": head, "data": data})["head"]["status"] == 200
    change = int(datetime(2026, 3, 29, 3, tzinfo=ZoneInfo("Europe/Berlin")).timestamp() * 1000)
    store.tick(change + HOUR // 2)
    made = sorted(row["id"] for row in store.snapshot()["promises"])
    assert made[-1] == f"s.{change}" and len(made) == (4 if catchup == "all" else 1)


def test_a_periodic_job_of_a_worker() -> None:
    start = around("Europe/Berlin", "2026-03-29")
    clock = rc.ManualClock(start)
    store = rc.Store(clock=clock)
    worker = Worker(store)
    at: list[int] = []
    worker.periodic("CRON_TZ=Europe/Berlin 30 2 * * *", worker.task("t")(lambda: at.append(store.now)))
    worker.run_until_idle(until=start + 6 * 24 * HOUR)
    assert [f"{local('Europe/Berlin', each):%d %H:%M}" for each in at] == [
        "26 02:30", "27 02:30", "28 02:30", "29 03:00", "30 02:30", "31 02:30",
    ]  # fmt: skip
