"""`replay` played lines of unknown kinds and of earlier instants.

A step of any name was a tick, a request was run whatever the kind of its line was, and time could run backwards. It then reported a
difference, if the line differed at all.
"""

from __future__ import annotations

import pytest

import resonate_core as rc
from regressions.test_a_recording_writes_code import ROWS, recorded

REFUSED_BY_REPLAY = {
    "a kind that differs": "kind must be that of req",
    "an unknown kind": "",
    "a debug operation": "req must not be a debug operation",
    "a format as a step": "",
    "an attribute as a step": "",
    "a negative instant": "now must be at least 0",
    "an instant before the last": "now must be at least 1000, that of the line before, got 999",
    "a late instant": "now must be an integer",
    "an instant that is a text": "now must be an integer",
    "keys that are no texts": "keys",
}


@pytest.mark.parametrize(("name", "line"), [row[:2] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_replay_refuses_the_line_or_finds_the_difference(name: str, line: str) -> None:
    lines = [*recorded()[:2], line]
    if name in REFUSED_BY_REPLAY:
        with pytest.raises(rc.Invalid, match="trace line 3: ") as caught:
            rc.replay(lines)
        assert REFUSED_BY_REPLAY[name] in str(caught.value)
        return
    found = ""
    try:
        replayed = rc.replay(lines)
        found = f"trace line {replayed.line}"
    except rc.Invalid as error:
        found = str(error)
    assert found.startswith("trace line 3")
