"""A task that workers release again and again is offered less and less often."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

import resonate_core as rc
from resonate_core.asgi import create_app
from resonate_core.base import release_delay
from resonate_core.base.release_delay import LONGEST_PAUSE, Damper

FAR = 4_000_000_000_000


class Time:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


def test_the_first_release_is_offered_at_once_and_then_less_and_less_often(time):
    damper = Damper(time)
    pauses = []
    for _ in range(10):
        damper.run_ended("task.release", "t")
        pauses.append(round(damper.wait("t"), 6))
        time.now += pauses[-1]
        assert damper.wait("t") == 0
    assert pauses == [0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    assert damper.wait("another") == 0


def test_who_gets_further_begins_anew(time):
    damper = Damper(time)
    for _ in range(5):
        damper.run_ended("task.release", "t")
    damper.run_ended("task.suspend", "t")
    assert not damper
    damper.run_ended("task.release", "t")
    assert damper.wait("t") == 0


def test_releases_that_are_far_apart_are_not_in_a_row(time):
    damper = Damper(time)
    for _ in range(5):
        damper.run_ended("task.release", "t")
        time.now += 61
    assert damper.wait("t") == 0


def test_releases_in_a_row_are_counted_until_time_goes_by(time):
    damper = Damper(time, in_a_row=0)
    for count in range(1, 4):
        damper.run_ended("task.release", "t")
        assert damper.releases("t") == count
    time.now += 0.001
    assert damper.releases("t") == 0
    damper.run_ended("task.release", "t")
    assert damper.releases("t") == 1


def test_what_is_remembered_is_bounded(time):
    damper = Damper(time)
    for n in range(20_000):
        damper.run_ended("task.release", f"t{n}")
    assert len(damper._released) == 10_000


def test_after_many_releases_it_comes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that releases at once still gets every execute, the later ones after a delay."""
    pause = 0.5  # the last delay is not over when a slow machine looks at it
    monkeypatch.setattr(release_delay, "FIRST_PAUSE", pause)
    asyncio.run(_play(pause))


async def _play(pause: float) -> None:
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def send(message: Any) -> None:
        body = message.get("body", b"")
        if body.startswith(b"data: "):
            events.put_nowait(json.loads(body[6:]))

    async def never() -> Any:
        await asyncio.Event().wait()

    with rc.Store() as store:
        app = create_app(store)
        scope = {"type": "http", "method": "GET", "path": "/poll/w/1", "raw_path": b"/poll/w/1", "headers": [], "root_path": ""}
        async with app.lifespan(), httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:

            async def ask(kind: str, **data: Any) -> None:
                head = {"corrId": "c", "version": "2026-04-01"}
                answer = await client.post("/", json={"kind": kind, "head": head, "data": data})
                assert answer.status_code == 200, answer.text

            stream = asyncio.create_task(app(scope, never, send))
            await ask("promise.create", id="t", timeoutAt=FAR, tags={"resonate:target": "poll://any@w"})
            for version in range(4):
                event = await asyncio.wait_for(events.get(), 60)
                assert event["data"]["task"] == {"id": "t", "version": version}
                await ask("task.acquire", id="t", version=version, pid="p", ttl=60_000)
                await ask("task.release", id="t", version=version + 1)
            damper = app._runtime.damper
            assert damper._released["t"][0] == 4
            assert 0 < damper.wait("t") <= 4 * pause
            event = await asyncio.wait_for(events.get(), 60)
            await ask("task.acquire", id="t", version=4, pid="p", ttl=60_000)
            await ask("task.fulfill", id="t", version=5, action={
                "kind": "promise.settle", "head": {}, "data": {"id": "t", "state": "resolved"}})  # fmt: skip
            assert not damper
            app.end_streams()
            await stream
