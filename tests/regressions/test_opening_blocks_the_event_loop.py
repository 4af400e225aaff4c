"""`await worker.serve()` and `async with worker` of a path or a URL opened the store on the event loop, and blocked it for as long.

So did the first request of an app without a lifespan, and `run_until_idle_async`. A call that was cancelled meanwhile left its store open.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import resonate_core as rc
from resonate_core.asgi import create_app
from resonate_core.contrib.starlette import Resonate
from resonate_core.ui import create_ui
from resonate_core.worker import Worker
from resonate_core.worker.environment import Environment, open_client

HEAD = {"corrId": "1", "version": "2026-04-01"}


class Door:
    """Opens stores, each only once `go_on` is set."""

    def __init__(self) -> None:
        self.waiting, self.go_on, self.opened = threading.Semaphore(0), threading.Event(), threading.Semaphore(0)
        self.stores: list[rc.Store] = []
        self.threads: list[str] = []
        self.refuses = False

    def open(self, *place: Any) -> rc.Store:
        self.threads.append(threading.current_thread().name)
        self.waiting.release()
        assert self.go_on.wait(60)
        if self.refuses:
            raise rc.errors.StoreError("no")
        self.stores.append(rc.Store(*place))
        self.opened.release()
        return self.stores[-1]

    def connect(self, target: Any, *_options: Any) -> Any:
        client = open_client(self.open(target))
        client._owned = True  # type: ignore[attr-defined]
        return client


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.go_on.set()
    for store in made.stores:
        store.close()


@pytest.fixture
def worker(door: Door, tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path / "a.db", environment=Environment(connect=door.connect), poll_interval=20)
    yield made
    door.go_on.set()
    made.close()


async def reaches(semaphore: threading.Semaphore) -> None:
    """Wait without a thread: the loop runs meanwhile."""
    while not semaphore.acquire(blocking=False):
        await asyncio.sleep(0.005)


async def entered(worker: Worker) -> None:
    async with worker:
        worker.stop()


async def lived(app: Any) -> None:
    async with app.lifespan():
        pass


async def requested(app: Any) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        assert (await client.post("/", json={"kind": "promise.get", "head": HEAD, "data": {"id": "a"}})).status_code == 404


async def looked(app: Any) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        assert (await client.get("/api/overview")).status_code < 500
    await app.aclose()


CALLS: dict[str, Callable[[Worker], Coroutine[Any, Any, Any]]] = {
    "serve": Worker.serve,
    "async with": entered,
    "drain": lambda worker: worker.run_until_idle_async(),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_loop_runs_while_a_worker_opens_its_store(call: str, worker: Worker, door: Door) -> None:
    last = worker.task("last")(lambda: worker.stop())

    async def main() -> None:
        running = asyncio.ensure_future(CALLS[call](worker))
        await reaches(door.waiting)
        assert not running.done()
        if call != "drain":
            with pytest.raises(rc.errors.Invalid, match="runs already"):
                await worker.serve()
        door.go_on.set()
        if call == "serve":
            await last.enqueue_async()
        await running

    asyncio.run(asyncio.wait_for(main(), 60))
    assert len(door.stores) == 1 and not door.stores[0].closed and "MainThread" not in door.threads


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("refuses", [False, True])
def test_a_cancelled_call_leaves_no_store_open(call: str, refuses: bool, worker: Worker, door: Door, caplog: Any) -> None:
    door.refuses = refuses

    async def main() -> None:
        running = asyncio.ensure_future(CALLS[call](worker))
        await reaches(door.waiting)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        door.go_on.set()
        while not refuses and not (door.stores and door.stores[0].closed):
            await asyncio.sleep(0.005)

    asyncio.run(asyncio.wait_for(main(), 30))
    worker.close()
    assert "never retrieved" not in caplog.text
    door.refuses = False
    asyncio.run(asyncio.wait_for(worker.run_until_idle_async(), 30))  # it opens again
    assert not door.stores[-1].closed


def test_a_store_that_another_call_waits_for_stays_open(worker: Worker, door: Door) -> None:
    async def main() -> None:
        running = asyncio.ensure_future(worker.serve())
        await reaches(door.waiting)
        enqueued = asyncio.ensure_future(worker.task("t")(print).enqueue_async())
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        door.go_on.set()
        assert (await enqueued).state == "pending"

    asyncio.run(asyncio.wait_for(main(), 30))
    assert len(door.stores) == 1 and not door.stores[0].closed


@pytest.mark.parametrize("call", ["serve", "async with"])
@pytest.mark.parametrize("thread", [False, True])
def test_a_stop_meanwhile_is_a_stop(call: str, thread: bool, worker: Worker, door: Door) -> None:
    async def main() -> None:
        running = asyncio.ensure_future(CALLS[call](worker))
        await reaches(door.waiting)
        if thread:
            await asyncio.to_thread(worker.stop)
        else:
            worker.stop()
        await running
        assert not door.stores, "it waits for no store"
        door.go_on.set()
        await reaches(door.opened)

    asyncio.run(asyncio.wait_for(main(), 30))


def test_an_error_is_raised(worker: Worker, door: Door) -> None:
    door.refuses = True
    door.go_on.set()
    for call in CALLS.values():
        with pytest.raises(rc.errors.StoreError, match="no"):
            asyncio.run(call(worker))
    door.refuses = False
    asyncio.run(entered(worker))


def test_a_close_waits_for_an_opening(worker: Worker, door: Door) -> None:
    async def main() -> None:
        enqueued = asyncio.ensure_future(worker.task("t")(print).enqueue_async())
        await reaches(door.waiting)
        enqueued.cancel()
        closing = asyncio.ensure_future(worker.aclose())
        await asyncio.sleep(0.01)
        assert not closing.done()
        door.go_on.set()
        await closing

    asyncio.run(asyncio.wait_for(main(), 30))
    assert [store.closed for store in door.stores] == [True]


APPS: dict[str, tuple[Callable[[Path], Any], Callable[[Any], Coroutine[Any, Any, None]]]] = {
    "server": (create_app, lived),
    "server, first request": (create_app, requested),
    "contrib": (lambda place: Resonate(place), lived),
    "dashboard": (lambda place: create_ui(place, role="operate"), looked),
}


@pytest.fixture(params=APPS)
def app(request: pytest.FixtureRequest, door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    make, call = APPS[request.param]
    place = tmp_path / "b.db"
    rc.Store(place).close()
    if request.param == "contrib":
        monkeypatch.setattr(
            "resonate_core.contrib.starlette.Store", type("Slow", (), {"__new__": lambda cls, place: door.open(place)})
        )
    made = make(place)
    if request.param != "contrib":
        made._open = lambda: door.open(place)
    return request.param, lambda: call(made)


def test_the_loop_runs_while_an_app_opens_its_store(app: Any, door: Door) -> None:
    name, call = app

    async def main() -> None:
        running = [asyncio.ensure_future(call()) for _ in range(2 if "request" in name else 1)]
        await reaches(door.waiting)
        await asyncio.sleep(0.02)
        assert not any(each.done() for each in running)
        door.go_on.set()
        await asyncio.gather(*running)

    asyncio.run(asyncio.wait_for(main(), 60))
    assert len(door.stores) == 1 and "MainThread" not in door.threads
    assert door.stores[0].closed == ("request" not in name)


def test_a_cancelled_app_leaves_no_store_open(app: Any, door: Door) -> None:
    name, call = app

    async def main() -> None:
        running = asyncio.ensure_future(call())
        await reaches(door.waiting)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        door.go_on.set()
        await reaches(door.opened)
        while not door.stores[0].closed and "request" not in name:  # that of a first request is the app's
            await asyncio.sleep(0.005)

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("call", ["serve", "async with"])
def test_a_server_that_does_not_answer(call: str) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        url = f"postgresql://u@127.0.0.1:{listening.getsockname()[1]}/x?connect_timeout=2"
        worker = Worker(url)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        async def main() -> None:
            ticking = asyncio.ensure_future(tick())
            with pytest.raises(rc.errors.StoreError):
                await CALLS[call](worker)
            ticking.cancel()

        asyncio.run(main())
    assert ticks > 10
