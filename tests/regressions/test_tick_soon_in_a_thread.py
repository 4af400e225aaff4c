"""`tick_soon`, as docs/web.md prints it, raised in a ``def`` endpoint, which runs in a thread: 500 for a request that had committed."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import Worker

pytest.importorskip("starlette")
pytest.importorskip("fastapi")

from fastapi import FastAPI
from fastapi.testclient import TestClient

from resonate_core.contrib.fastapi import BackgroundJobs, Resonate, ResonateDep

LOGGER = "resonate_core.contrib"


def enqueued(store: rc.Store[Any], type: str) -> bool:
    """Whether the submitted job is in the store. A search runs no submitted request."""
    return len(store.jobs.search(type=type)) == 1


async def until(happened: Callable[[], Any]) -> None:
    while not happened():
        await asyncio.sleep(0.01)


def app_of(place: Path) -> tuple[FastAPI, threading.Event]:
    """An app whose worker runs elsewhere, and an event that the function of its only job sets."""
    ran = threading.Event()
    worker = Worker(poll_interval=3_600_000)  # so that no claim runs the request first

    @worker.task("note")
    def note(text: str) -> None:
        ran.set()

    app = FastAPI(lifespan=Resonate(place, worker=worker).lifespan)

    def commit() -> None:
        connection = sqlite3.connect(place)
        with connection:
            note.submit(connection, "order-1", id="note-1")
        connection.close()

    @app.post("/def")
    def of_a_thread(resonate: ResonateDep) -> dict[str, bool]:
        commit()
        resonate.tick_soon()
        return {"ok": True}

    @app.post("/async")
    async def of_the_loop(resonate: ResonateDep) -> dict[str, bool]:
        commit()
        resonate.tick_soon()
        return {"ok": True}

    @app.post("/background")
    async def of_a_dependency(background: BackgroundJobs) -> None:
        connection = sqlite3.connect(place)
        with connection:
            await background.submit(connection, note, "order-1", id="note-1")
        connection.close()
        raise ValueError("after the commit")

    return app, ran


@pytest.mark.parametrize(("endpoint", "status"), [("def", 200), ("async", 200), ("background", 500)])
def test_an_endpoint_of_any_kind_runs_what_it_submitted(tmp_path: Path, endpoint: str, status: int):
    app, ran = app_of(tmp_path / "shop.db")
    with TestClient(app, raise_server_exceptions=False) as client:
        assert client.post(f"/{endpoint}").status_code == status
        assert ran.wait(60)


@pytest.mark.parametrize("when", ["before the app runs", "after the app ran", "after its loop was closed"])
def test_it_never_raises(caplog: pytest.LogCaptureFixture, when: str):
    resonate = Resonate(rc.Store())

    async def main() -> None:
        async with resonate.lifespan():
            pass

    if when != "before the app runs":
        asyncio.run(main())
    if when == "after its loop was closed":
        resonate._loop = asyncio.new_event_loop()
        resonate._loop.close()
    with caplog.at_level(logging.WARNING, logger=LOGGER):
        resonate.tick_soon()
    (record,) = [record for record in caplog.records if record.name == LOGGER]
    assert record.getMessage().startswith("the submitted requests run with the next transaction of the store: ")


def test_a_store_that_fails_is_logged(caplog: pytest.LogCaptureFixture):
    store = rc.Store()

    async def main() -> None:
        resonate = Resonate(store)
        async with resonate.lifespan():
            store.close()
            await asyncio.to_thread(resonate.tick_soon)
            await until(lambda: any(record.name == LOGGER for record in caplog.records))

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_commit_during_a_tick_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A tick that has begun may have read the requests before that commit."""
    place = tmp_path / "shop.db"
    begun, go_on, ticks = threading.Event(), threading.Event(), []

    async def main() -> None:
        resonate = Resonate(place)
        async with resonate.lifespan():
            tick = resonate.store.tick

            def slow_tick() -> Any:
                ticks.append(tick())
                begun.set()
                assert go_on.wait(60)
                return ticks[-1]

            monkeypatch.setattr(resonate, "_store", Slow(resonate.store, slow_tick))
            resonate.tick_soon()
            assert await asyncio.to_thread(begun.wait, 60)
            connection = sqlite3.connect(place)
            with connection:
                rc.submit(connection, "job.enqueue", {"type": "note", "queue": "default", "id": "note-1"})
            connection.close()
            await asyncio.to_thread(resonate.tick_soon)
            await asyncio.sleep(0)
            go_on.set()
            await until(lambda: enqueued(resonate.store, "note"))

    asyncio.run(asyncio.wait_for(main(), 60))
    assert len(ticks) == 2


class Slow:
    """A store with another `tick`."""

    def __init__(self, store: Any, tick: Callable[[], Any]) -> None:
        self._store = store
        self.tick = tick

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
