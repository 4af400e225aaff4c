"""Compares cron expressions with two independent libraries and with a table of cases.

The libraries give an expression the same meaning as we do, with these exceptions, which the tests do not generate:

- cronsim widens `a-a/n` to `a/n` (for us it is `a`) and has no `?`.
- croniter combines the two day fields by OR if neither is exactly `*`; for us, as in Debian's cron, a field that begins with `*`
  (`*/2`) is combined by AND. It reads `a-a` as the whole field and accepts ranges that run backwards. Its week begins on Sunday,
  which is 0, so `5-7` wraps and `5/1` stops at Saturday. It refuses steps that are longer than the field.

Changes of a zone's offset: our rule is Debian's cron's (PROTOCOL 8), by spans of constant offset and for six fields, too. cronsim
follows it for five fields and whole hours, croniter has a policy of its own. So the tests take local times without a zone from
cronsim, and `zoneinfo` gives the instants at which clocks show them. The libraries' own results in a zone are compared only for
expressions that fire from 5 to 22 o'clock, since these zones never change at those hours.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from croniter import CroniterBadDateError, croniter  # type: ignore[import-untyped]
from cronsim import CronSim, CronSimError
from hypothesis import assume, example, given, settings, strategies as st

import resonate_core as rc

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
COUNT = 20
ZONES = [
    "America/New_York",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/London",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Asia/Tehran",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "Etc/GMT+5",
]


def ms(at: datetime) -> int:
    """Unix milliseconds of an aware datetime, computed without floats."""
    return (at - EPOCH) // timedelta(milliseconds=1)


def utc(text: str) -> int:
    """Unix milliseconds of an ISO text in UTC."""
    return ms(datetime.fromisoformat(text).replace(tzinfo=timezone.utc))


# --- Expressions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """The values that may be generated for a field; `names` are names of the values from `low` on."""

    low: int
    high: int
    names: tuple[str, ...] = ()


MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
SECOND = MINUTE = Field(0, 59)
HOUR = Field(0, 23)
DAY = Field(1, 31)
MONTH = Field(1, 12, MONTHS)
WEEKDAY = Field(0, 7, WEEKDAYS)


@st.composite
def items(draw: st.DrawFn, field: Field, *, star: bool = True, from_to_end: bool = True) -> str:
    """One item of a list: `*`, `a`, `a-b`, `*/n`, `a-b/n` or `a/n`, with `a < b`."""

    def shown(value: int) -> str:
        index = value - field.low
        name = field.names[index] if index < len(field.names) and draw(st.booleans()) else str(value)
        return draw(st.sampled_from([name, name.lower(), name.title()]))

    kinds = ["value", "value", "range", "stepped range"]
    kinds += ["*", "*/n"] if star else []
    kinds += ["a/n"] if from_to_end else []
    kind = draw(st.sampled_from(kinds))
    low = draw(st.integers(field.low, field.high - 1))
    step = draw(st.integers(1, field.high - field.low))
    if kind in ("*", "*/n"):
        return kind.replace("n", str(step))
    if kind == "value":
        return shown(draw(st.integers(field.low, field.high)))
    if kind == "a/n":
        return f"{shown(low)}/{step}"
    text = f"{shown(low)}-{shown(draw(st.integers(low + 1, field.high)))}"
    return f"{text}/{step}" if kind == "stepped range" else text


def lists(field: Field, *, star: bool = True, from_to_end: bool = True) -> st.SearchStrategy[str]:
    """A field: usually one item, sometimes several."""
    one = items(field, star=star, from_to_end=from_to_end)
    return one | one | st.lists(one, min_size=2, max_size=4).map(",".join)


def mostly_every(field: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """`*` half the time: expressions that restrict every field hardly ever fire."""
    return st.just("*") | field


# The syntax that cronsim and we share.
EXPRESSIONS = st.tuples(
    lists(MINUTE), mostly_every(lists(HOUR)), mostly_every(lists(DAY)), mostly_every(lists(MONTH)), mostly_every(lists(WEEKDAY))
).map(" ".join)
WITH_SECONDS = st.tuples(lists(SECOND), EXPRESSIONS).map(" ".join)
# The syntax that croniter shares: a day field is exactly `*` or has no `*`, and weeks end on Saturday.
CRONITER_EXPRESSIONS = st.tuples(
    lists(MINUTE),
    mostly_every(lists(HOUR)),
    mostly_every(lists(DAY, star=False)),
    mostly_every(lists(MONTH)),
    mostly_every(lists(Field(0, 6, WEEKDAYS), star=False, from_to_end=False)),
).map(" ".join)
BY_DAY = st.tuples(
    lists(MINUTE),
    lists(Field(5, 22), star=False, from_to_end=False),
    mostly_every(lists(DAY, star=False)),
    mostly_every(lists(MONTH)),
    mostly_every(lists(Field(0, 6, WEEKDAYS), star=False, from_to_end=False)),
).map(" ".join)

# From 1971 on: before, some zones had offsets with odd seconds, and summer time began and ended irregularly.
INSTANTS = st.integers(utc("1971-01-01"), utc("2099-12-31"))
ZONE_NAMES = st.sampled_from(ZONES)


# --- The results of the libraries ------------------------------------------------------------------------------------


def by_cronsim(expression: str, after: datetime, count: int) -> list[datetime]:
    """The next times by cronsim; none if it finds that there are none."""
    try:
        return list(islice(CronSim(expression, after), count))
    except CronSimError:
        return []


def by_croniter(expression: str, after: datetime, count: int) -> list[datetime]:
    """The next times by croniter; none if it finds none."""
    walk = croniter(expression, after, ret_type=datetime, second_at_beginning=True)
    found: list[datetime] = []
    try:
        while len(found) < count:
            found.append(walk.get_next())
    except CroniterBadDateError:
        pass
    return found


def ours(expression: str, after: int, count: int = COUNT) -> list[int]:
    """Our next occurrences; none if the parser refuses an expression that never fires."""
    try:
        return rc.cron_next(expression, after, count)
    except rc.errors.Invalid as error:
        if not error.message.endswith("never fires"):
            raise
        return []


def instants_of(wall: datetime, zone: ZoneInfo) -> list[datetime]:
    """The instants, none to two, at which clocks in the zone show that time."""
    both = {wall.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1)}
    return sorted(at for at in both if at.astimezone(zone).replace(tzinfo=None) == wall)


def end_of_skip(wall: datetime, zone: ZoneInfo) -> datetime | None:
    """The instant of the change that skips that time; None if it skips three hours or more."""
    minutes = (wall + timedelta(minutes=n) for n in range(180))
    return next((found[0] for found in (instants_of(at.replace(second=0), zone) for at in minutes) if found), None)


def by_wall_clock(expression: str, after: int, zone: ZoneInfo, count: int) -> list[int]:
    """Our rule applied to the local times of cronsim, which begin before `after` by more than a change of clocks moves them."""
    fields = expression.split()
    interval = any(field.startswith("*") for field in fields[: len(fields) - 3])
    start = (EPOCH + timedelta(milliseconds=after)).astimezone(zone).replace(tzinfo=None) - timedelta(hours=6)
    found: set[int] = set()
    enough = None
    try:
        for wall in CronSim(expression, start):
            instants = instants_of(wall, zone)
            if not interval:
                moved = None if instants else end_of_skip(wall, zone)
                instants = instants[:1] or ([] if moved is None else [moved])
            found |= {ms(at) for at in instants if ms(at) > after}
            if len(found) >= count and enough is None:
                enough = wall + timedelta(hours=3)  # local times that occur twice are not in the order of their instants
            if (enough is not None and wall > enough) or wall.year > 9990:  # every time may be skipped
                break
    except CronSimError:
        pass
    return sorted(found)[:count]


# cronsim 2.7, the last for Python 3.10, finds nothing if the day of the month never occurs, even if the day of the week does.
CRONSIM_GIVES_UP = tuple(map(int, version("cronsim").split(".")[:2])) < (2, 8)


# --- Comparisons -----------------------------------------------------------------------------------------------------


@given(expression=EXPRESSIONS | WITH_SECONDS, after=INSTANTS)
@settings(max_examples=200, deadline=None)
@example("0 0 29 2 */7", utc("2090-01-01"))
@example("0 0 13 * */5", utc("2024-01-01"))
@example("0 0 31 2 MON", utc("2024-01-01"))
def test_cronsim_agrees_in_utc(expression: str, after: int) -> None:
    expected = [ms(at) for at in by_cronsim(expression, EPOCH + timedelta(milliseconds=after), COUNT)]
    assume(expected or not CRONSIM_GIVES_UP)
    assert ours(expression, after) == expected


@given(expression=CRONITER_EXPRESSIONS, after=INSTANTS)
@settings(max_examples=200, deadline=None)
@example("0 0 13 * FRI", utc("2024-01-01"))
@example("0 0 1-31 * MON", utc("2024-01-01"))
def test_croniter_agrees_in_utc(expression: str, after: int) -> None:
    start = EPOCH + timedelta(milliseconds=after - after % 1000)  # croniter computes with floats
    assert ours(expression, ms(start)) == [ms(at) for at in by_croniter(expression, start, COUNT)]


@given(seconds=lists(SECOND), expression=CRONITER_EXPRESSIONS, after=INSTANTS)
@settings(max_examples=100, deadline=None)
def test_croniter_agrees_on_seconds(seconds: str, expression: str, after: int) -> None:
    start = EPOCH + timedelta(milliseconds=after - after % 1000)
    assert ours(f"{seconds} {expression}", ms(start)) == [ms(at) for at in by_croniter(f"{seconds} {expression}", start, COUNT)]


@pytest.mark.all
@given(expression=EXPRESSIONS | WITH_SECONDS, after=INSTANTS, zone=ZONE_NAMES)
@settings(max_examples=200, deadline=None)
@example("*/15 * * * *", utc("2024-11-03T04:50"), "America/New_York")
@example("30 2 * * *", utc("2024-03-08"), "America/New_York")
@example("30 1 * * *", utc("2024-11-02"), "America/New_York")
@example("*/10 1-2 * * *", utc("2024-04-06T14:00"), "Australia/Lord_Howe")
@example("30 2 * * *", utc("2080-01-01"), "Africa/Casablanca")
@example("0 0 * * *", utc("2018-11-01"), "America/Sao_Paulo")
@example("0 0 * * *", utc("2022-03-20"), "Asia/Tehran")
def test_wall_clock_agrees_in_zones(expression: str, after: int, zone: str) -> None:
    assert ours(f"CRON_TZ={zone} {expression}", after) == by_wall_clock(expression, after, ZoneInfo(zone), COUNT)


@pytest.mark.parametrize("zone", ZONES)
def test_wall_clock_agrees_around_every_change(zone: str) -> None:
    """Each change of the zone's offset from 1971 to 2060, with expressions that fire around it."""
    area = ZoneInfo(zone)
    days = [EPOCH + timedelta(days=day) for day in range(365, 365 * 91)]
    changes = [a for a, b in pairwise(days) if a.astimezone(area).utcoffset() != b.astimezone(area).utcoffset()]
    chosen = random.Random(zone)
    for change in changes:
        expression = chosen.choice(["*/7 * * * *", "0,30 0-3 * * *", "15 */2 * * *", "59 59 23,0-4 * * *", "5 1 * * 0-7"])
        after = ms(change) - 43_200_000 + chosen.randrange(43_200_000)
        expected = by_wall_clock(expression, after, area, 60)
        assert rc.cron_next(f"CRON_TZ={zone} {expression}", after, 60) == expected, (expression, change)


