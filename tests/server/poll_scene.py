"""A store, its app and poll streams on one event loop, whose time the test moves: no test waits for real time."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import PushSettings, ResonateApp, create_app
from server.app_calls import scope_of

__all__ = ["AsgiStream", "ManualLoop", "Scene", "run", "scene"]

FAR = 10**15


class ManualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time moves only when the test moves it."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        super().__init__()

    def time(self) -> float:
        """Returns the time in seconds, as set by the test."""
        return self.seconds


class AsgiStream:
    """One open GET /poll/{group}/{id}, without a server."""

    def __init__(self, app: Any, target: str, headers: dict[str, str] | None = None) -> None:
        self.start: dict[str, Any] | None = None
        self.chunks: list[bytes] = []
        self.ended = False  # by the server, with a last chunk
        self.read = asyncio.Event()  # cleared: the client does not read
        self.read.set()
        self._left = asyncio.Event()
        self._asked = False
        self.task = asyncio.get_running_loop().create_task(app(scope_of("GET", target, headers), self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        await self.read.wait()
        if self._left.is_set():
            return
        if message["type"] == "http.response.start":
            self.start = message
            return
        self.chunks.append(message["body"])
        self.ended = not message.get("more_body", False)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of all events."""
        return [json.loads(chunk.removeprefix(b"data: ")) for chunk in self.chunks if chunk.startswith(b"data: ")]

    @property
    def ids(self) -> list[str]:
        """The ids of the messages, in order."""
        return [seen(message) for message in self.messages]

    @property
    def comments(self) -> int:
        """The number of comments."""
        return sum(chunk.startswith(b":") for chunk in self.chunks)

    async def leave(self) -> None:
        """Disconnects; returns when the app has noticed."""
        self._left.set()
        self.read.set()
        await asyncio.wait([self.task])
        self.task.result()


def seen(message: dict[str, Any]) -> str:
    """Returns the id that a message is about."""
    data = message["data"]
    id: str = data["task" if "task" in data else "promise"]["id"]
    return id


class Scene:
    """The app, its store and its streams."""

    def __init__(self, store: Store, app: ResonateApp, headers: dict[str, str] | None = None) -> None:
        self.store = store
        self._headers = headers
        self.app = app
        self.streams: list[AsgiStream] = []
        self._markers = itertools.count()
        self._marked: AsgiStream

    async def open(self, target: str = "workers/w1", headers: dict[str, str] | None = None) -> AsgiStream:
        """Opens a stream; returns when it has begun."""
        stream = AsgiStream(self.app, f"/poll/{target}", headers)
        self.streams.append(stream)
        await self.until(lambda: bool(stream.chunks) or stream.task.done())
        return stream

    def execute(self, id: str, address: str = "poll://any@workers") -> None:
        """Creates a task, and so a message."""
        self.store.promises.create(id, FAR, tags={"resonate:target": address})

    def unblock(self, id: str, address: str = "poll://uni@workers/w1") -> None:
        """Creates a promise with a listener and resolves it, and so creates a message."""
        self.store.promises.create(id, FAR, tags={"resonate:external": "true"})
        self.store.promises.register_listener(id, address)
        self.store.promises.resolve(id)

    def waiting(self) -> list[str]:
        """Returns the ids of the messages that are still in the store."""
        return [message.id for message in self.store.messages() if not message.id.startswith("marker.")]

    async def pass_time(self, seconds: float, step: float = 0.05) -> None:
        """Moves the loop's time in small steps and runs what becomes due; messages queued before are handled first."""
        await self.quiet()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ManualLoop)
        end = loop.seconds + seconds
        while loop.seconds < end:
            loop.seconds = min(end, loop.seconds + step)
            for _ in range(4):
                await asyncio.sleep(0)
        await self.quiet()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until threads and tasks make a condition true."""
        patience = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < patience, "it never came"
            await asyncio.sleep(0)
            time.sleep(0.0002)  # lets the store's threads run

    async def quiet(self) -> None:
        """Returns when all messages that were in the store have been handled, with their consequences."""
        for _ in range(3):
            marker = f"marker.{next(self._markers)}"
            self.unblock(marker, "poll://uni@markers/m")
            while marker not in self._marked.ids:
                if self._marked.task.done():  # its time is over, as that of all others
                    self._marked = await self.open("markers/m", self._headers)
                await self.until(lambda marker=marker: marker in self._marked.ids or self._marked.task.done())  # type: ignore[misc]

    async def __aenter__(self) -> Scene:
        self._marked = await self.open("markers/m", self._headers)
        return self

    async def __aexit__(self, *_: object) -> None:
        for stream in self.streams:
            await stream.leave()


@asynccontextmanager
async def scene(store: Store | None = None, markers: dict[str, str] | None = None, **tables: Any) -> AsyncIterator[Scene]:
    """A running app. `tables` are those of `create_app`, `markers` the headers of the stream that `quiet` uses."""
    tables.setdefault("push", PushSettings(enabled=False))
    store = store or Store(clock=ManualClock(1000))
    app = create_app(store, **tables)
    async with app.lifespan(), Scene(store, app, markers) as made:
        yield made


def run(main: Coroutine[Any, Any, None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test on an event loop of its own, whose time, and that of the poll transport, `Scene.pass_time` moves."""
    import resonate_core.server.poll as poll

    loop = ManualLoop()
    monkeypatch.setattr(poll, "seconds", loop.time)
    try:
        loop.run_until_complete(main)
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
