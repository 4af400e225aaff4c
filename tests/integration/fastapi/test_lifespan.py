"""`Resonate`: it opens and closes with an app, composes with other lifespans, and reports the failure of each of its parts."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

import resonate_core as rc
from awaiting import until
from resonate_core.asgi import AuthSettings, ServerSettings
from resonate_core.contrib.starlette import Resonate, combine_lifespans, resonate_of
from resonate_core.worker import Worker
from resonate_core.worker.environment import Environment, commit_wakeup

PATIENCE = 60.0


def show(request: Request) -> JSONResponse:
    store = resonate_of(request).store
    return JSONResponse({"promises": [promise.id for promise in store.promises.search()]})


# -- the store --------------------------------------------------------------------------------------------------------------


def test_a_place_is_opened_at_the_start_and_closed_at_the_end(home: Any) -> None:
    place = home.new_place()
    with home.open(place) as store:
        store.promises.create("a", timeout=60_000)
    resonate = Resonate(place)
    with pytest.raises(RuntimeError, match="is open only while the app runs"):
        _ = resonate.store
    app = Starlette(routes=[Route("/", show)], lifespan=resonate.lifespan)
    stores = []
    for _ in range(2):  # a test client or a server may start the app again
        with TestClient(app) as client:
            stores.append(resonate.store)
            assert client.get("/").json() == {"promises": ["a"]}
        assert stores[-1].closed
    assert stores[0] is not stores[1]


def test_the_import_of_an_app_opens_nothing(tmp_path: Path) -> None:
    resonate = Resonate(tmp_path / "shop.db", worker=Worker())
    resonate.mount(Starlette(lifespan=resonate.lifespan))
    assert not (tmp_path / "shop.db").exists()


def test_a_store_of_the_caller_stays_open() -> None:
    with rc.Store() as store:
        with TestClient(Starlette(lifespan=Resonate(store).lifespan)):
            pass
        assert not store.closed


def test_a_store_that_cannot_be_opened_stops_the_start(tmp_path: Path) -> None:
    resonate = Resonate(tmp_path / "none" / "shop.db")
    with pytest.raises(rc.StoreError, match=r"the folder .* does not exist"), TestClient(Starlette(lifespan=resonate.lifespan)):
        raise AssertionError("it must not start")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"store": None}, "store must be a Store, the path of one or the URL of a database, got NoneType"),
        ({"store": "shop.db", "worker": print}, "worker must be a resonate_core.worker.Worker or None, got builtin"),
    ],
)
def test_what_is_none_of_these_is_refused_at_once(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Resonate(**arguments)


# -- composition ------------------------------------------------------------------------------------------------------------


def lifespan_of(name: str, events: list[str], key: str | None = None) -> Any:
    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[dict[str, str] | None]:
        events.append(f"{name} begins")
        yield None if key is None else {key: name}
        events.append(f"{name} ends")

    return lifespan


def test_lifespans_are_entered_in_order_and_left_in_the_opposite_one() -> None:
    events: list[str] = []
    seen: dict[str, Any] = {}

    def page(request: Request) -> JSONResponse:
        seen.update(first=request.state.first, resonate=request.state.resonate)
        return JSONResponse({})

    resonate = Resonate(rc.Store())
    lifespans = combine_lifespans(lifespan_of("a", events, "first"), resonate.lifespan, lifespan_of("b", events))
    with TestClient(Starlette(routes=[Route("/", page)], lifespan=lifespans)) as client:
        client.get("/")
        assert events == ["a begins", "b begins"]
    assert events == ["a begins", "b begins", "b ends", "a ends"]
    assert seen == {"first": "a", "resonate": resonate}


def test_two_lifespans_with_one_key_are_refused_and_left() -> None:
    events: list[str] = []
    lifespans = combine_lifespans(lifespan_of("a", events, "pool"), lifespan_of("b", events, "pool"))
    with pytest.raises(RuntimeError, match="must yield different keys, got pool twice"), TestClient(Starlette(lifespan=lifespans)):
        raise AssertionError("it must not start")
    assert events == ["a begins", "b begins"]  # a generator that is thrown into does not reach its end


@pytest.mark.parametrize("passes_state_on", [True, False])
def test_it_is_found_inside_the_lifespan_of_the_user(passes_state_on: bool) -> None:
    resonate = Resonate(rc.Store())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        async with resonate.lifespan(app) as state:
            resonate.store.promises.create("a", timeout=60_000)
            yield {**state, "more": 1} if passes_state_on else {"more": 1}

    inner = Starlette(routes=[Route("/", show)])
    app = Starlette(routes=[Route("/", show), Mount("/inner", inner)], lifespan=lifespan)
    with TestClient(app) as client:
        assert client.get("/").json() == {"promises": ["a"]}
        if passes_state_on:  # a mounted app has the state of the request, and another app.state
            assert client.get("/inner/").json() == {"promises": ["a"]}


def test_an_app_without_it_says_what_is_missing() -> None:
    with (
        TestClient(Starlette(routes=[Route("/", show)])) as client,
        pytest.raises(RuntimeError, match=r"pass resonate\.lifespan to"),
    ):
        client.get("/")


def test_one_object_serves_one_app() -> None:
    resonate = Resonate(rc.Store())

    async def twice() -> None:
        async with resonate.lifespan(), resonate.lifespan():
            raise AssertionError("it must not start")

    with pytest.raises(RuntimeError, match="runs already: make one for each app"):
        asyncio.run(twice())
    asyncio.run(asyncio.wait_for(_enter(resonate), PATIENCE))


async def _enter(resonate: Resonate) -> None:
    async with resonate.lifespan():
        pass


# -- the worker -------------------------------------------------------------------------------------------------------------


def test_asynchronous_functions_run_in_the_loop_of_the_app_and_others_in_threads(home: Any) -> None:
    worker = Worker()
    seen: dict[str, Any] = {}

    @worker.task("async")
    async def in_loop() -> None:
        seen["loop"] = asyncio.get_running_loop()

    @worker.task("sync")
    def in_thread() -> None:
        seen["thread"] = threading.current_thread()

    async def main() -> None:
        resonate = Resonate(home.new_place(), worker=worker)
        async with resonate.lifespan():
            assert resonate.worker_runs
            await in_loop.enqueue_async()
            await in_thread.enqueue_async()
            await until(lambda: len(seen) == 2)
            assert seen["loop"] is asyncio.get_running_loop()
            assert seen["thread"] is not threading.current_thread()
        assert not resonate.worker_runs

    asyncio.run(main())


def test_a_worker_that_runs_elsewhere_is_only_bound() -> None:
    worker = Worker()
    greet = worker.task("greet")(lambda name: f"hello, {name}")
    store = rc.Store(clock=rc.ManualClock())

    async def main() -> None:
        resonate = Resonate(store, worker=worker, run_worker=False)
        async with resonate.lifespan():
            assert not resonate.worker_runs
            await greet.enqueue_async("ada", id="a")
            assert await resonate.problems() == []

    asyncio.run(main())
    assert store.jobs.get("a").state == "pending"
    assert [run.result for run in worker.run_until_idle()] == ["hello, ada"]


def test_a_stop_lets_jobs_end_within_the_grace_and_puts_back_the_others() -> None:
    store = rc.Store()
    worker = Worker(grace=1000)
    go = asyncio.Event()
    count = 0

    @worker.task("short")
    async def short() -> str:
        nonlocal count
        count += 1
        await go.wait()
        return "done"

    @worker.task("long")
    async def long() -> None:
        nonlocal count
        count += 1
        await asyncio.Event().wait()

    async def main() -> None:
        async with Resonate(store, worker=worker).lifespan():
            short.enqueue(id="short")
            long.enqueue(id="long")
            await until(lambda: count == 2)
            asyncio.get_running_loop().call_later(0.02, go.set)

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert (store.jobs.get("short").state, store.jobs.get("long").state) == ("completed", "pending")
    assert store.jobs.get("long").retry_count == 0


class Crash(Exception):
    """Stands for a defect in the worker."""


def crashing_worker(crashes: Callable[[], bool]) -> Worker:
    """A worker whose loop ends with an error at its next claim once a condition holds."""

    class Failing:
        def __init__(self, wakeup: Any) -> None:
            self._wakeup = wakeup

        def __enter__(self) -> object:
            return self._wakeup.__enter__()

        def __exit__(self, *raised: object) -> None:
            self._wakeup.__exit__(*raised)

        def rearm(self, until: int | None) -> None:
            if crashes():
                raise Crash("a defect")
            self._wakeup.rearm(until)

    return Worker(environment=Environment(wakeup=lambda *arguments: Failing(commit_wakeup(*arguments))))


def test_a_crash_of_the_worker_is_logged_makes_the_app_not_ready_and_is_raised(caplog: pytest.LogCaptureFixture) -> None:
    crashes = threading.Event()
    worker = crashing_worker(crashes.is_set)
    worker.task("any")(lambda: None)
    resonate = Resonate(rc.Store(), worker=worker)
    app = Starlette(routes=[Route("/ready", resonate.ready)], lifespan=resonate.lifespan)

    async def main() -> None:
        transport = httpx.ASGITransport(app)
        async with resonate.lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
            answer = await client.get("/ready")
            assert (answer.status_code, answer.json()) == (200, {"ready": True, "problems": []})
            crashes.set()
            resonate.store.jobs.enqueue("any")
            await until(lambda: not resonate.worker_runs)
            answer = await client.get("/ready")
            assert answer.status_code == 503
            assert answer.json() == {"ready": False, "problems": ["the worker has ended; the app's log says why"]}

    with caplog.at_level(logging.CRITICAL, "resonate_core.contrib"), pytest.raises(Crash):
        asyncio.run(main())
    (record,) = [record for record in caplog.records if record.name == "resonate_core.contrib"]
    assert record.levelno == logging.CRITICAL
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], Crash)


def test_a_worker_that_was_stopped_by_a_job_is_not_ready_either() -> None:
    worker = Worker()
    resonate = Resonate(rc.Store(), worker=worker)
    last = worker.task("last")(lambda: worker.stop())

    async def main() -> None:
        async with resonate.lifespan():
            last.enqueue()
            await until(lambda: not resonate.worker_runs)
            assert await resonate.problems() == ["the worker has ended; the app's log says why"]

    asyncio.run(main())


def test_a_worker_that_runs_already_stops_the_start(tmp_path: Path) -> None:
    worker = Worker(rc.Store())
    resonate = Resonate(tmp_path / "shop.db", worker=worker)
    with worker, pytest.raises(rc.Invalid, match="runs already"), TestClient(Starlette(lifespan=resonate.lifespan)):
        raise AssertionError("it must not start")
    with pytest.raises(RuntimeError, match="open only while"):
        _ = resonate.store  # it was closed again


def test_a_store_that_fails_makes_the_app_not_ready() -> None:
    store = rc.Store()
    resonate = Resonate(store)
    app = Starlette(routes=[Route("/ready", resonate.ready)], lifespan=resonate.lifespan)
    with TestClient(app) as client:
        assert client.get("/ready").status_code == 200
        store.close()
        answer = client.get("/ready")
    assert answer.status_code == 503
    assert answer.json()["problems"] == ["the store does not answer; the app's log says why"]
    assert asyncio.run(resonate.problems()) == ["the app has not started, or has stopped"]


# -- submitted requests -----------------------------------------------------------------------------------------------------


def test_a_submitted_request_runs_soon(tmp_path: Path) -> None:
    """The worker polls once an hour, so a tick runs the request."""
    place = tmp_path / "shop.db"
    worker = Worker(poll_interval=3_600_000)
    ran: list[str] = []
    note = worker.task("note")(ran.append)

    async def main() -> None:
        resonate = Resonate(place, worker=worker)
        async with resonate.lifespan():
            connection = sqlite3.connect(place)
            with connection:
                note.submit(connection, "order-1")
            connection.close()
            resonate.tick_soon()
            resonate.tick_soon()  # joins the first
            await until(lambda: ran == ["order-1"])

    asyncio.run(main())


# -- the mounted server -----------------------------------------------------------------------------------------------------


def test_the_mounted_server_and_the_app_share_the_store(home: Any) -> None:
    resonate = Resonate(home.new_place())
    app = Starlette(routes=[Route("/", show)], lifespan=resonate.lifespan)
    resonate.mount(app, "/resonate", server=ServerSettings(url="http://shop/resonate"))
    head = {"corrId": "1", "version": "2026-04-01"}
    with TestClient(app) as client:
        data = {"id": "a", "timeoutAt": 4_000_000_000_000}
        assert client.post("/resonate/", json={"kind": "promise.create", "head": head, "data": data}).status_code == 200
        assert client.get("/").json() == {"promises": ["a"]}
        assert client.get("/resonate/ready").json() == {"ready": True, "problems": []}
        with pytest.raises(RuntimeError, match="mount must be called before the app starts"):
            resonate.mount(app, "/second")
    with pytest.raises(RuntimeError, match="runs only during the lifespan"):
        TestClient(app).get("/resonate/ready")


def test_a_mount_with_a_wrong_option_is_refused_at_once() -> None:
    resonate = Resonate("shop.db")
    app = Starlette()
    with pytest.raises(ValueError, match="algorithm"):
        resonate.mount(app, auth=AuthSettings(secret="x" * 40, algorithms=["RS256"]))
    assert app.routes == []