# cronsim misses 05:00 on a day whose clock moves by half an hour at 02:00; the test by wall clock above covers that zone.
WHOLE_HOURS = ZONE_NAMES.filter(lambda zone: zone != "Australia/Lord_Howe")


@pytest.mark.parametrize("library", [by_cronsim, by_croniter])
@given(expression=BY_DAY, after=INSTANTS, zone=WHOLE_HOURS)
@settings(max_examples=150, deadline=None)
def test_libraries_agree_in_zones_by_day(
    library: Callable[[str, datetime, int], list[datetime]], expression: str, after: int, zone: str
) -> None:
    start = (EPOCH + timedelta(milliseconds=after - after % 1000)).astimezone(ZoneInfo(zone))
    expected = [ms(at) for at in library(expression, start, COUNT)]
    assert ours(f"CRON_TZ={zone} {expression}", ms(start)) == expected


# --- Table of cases --------------------------------------------------------------------------------------------------


# 2024-01-01 is a Monday. The long table is in cpp/tests/cron_test.cpp; this one has the common cases.
@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("* * * * *", "2024-01-01T00:00:59.999", ["2024-01-01T00:01"]),
        ("*/15 9-17 * * MON-FRI", "2024-01-05T17:30", ["2024-01-05T17:45", "2024-01-08T09:00"]),
        ("30 0 0 1 1 *", "2024-01-01T00:00:30", ["2025-01-01T00:00:30"]),
        ("0 0 29 2 *", "2096-03-01", ["2104-02-29"]),
        ("0 0 13 * FRI", "2024-09-01", ["2024-09-06", "2024-09-13", "2024-09-20"]),
        ("0 0 */10 * MON", "2024-01-01", ["2024-03-11", "2024-04-01"]),
        ("0 0 ? * 5-7", "2024-01-01", ["2024-01-05", "2024-01-06", "2024-01-07"]),
        ("0 0 * * 5/1", "2024-01-01", ["2024-01-05", "2024-01-06", "2024-01-07"]),
        ("0 0 5-5/2 * *", "2024-01-01", ["2024-01-05", "2024-02-05"]),
        ("*/90 * * * *", "2024-01-01T00:30", ["2024-01-01T01:00"]),
        ("@weekly", "2024-01-01", ["2024-01-07", "2024-01-14"]),
        ("CRON_TZ=Asia/Tokyo @daily", "2024-01-01", ["2024-01-01T15:00"]),
        ("CRON_TZ=America/New_York 30 2 * * *", "2024-03-09", ["2024-03-09T07:30", "2024-03-10T07:00", "2024-03-11T06:30"]),
        ("CRON_TZ=America/New_York 30 1 * * *", "2024-11-03", ["2024-11-03T05:30", "2024-11-04T06:30"]),
        ("CRON_TZ=America/New_York 0 9 1 7 *", "2099-01-01", ["2099-07-01T13:00"]),
        ("0 0 1 1 *", "9998-06-01", ["9999-01-01"]),
    ],
)
def test_by_hand(text: str, after: str, expected: list[str]) -> None:
    assert rc.cron_next(text, utc(after), len(expected)) == [utc(at) for at in expected]


