"""The dashboard's stream read the counts, and then whether the store had been written: an event about a commit between the two said
`changed` with the counts of before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import resonate_core as rc
from resonate_core.asgi import ServerSettings, create_app
from resonate_core.ui.events import Ticker
from server.live_server import live


def events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_a_commit_while_the_counts_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Ticker._facts
    writes: list[Callable[[], object]] = []

    def read_and_write(self: Ticker) -> dict[str, Any]:
        seen = read(self)
        while writes:
            writes.pop()()
        return seen

    monkeypatch.setattr(Ticker, "_facts", read_and_write)
    store = rc.Store(clock=rc.ManualClock(0))
    with (
        live(create_app(store, server=ServerSettings(ui=True))) as running,
        httpx.stream("GET", f"http://127.0.0.1:{running.port}/ui/api/events", timeout=60) as stream,
    ):
        seen = events(stream.iter_lines())
        assert next(seen)["counts"] == {}
        writes.append(lambda: store.jobs.enqueue("send", id="x"))
        event = next(seen)
        assert event["changed"] is True and event["counts"]["pending"] == 1
