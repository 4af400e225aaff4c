"""A server's stream wakes a worker: here the worker never polls, except in tests of polling."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from waiting import until

import resonate_core as rc
from backends import BackEnd
from free_ports import free_port
from homes import Home
from resonate_core.asgi import ResonateApp
from resonate_core.server.settings import Settings
from resonate_core.worker import Retry, Worker
from resonate_core.worker.url_client import UrlClient
from server.live_server import live, serving

HOUR = 3_600_000
SECRETS = ["s3cret-" * 10, "0ther--" * 10]


@pytest.fixture
def never_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the first polls too: a worker that finds nothing normally polls at short intervals at first."""
    monkeypatch.setattr("resonate_core.worker.claim_pace._FIRST_PAUSE", HOUR / 1000)
    monkeypatch.setattr("resonate_core.worker.url_watch._FIRST_PAUSE", 0.01)


@pytest.fixture
def live_store(back_end: BackEnd) -> Iterator[rc.Store]:
    """An empty store on the system clock, in each storage."""
    with back_end.open() as opened:
        yield opened


@contextlib.contextmanager
def working(url: str, queues: Any = "default", **options: Any) -> Iterator[tuple[Worker, list[Any]]]:
    """A running worker, and the payloads of its jobs."""
    ran: list[Any] = []
    worker = Worker(url, queues=queues, **{"poll_interval": HOUR, **options})

    @worker.task("t", retention="kept", max_retries=2)
    def body(n):
        ran.append(n)
        if n == "again" and ran.count(n) == 1:
            raise Retry(after=100)
        return n

    try:
        with worker:
            yield worker, ran
    finally:
        worker.close()


def url_of(server: Any) -> str:
    return f"http://127.0.0.1:{server.port}"


def test_jobs_one_after_the_other(live_store: rc.Store, never_polls: None):
    with serving(live_store) as server, working(url_of(server)) as (_, ran), rc.connect(url_of(server)) as client:
        for n in range(20):
            client.jobs.enqueue("t", {"n": n})
            until(lambda: len(ran) > n, ran)  # noqa: B023
    assert ran == list(range(20))


def test_a_delayed_job_a_retry_and_a_queue_that_is_resumed(live_store: rc.Store, never_polls: None):
    live_store.queues.set("default")
    with serving(live_store) as server, working(url_of(server)) as (_, ran):
        live_store.jobs.enqueue("t", {"n": "late"}, process_in=100)
        until(lambda: ran == ["late"], ran)
        live_store.jobs.enqueue("t", {"n": "again"})
        until(lambda: ran == ["late", "again", "again"], ran)
        live_store.queues.pause("default")
        live_store.jobs.enqueue("t", {"n": "paused"})
        assert len(ran) == 3
        live_store.queues.resume("default")
        until(lambda: ran[3:] == ["paused"], ran)


def test_several_queues_of_a_busy_worker(never_polls: None):
    """A wake-up while all slots are used is not lost."""
    with rc.Store() as store, serving(store) as server:
        worker = Worker(url_of(server), queues={"a": 2, "b": 1}, concurrency=1, poll_interval=HOUR)
        began, go_on = threading.Event(), threading.Event()

        @worker.task("t", retention="kept")
        def body():
            began.set()
            go_on.wait(60)

        with worker:
            jobs = [store.jobs.enqueue("t", queue="a", retention="kept")]
            assert began.wait(60)
            jobs += [store.jobs.enqueue("t", queue=queue, retention="kept") for queue in "bab"]
            go_on.set()
            until(lambda: worker.counts.completed == 4, worker.counts)
        worker.close()
        assert {store.jobs.get(job.id).state for job in jobs} == {"completed"}


def test_many_workers_and_few_jobs(never_polls: None):
    with rc.Store() as store, serving(store) as server, contextlib.ExitStack() as workers:
        lists = [workers.enter_context(working(url_of(server), concurrency=1))[1] for _ in range(8)]
        for n in range(40):
            store.jobs.enqueue("t", {"n": n}, retention="kept")
        until(lambda: sum(map(len, lists)) == 40, lists)
    assert sorted(n for ran in lists for n in ran) == list(range(40))


def test_another_process_enqueues(home: Home, never_polls: None):
    """Two servers share a store: the job is enqueued at one, and the worker is connected to the other."""
    place = home.new_place()
    with contextlib.ExitStack() as open:
        stores = [open.enter_context(home.open(place)) for _ in range(2)]
        here, there = [url_of(open.enter_context(serving(store))) for store in stores]
        _, ran = open.enter_context(working(there))
        client = open.enter_context(rc.connect(here))
        for n in range(5):
            client.jobs.enqueue("t", {"n": n})
            until(lambda: len(ran) > n, ran)  # noqa: B023


def test_streams_that_end_again_and_again(never_polls: None):
    with rc.Store() as store, serving(store, streams={"lifetime": 0.1}) as server, working(url_of(server)) as (_, ran):
        for n in range(10):
            store.jobs.enqueue("t", {"n": n})
            until(lambda: len(ran) > n, ran)  # noqa: B023


