"""Debug operations of a server that delivers: it delivers nothing while it is paused, and nothing from before a reset."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import ServerSettings, StreamSettings
from server.app_calls import call
from server.poll_scene import Scene, run, scene


async def debug(on: Scene, kind: str, **data: Any) -> None:
    head = {"corrId": "c", "version": "2026-04-01"}
    answer = await call(on.app, body=json.dumps({"kind": f"debug.{kind}", "head": head, "data": data}).encode())
    assert answer.status == 200, answer


def debugged() -> Any:
    store = Store(clock=ManualClock(1000), debug=True)
    return scene(store, server=ServerSettings(debug=True), streams=StreamSettings(acknowledge_after=0.25))


def test_what_is_paused_is_delivered_when_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with debugged() as on:
            stream = await on.open()
            await debug(on, "start")
            on.execute("t")
            on.unblock("u")
            await debug(on, "stop")
            await on.quiet()
            assert sorted(stream.ids) == ["t", "u"]

    run(main(), monkeypatch)


@pytest.mark.parametrize("place", ["memory", "file"])
@pytest.mark.parametrize("how", ["reset", "restore"])
def test_the_numbers_of_messages_never_go_back(tmp_path: Path, place: str, how: str) -> None:
    """The deliveries of this process and of others are ordered by these numbers."""
    with Store(tmp_path / "a.db" if place == "file" else None, clock=ManualClock(1000), debug=True) as store:
        for i in range(5):
            store.promises.create(f"p{i}", 10**15, tags={"resonate:target": "poll://any@w"})
        last = store.messages()[-1].number
        if how == "reset":
            store.apply({"kind": "debug.reset", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {}})
        else:
            with Store(clock=ManualClock(1000)) as empty:
                store.restore(empty.snapshot())
        store.promises.create("new", 10**15, tags={"resonate:target": "poll://any@w"})
        assert [message.number for message in store.messages()] > [last]


@pytest.mark.parametrize("confirmed", [True, False])
def test_messages_after_a_reset_are_delivered_as_those_before(monkeypatch: pytest.MonkeyPatch, confirmed: bool) -> None:
    """Their numbers differ from those of the deleted messages."""

    async def main() -> None:
        async with debugged() as on:
            stream = await on.open()
            for i in range(20):
                (on.execute if i % 2 else on.unblock)(f"old{i:02}", "poll://uni@workers/w1")
            await on.until(lambda: len(stream.ids) == 20)
            if confirmed:
                await on.pass_time(1)
            await debug(on, "reset")
            on.execute("new execute", "poll://uni@workers/w1")
            on.unblock("new unblock")
            await on.until(lambda: sorted(stream.ids[20:]) == ["new execute", "new unblock"])
            asyncio.get_running_loop().seconds += 10  # type: ignore[attr-defined]
            await on.until(lambda: on.waiting() == [])

    run(main(), monkeypatch)
