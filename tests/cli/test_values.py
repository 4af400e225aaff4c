"""Instants, durations and payloads as people write them."""

from __future__ import annotations

import pytest

from resonate_core.cli.exits import CommandFailed
from resonate_core.cli.show import clean, length, moment, payload_text
from resonate_core.cli.values import duration, encode, instant, pairs

INSTANTS = [
    ("0", 0),
    ("1767225600000", 1_767_225_600_000),
    ("2026-01-01", 1_767_225_600_000),
    ("2026-01-01T00:00", 1_767_225_600_000),
    ("2026-01-01T00:00:00Z", 1_767_225_600_000),
    ("2026-01-01T00:00:00.250+00:00", 1_767_225_600_250),
    ("2026-01-01T02:00+02:00", 1_767_225_600_000),
    ("2026-01-01 00:00:00", 1_767_225_600_000),
    ("1969-12-31T23:59:59Z", -1000),
    ("+10m", 700_000),
    ("10m", 700_000),
    ("1h30m", 5_500_000),
    ("-1m", 40_000),
    ("-1d", 0),
    ("+5", 100_005),
]


@pytest.mark.parametrize(("text", "at"), INSTANTS)
def test_instants(text: str, at: int) -> None:
    assert instant(text, "--timeout", clock=lambda: 100_000) == at


@pytest.mark.parametrize(
    "text", ["", "soon", "+", "-", "1x", "10m ago", "2026-13-01", "99999999999999999999", "+99999999999999999999w", "٣", "²"]
)
def test_what_is_no_instant(text: str) -> None:
    with pytest.raises(CommandFailed, match="--timeout"):
        instant(text, "--timeout", clock=lambda: 0)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("0", 0), ("250", 250), ("250ms", 250), ("1.5s", 1500), ("1h30m", 5_400_000), ("2d", 172_800_000), ("1w", 604_800_000)],
)
def test_durations(text: str, ms: int) -> None:
    assert duration(text, "--ttl") == ms


@pytest.mark.parametrize("text", ["", "-5", "s", "5 m", "1h 30m", "1.5", "5µs"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(CommandFailed, match="--ttl"):
        duration(text, "--ttl")


def test_pairs() -> None:
    assert pairs(None, "--tag") == {}
    assert pairs(["a=", "b=c=d"], "--tag") == {"a": "", "b": "c=d"}
    for wrong in (["a"], ["=a"], ["a=1", "a=1"]):
        with pytest.raises(CommandFailed, match="--tag"):
            pairs(wrong, "--tag")


@pytest.mark.parametrize("data", ["", "no base64", encode({"a": "ü"}), "////", "eA=="])
def test_a_payload_is_readable_whatever_it_is(data: str) -> None:
    assert payload_text({"data": data}) == ('{"a":"ü"}' if data == encode({"a": "ü"}) else data)


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0ms"), (999, "999ms"), (59_999, "60s"), (60_000, "1m"), (61_000, "1m 1s"), (86_400_000, "1d"), (90_061_000, "1d 1h")],
)
def test_lengths(ms: int, text: str) -> None:
    assert length(ms) == text


def test_instants_beyond_the_calendar() -> None:
    assert moment(2**63 - 1) == str(2**63 - 1)
    assert moment(-1) == "1969-12-31T23:59:59.999Z"


def test_nothing_reaches_a_terminal_that_it_would_act_on() -> None:
    assert clean("plain ü") == "plain ü"
    assert clean("\x1b]0;title\x07\r\n\u202e") == "\\x1b]0;title\\x07\\r\\n\\u202e"
