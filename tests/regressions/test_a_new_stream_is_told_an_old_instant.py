"""A page of the dashboard that was opened beside another one, or after it, showed times of the past: a heartbeat "in 9 s".

The first event of a stream was the newest change, with the instant at which that was seen: minutes ago if the store had been quiet,
and with counts of then if no stream had been open since. The page takes the present instant from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

import resonate_core as rc
from resonate_core.asgi import ServerSettings, create_app
from server.live_server import live


@pytest.fixture
def store(make_store: Any) -> Any:
    return make_store(clock=rc.ManualClock(start=0))


@contextmanager
def first_event(port: int) -> Iterator[dict[str, Any]]:
    with httpx.stream("GET", f"http://127.0.0.1:{port}/ui/api/events", timeout=60) as stream:
        yield next(json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))


def test_each_stream_begins_with_the_present_instant(store: Any) -> None:
    with live(create_app(store, server=ServerSettings(ui=True))) as running, first_event(running.port) as first:
        assert first["now"] == 0 and first["changed"] is False
        store.clock.advance(60_000)  # nothing happens meanwhile, so no stream has an event
        with first_event(running.port) as second:
            assert second["now"] == 60_000 and second["changed"] is False


def test_a_stream_after_a_pause_begins_with_the_present_counts(store: Any) -> None:
    with live(create_app(store, server=ServerSettings(ui=True))) as running:
        with first_event(running.port) as first:
            assert first["counts"] == {}
        store.jobs.enqueue("t", id="a")
        store.clock.advance(60_000)
        with first_event(running.port) as second:
            assert second["now"] == 60_000 and second["counts"]["pending"] == 1
