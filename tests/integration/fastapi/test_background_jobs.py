"""`BackgroundJobs` and the other dependencies of FastAPI: when jobs are enqueued, and the response if they cannot be."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from fastapi import Depends, FastAPI, HTTPException, WebSocket
from fastapi.responses import JSONResponse
from fastapi.testclient import TestClient
from pydantic import BaseModel
from starlette.types import Message, Receive, Scope, Send

import resonate_core as rc
from postgres_urls import plain, schema_of
from resonate_core.contrib.fastapi import BackgroundJobs, Resonate, ResonateDep, StoreDep, get_store
from resonate_core.worker import Worker

worker = Worker()


@worker.task("mail", max_retries=3)
def mail(to: str) -> str:
    return f"sent to {to}"


@worker.task("count", queue="numbers")
async def count(n: int) -> int:
    return n


class Signup(BaseModel):
    name: str


@worker.task("welcome")
def welcome(signup: Signup) -> str:
    return f"welcome {signup.name}"


def app_of(store: Any, **options: Any) -> FastAPI:
    """An app with an endpoint for each case."""
    app = FastAPI(lifespan=Resonate(store, worker=worker, **{"run_worker": False, **options}).lifespan)

    @app.post("/two")
    async def two(background: BackgroundJobs) -> list[str]:
        return [background.add_task(mail, "ada", id="mail-1"), background.add_task(count, 7, process_in=60_000)]

    @app.post("/sync")
    def sync(background: BackgroundJobs) -> str:
        return background.add_task(mail, "ada")

    @app.post("/refused")
    async def refused(background: BackgroundJobs) -> None:
        background.add_task(mail, "ada", id="mail-1")
        raise HTTPException(409, "sold out")

    @app.post("/raises")
    async def raises(background: BackgroundJobs) -> None:
        background.add_task(mail, "ada", id="mail-1")
        raise ZeroDivisionError

    @app.post("/taken")
    async def taken(background: BackgroundJobs) -> str:
        background.add_task(mail, "bob", id="mail-2")
        background.add_task(mail, "ada", id="taken")
        return "not sent"

    @app.post("/graph")
    async def graph(background: BackgroundJobs, after: str = "mail") -> list[str]:
        before = background.add_task(mail, "bob", id="before")
        graph = background.graph("g")
        return [graph.add("count", count.using(queue="default").node(2), after=after), graph.add("mail", mail, "ada", after=before)]

    @app.post("/after")
    async def after(background: BackgroundJobs) -> str:
        return background.add_task(mail, "eve", id="last", after=background.add_task(mail, "ada"), after_failed="run")

    @app.post("/plain")
    async def plain_function(background: BackgroundJobs) -> None:
        background.add_task(print, "ada")  # type: ignore[arg-type]

    @app.post("/option")
    async def unknown_option(background: BackgroundJobs) -> None:
        background.add_task(mail, "ada", prioritee=3)

    return app


@pytest.fixture
def store() -> Iterator[rc.Store]:
    with rc.Store(clock=rc.ManualClock()) as made:
        yield made


def test_the_jobs_are_in_the_store_before_the_client_has_its_response(store: rc.Store) -> None:
    seen: list[int] = []
    app = app_of(store)

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen.append(len(list(store.jobs.search())))
            await send(message)

        await app(scope, receive, sending)

    with TestClient(watched) as client:
        answer = client.post("/two")
    assert answer.status_code == 200
    assert seen == [2]
    first, second = answer.json()
    assert first == "mail-1"
    jobs = {job.id: job for job in store.jobs.search()}
    assert set(jobs) == {first, second}
    assert (jobs[first].type, jobs[first].payload.json(), jobs[first].max_retries) == ("mail", "ada", 3)
    assert (jobs[second].queue, jobs[second].state) == ("numbers", "scheduled")


def test_a_synchronous_endpoint_adds_jobs_too(store: rc.Store) -> None:
    with TestClient(app_of(store)) as client:
        ids = [client.post("/sync").json() for _ in range(3)]
        assert sorted(job.id for job in store.jobs.search()) == sorted(ids)
        assert [run.result for run in worker.run_until_idle()] == ["sent to ada"] * 3


def test_jobs_of_one_request_wait_for_each_other(store: rc.Store) -> None:
    with TestClient(app_of(store)) as client:
        assert client.post("/graph").json() == ["g:count", "g:mail"]
        assert client.post("/after").json() == "last"
        assert {job.id: job.after for job in store.jobs.search() if job.state == "waiting"} == {
            "g:count": ("g:mail",),
            "g:mail": ("before",),
            "last": store.jobs.get("last").after,
        }
        assert store.jobs.get("last").after_failed == "run"
        ran = [run.id for run in worker.run_until_idle()]
    assert ran.index("before") < ran.index("g:mail") < ran.index("g:count")
    assert store.jobs.get("g:mail").state == store.jobs.get("last").state == "completed"


def test_a_refused_node_refuses_all_jobs_of_the_request(store: rc.Store) -> None:
    with TestClient(app_of(store)) as client, pytest.raises(rc.Unprocessable) as raised:
        client.post("/graph", params={"after": "nothing"})
    assert str(raised.value).startswith("no background job was enqueued: node 'count' of graph 'g': awaited promise")
    assert list(store.jobs.search()) == []


@pytest.mark.parametrize(("path", "status"), [("/refused", 409), ("/raises", 500), ("/plain", 500), ("/option", 500)])
def test_an_endpoint_that_raises_enqueues_nothing(store: rc.Store, path: str, status: int) -> None:
    with TestClient(app_of(store), raise_server_exceptions=False) as client:
        assert client.post(path).status_code == status
    assert list(store.jobs.search()) == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/plain", r"task must be a function of a worker \(@worker.task\), got <built-in function print>; Starlette's"),
        ("/option", "a job has no option prioritee"),
    ],
)
def test_what_is_no_job_is_refused_in_the_endpoint(store: rc.Store, path: str, words: str) -> None:
    with TestClient(app_of(store)) as client, pytest.raises(TypeError, match=words):
        client.post(path)


def test_all_or_none_are_enqueued_and_the_client_hears_it(store: rc.Store) -> None:
    store.jobs.enqueue("other", id="taken")
    with TestClient(app_of(store), raise_server_exceptions=False) as client:
        assert client.post("/taken").status_code == 500
    assert [job.id for job in store.jobs.search()] == ["taken"]

    app = app_of(store)

    @app.exception_handler(rc.Conflict)
    async def conflict(request: Any, error: Exception) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 409)

    with TestClient(app) as client:
        answer = client.post("/taken")
    assert answer.status_code == 409
    assert answer.json()["error"].startswith('no background job was enqueued: job "taken" exists')


def test_a_store_that_fails_is_heard_by_the_client(store: rc.Store) -> None:
    with TestClient(app_of(store), raise_server_exceptions=False) as client:
        store.close()
        assert client.post("/two").status_code == 500


def test_the_store_and_its_holder_are_dependencies_of_requests_and_web_sockets(store: rc.Store) -> None:
    app = app_of(store)
    other = rc.Store(clock=rc.ManualClock())

    @app.get("/now")
    def now(store: StoreDep, resonate: ResonateDep) -> list[Any]:
        return [store.now, resonate.store.now]

    @app.websocket("/socket")
    async def socket(socket: WebSocket, store: StoreDep) -> None:
        await socket.accept()
        await socket.send_json(store.now)
        await socket.close()

    store.clock.advance(5)  # type: ignore[attr-defined]
    with TestClient(app) as client:
        assert client.get("/now").json() == [5, 5]
        with client.websocket_connect("/socket") as connected:
            assert connected.receive_json() == 5
        app.dependency_overrides[get_store] = lambda: other
        assert client.get("/now").json() == [0, 5]


def test_a_dependency_of_the_user_may_add_jobs(store: rc.Store) -> None:
    app = app_of(store)

    async def audit(background: BackgroundJobs) -> None:
        background.add_task(mail, "audit", id="audit")

    @app.post("/audited", dependencies=[Depends(audit)])
    async def audited(background: BackgroundJobs) -> None:
        background.add_task(mail, "ada", id="mail")

    with TestClient(app) as client:
        assert client.post("/audited").status_code == 200
    assert sorted(job.id for job in store.jobs.search()) == ["audit", "mail"]


# -- in the transaction of the application ------------------------------------------------------------------------------------


@pytest.mark.parametrize("commits", [True, False])
def test_a_job_is_submitted_in_a_transaction_of_a_file(tmp_path: Path, commits: bool) -> None:
    place = tmp_path / "shop.db"
    app = app_of(place)

    @app.post("/orders")
    def order(background: BackgroundJobs) -> None:
        connection = sqlite3.connect(place)
        try:
            connection.execute("CREATE TABLE IF NOT EXISTS orders (id TEXT)")
            connection.execute("INSERT INTO orders VALUES ('7')")
            asyncio.run(background.submit(connection, mail, "ada", id="mail-7"))
            if commits:
                connection.commit()
            else:
                connection.rollback()
        finally:
            connection.close()

    check_order(app, commits)
    with rc.Store(place) as store, sqlite3.connect(place) as connection:
        store.tick()
        assert [job.id for job in store.jobs.search()] == ["mail-7"] * commits
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (int(commits),)
    connection.close()


@pytest.mark.parametrize("commits", [True, False])
def test_a_job_is_submitted_in_a_transaction_of_a_database(postgres_url: str, commits: bool) -> None:
    app = app_of(postgres_url)

    @app.post("/orders")
    async def order(background: BackgroundJobs, resonate: ResonateDep) -> None:
        assert resonate.schema == schema_of(postgres_url) != "resonate"
        connection = await asyncpg.connect(plain(postgres_url))
        transaction = connection.transaction()
        await transaction.start()
        await background.submit(connection, mail, "ada", id="mail-7")
        await (transaction.commit() if commits else transaction.rollback())
        await connection.close()

    check_order(app, commits)
    with rc.Store(postgres_url) as store:
        store.tick()
        assert [job.id for job in store.jobs.search()] == ["mail-7"] * commits


def check_order(app: FastAPI, commits: bool) -> None:
    """Places an order; the job of one that was committed is in the store without another request."""
    with TestClient(app) as client:
        assert client.post("/orders").status_code == 200
    # The end of the lifespan has waited for the tick of the request.
    if commits:
        assert [run.id for run in _reopened(app)] == ["mail-7"]


def _reopened(app: FastAPI) -> Any:
    with TestClient(app):
        return worker.run_until_idle()


def test_a_payload_is_converted_and_checked_as_by_enqueue() -> None:
    store = rc.Store(clock=rc.ManualClock())
    app = app_of(store)

    @app.post("/signup")
    async def signup(new: Signup, background: BackgroundJobs) -> str:
        return background.add_task(welcome, new, id="welcome-1")

    @app.post("/wrong")
    async def wrong(background: BackgroundJobs) -> None:
        background.add_task(welcome, {"title": "ann"}, id="welcome-2")

    with TestClient(app) as client:
        assert client.post("/signup", json={"name": "ann"}).status_code == 200
        with pytest.raises(rc.Invalid, match="payload of a job of type 'welcome'"):
            client.post("/wrong")
        assert [run.result for run in worker.run_until_idle()] == ["welcome ann"]
    assert [job.id for job in store.jobs.search()] == ["welcome-1"]