def test_ends_with_the_year_9999() -> None:
    assert rc.cron_next("@yearly", utc("9998-06-01"), 3) == [utc("9999-01-01")]
    assert rc.cron_next("* * * * *", 2**63 - 1) == []
    assert rc.cron_next("* * * * *", -(2**63)) == [-(2**63) // 60_000 * 60_000 + 60_000]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must have 5 fields, or 6 with leading seconds, got 0"),
        ("* * * *", "must have 5 fields, or 6 with leading seconds, got 4"),
        ("60 * * * *", 'minute "60": a value must be within 0-59, got "60"'),
        ("*/0 * * * *", "a step must be at least 1, got 0"),
        ("1,,2 * * * *", "an item of a list must not be empty"),
        ("0 0 * * FRI-SUN", "write Sunday as 7 at the end of a range"),
        ("0 0 L * *", "the extensions L, W and # are not supported"),
        ("0 0 * * \N{ARABIC-INDIC DIGIT THREE}", "must be printable ASCII"),
        ("0 0 * * *\0", "must be printable ASCII"),
        ("@every 1h", "must name calendar times"),
        ("@reboot", "must name calendar times"),
        ("0 0 31 2 *", "never fires"),
        ("CRON_TZ=Mars/Olympus 0 0 * * *", "must name a time zone of the system"),
        ("TZ=UTC 0 0 * * *", "must not be a setting other than one CRON_TZ=Area/City"),
    ],
)
def test_refusals_say_why(text: str, says: str) -> None:
    with pytest.raises(rc.errors.Invalid) as raised:
        rc.cron_next(text, 0)
    assert says in str(raised.value)
    assert raised.value.status == 400
