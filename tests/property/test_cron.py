"""Random cron expressions: compares the engine's occurrences with those of another library (PROTOCOL 4 and 8)."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings, strategies as st

import resonate_core as rc
from resonate_core.conformance.reference import cron

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
ZONES = ["", "", "", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca", "UTC"]
# After 2037 the last rule of a zone applies forever; the tests include such instants.
LAST = 4_000_000_000_000


def items(low, high, names=()):
    """One item of a list: a number, a name, a range, or a range or star with a step."""
    number = st.integers(low, high)
    bounds = st.tuples(number, number).map(sorted).map(lambda pair: f"{pair[0]}-{pair[1]}")
    step = st.integers(1, max(2, (high - low) // 2))
    # The other library reads the range n-n with a step as the range from n to the end.
    wide = bounds.filter(lambda one: len(set(one.split("-"))) == 2)
    plain = [number.map(str), bounds, st.builds(lambda one, by: f"{one}/{by}", st.one_of(wide, st.just("*")), step)]
    if names:
        ordered = st.tuples(st.sampled_from(names), st.sampled_from(names)).map(lambda pair: sorted(pair, key=names.index))
        plain += [st.sampled_from(names), ordered.map("-".join)]
    return st.one_of(plain)


def field(low, high, names=()):
    """A field: a star, a list of up to three items, or a number."""
    lists = st.lists(items(low, high, names), min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), lists, st.integers(low, high).map(str))


fields = st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12, MONTHS), field(0, 6, DAYS)).map(" ".join)
texts = st.builds(
    lambda zone, seconds, five: (f"CRON_TZ={zone} " if zone else "") + seconds + five,
    st.sampled_from(ZONES),
    st.one_of(st.just(""), st.just(""), field(0, 59).map(lambda one: f"{one} ")),
    fields,
)


def occurrences(text, after, count):
    """This many occurrences by the reference; fewer if the expression has no more."""
    found = []
    while len(found) < count and (following := cron.next_after(text, after)) is not None:
        found.append(following)
        after = following
    return found


@settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(text=texts, after=st.integers(0, LAST))
def test_random_texts(text, after):
    expected = occurrences(text, after, 3)
    try:
        got = rc.cron_next(text, after, 3)
    except rc.errors.Invalid:
        got = []
    assert got == expected


@settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(
    zone=st.sampled_from(ZONES[3:]),
    hour=st.integers(0, 4),
    minute=st.sampled_from(["0", "30", "*/15", "*"]),
    year=st.integers(1971, 2060),
    month=st.sampled_from([2, 3, 4, 5, 9, 10, 11]),
)
def test_around_changes_of_zones(zone, hour, minute, year, month):
    """All occurrences at night in a month in which clocks may change."""
    text = f"CRON_TZ={zone} {minute} {hour} * * *"
    after = int(cron.datetime(year, month, 1, tzinfo=cron.timezone.utc).timestamp() * 1000)
    assert rc.cron_next(text, after, 40) == occurrences(text, after, 40)
