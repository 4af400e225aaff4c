"""A recording whose job lacks its type made the timeline fail with a KeyError, and not with what is wrong in which line."""

from __future__ import annotations

import io
import json

import pytest

import resonate_core as rc


def test_a_timeline_of_such_a_recording() -> None:
    text = io.StringIO()
    store = rc.Store(clock=rc.ManualClock(start=0))
    with store.record(text):
        store.jobs.enqueue("mail", id="a")
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    assert rc.display.timeline_data([json.dumps(line) for line in lines])
    del lines[1]["res"]["data"]["job"]["type"]
    with pytest.raises(rc.Invalid, match="trace line 2: its records must have 'type', got none"):
        rc.display.timeline_data([json.dumps(line) for line in lines])
