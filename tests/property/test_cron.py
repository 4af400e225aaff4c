"""Random cron expressions: compares the engine's occurrences with those of another library (PROTOCOL 4 and 8)."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings, strategies as st

import resonate_core as rc
from resonate_core.conformance.reference import cron
from resonate_core.testing.operations.cron_drawing import ZONES, cron_texts

# After 2037 the last rule of a zone applies forever; the tests include such instants.
LAST = 4_000_000_000_000


def occurrences(text, after, count):
    """This many occurrences by the reference; fewer if the expression has no more."""
    found = []
    while len(found) < count and (following := cron.next_after(text, after)) is not None:
        found.append(following)
        after = following
    return found


@settings(max_examples=400, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(text=cron_texts(), after=st.integers(0, LAST))
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
