"""Strategies of cron expressions."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["ZONES", "cron_texts"]

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
ZONES = ["", "", "", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca", "UTC"]


def items(low: int, high: int, names: Sequence[str] = ()) -> SearchStrategy[str]:
    """Return a strategy of one item of a list: a number, a name, a range, or a range or star with a step."""
    number = st.integers(low, high)
    bounds = st.tuples(number, number).map(sorted).map(lambda pair: f"{pair[0]}-{pair[1]}")
    step = st.integers(1, max(2, (high - low) // 2))
    # Other libraries read the range n-n with a step as the range from n to the end.
    wide = bounds.filter(lambda one: len(set(one.split("-"))) == 2)
    plain = [number.map(str), bounds, st.builds(lambda one, by: f"{one}/{by}", st.one_of(wide, st.just("*")), step)]
    if names:
        ordered = st.tuples(st.sampled_from(names), st.sampled_from(names)).map(lambda pair: sorted(pair, key=names.index))
        plain += [st.sampled_from(names), ordered.map("-".join)]
    return st.one_of(plain)


def field(low: int, high: int, names: Sequence[str] = ()) -> SearchStrategy[str]:
    """Return a strategy of a field: a star, a list of up to three items, or a number."""
    lists = st.lists(items(low, high, names), min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), lists, st.integers(low, high).map(str))


def cron_texts(seconds: bool = True, zones: bool = True) -> SearchStrategy[str]:
    """Return a strategy of well-formed cron expressions, some of which never occur.

    Args:
        seconds: Whether some have a field of seconds.
        zones: Whether some name a time zone.
    """
    fields = st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12, MONTHS), field(0, 6, DAYS)).map(" ".join)
    first = st.one_of(st.just(""), st.just(""), field(0, 59).map(lambda one: f"{one} ")) if seconds else st.just("")
    return st.builds(
        lambda zone, second, five: (f"CRON_TZ={zone} " if zone else "") + second + five,
        st.sampled_from(ZONES) if zones else st.just(""),
        first,
        fields,
    )