def serve(path: Path, port: int, secret: str) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-m", "resonate_core", "serve", "--db", str(path), "--port", str(port)]
    server = subprocess.Popen(
        arguments, env={**os.environ, "RESONATE_AUTH__SECRET": secret}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def answers() -> bool:
        assert server.poll() is None
        try:
            return httpx.get(f"http://127.0.0.1:{port}/health", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    until(answers)
    return server


def bearer(secret: str) -> str:
    return jwt.encode({"role": "admin", "exp": 2**40}, secret, "HS256")


def end(server: subprocess.Popen[bytes]) -> None:
    server.kill()
    server.wait()


def test_a_server_that_is_killed_and_comes_back(tmp_path: Path, never_polls: None):
    path, port = tmp_path / "jobs.db", free_port()
    server = serve(path, port, SECRETS[0])
    try:
        with working(f"http://127.0.0.1:{port}", token=bearer(SECRETS[0])) as (_, ran):
            for n in range(3):
                with rc.connect(f"http://127.0.0.1:{port}", token=bearer(SECRETS[0])) as client:
                    client.jobs.enqueue("t", {"n": n})
                until(lambda: len(ran) > n, ran)  # noqa: B023
                end(server)
                server = serve(path, port, SECRETS[0])
    finally:
        end(server)


def test_a_token_that_is_revoked(tmp_path: Path):
    """The worker ends with the server's error, as it does without a stream."""
    path, port = tmp_path / "jobs.db", free_port()
    server = serve(path, port, SECRETS[0])
    worker = Worker(f"http://127.0.0.1:{port}", token=bearer(SECRETS[0]), poll_interval=50)
    worker.task("t")(lambda n: n)
    ended: list[BaseException] = []

    def run() -> None:
        try:
            worker.run(signals=False)
        except rc.ResonateError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    try:
        worker.enqueue("t", {"n": 1})
        thread.start()
        until(lambda: worker.counts.completed == 1, worker.counts)
        end(server)
        server = serve(path, port, SECRETS[1])
        thread.join(60)
    finally:
        end(server)
        worker.stop()
        worker.close()
    assert [error.status for error in ended if isinstance(error, rc.ResonateError)] == [401]


class Proxy(ResonateApp):
    """A server whose streams of jobs behave like those of older servers, or like those behind bad proxies."""

    def __init__(self, store: rc.Store, mode: int | str) -> None:
        super().__init__(store, Settings())
        self.mode = mode
        self.asked = 0

    async def _job_stream(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        status = self.mode if isinstance(self.mode, int) else 200
        content_type = b"text/event-stream" if self.mode == "buffers" else b"text/html"
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", content_type)]})
        if self.mode == "buffers":  # it keeps what it should pass on
            while (await receive())["type"] != "http.disconnect":
                pass
        else:
            await send({"type": "http.response.body", "body": b"data: no\n\n"})


@pytest.mark.parametrize("mode", [401, 403, 404, 405, 410, 500, 501, 503, "page", "buffers"])
def test_a_server_without_a_stream_is_polled(mode: int | str):
    with rc.Store() as store:
        proxy = Proxy(store, mode)
        with live(proxy) as server, working(url_of(server), poll_interval=20) as (_, ran):
            until(lambda: proxy.asked)
            for n in range(3):
                store.jobs.enqueue("t", {"n": n})
                until(lambda: len(ran) > n, ran)  # noqa: B023
    assert proxy.asked <= 3, "it is not asked again and again"


# -- the contract of a watch ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        yield reader, writer
    finally:
        os.close(reader)
        os.close(writer)


def readable(reader: int, seconds: float = 60) -> bool:
    return bool(select.select([reader], [], [], seconds)[0])


def test_it_writes_once_until_it_is_armed_again():
    with rc.Store() as store, serving(store) as server, pipe() as (reader, writer):
        client = UrlClient(url_of(server))
        watch = client.watch(writer, "default")
        assert readable(reader), "it is open"
        store.jobs.enqueue("t")
        store.jobs.enqueue("t")
        assert not readable(reader, 0.3) or os.read(reader, 9) == b"!"
        watch.rearm(None)
        while readable(reader, 0.2):
            os.read(reader, 9)
            watch.rearm(None)
        store.jobs.enqueue("t")
        assert readable(reader)
        assert os.read(reader, 9) == b"!"
        watch.close()
        client.close()


def test_nothing_is_written_once_it_is_closed():
    with rc.Store() as store, serving(store) as server, pipe() as (reader, writer):
        watch = UrlClient(url_of(server)).watch(writer, "default")
        assert readable(reader)
        os.read(reader, 9)
        watch.rearm(None)
        watch.close()
        watch.close()
        assert watch.closed
        watch.rearm(None)
        store.jobs.enqueue("t")
        until(lambda: server.app._runtime.open_streams == 0)
        assert not readable(reader, 0)


def test_a_watch_of_no_server_is_closed_at_once():
    with pipe() as (reader, writer):
        watch = UrlClient("http://127.0.0.1:1").watch(writer, "default")
        watch.close()
        watch._thread.join(60)
        assert not watch._thread.is_alive()
        assert not readable(reader, 0)
