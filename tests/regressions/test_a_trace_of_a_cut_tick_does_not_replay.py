"""A recorded tick had let a request run between two of its steps; the replay ran all steps first, and differed from the recording."""

from __future__ import annotations

import io

import resonate_core as rc

LISTENERS = 200


def test_requests_between_the_parts_of_a_tick_replay() -> None:
    lines = io.StringIO()
    store = rc.Store(clock=rc.ManualClock(1000))
    with store.record(lines):
        store.promises.create("p", 10**15, tags={"resonate:external": "true"})
        store.promises.create("timer", 1500, tags={"resonate:timer": "true"})
        for i in range(LISTENERS):
            store.promises.register_listener("p", f"poll://uni@g/{i}")
        store.promises.resolve("p")
        assert len(store.tick(1500, limit=10)) == 10
        store.promises.create("between", 10**15)
        assert len(store.tick(limit=10)) == 10
        store.take_messages(5)
        store.promises.get("timer")
        assert store.tick()[-1].id == "timer"
    result = rc.replay(lines.getvalue().splitlines())
    assert result.ok, result
