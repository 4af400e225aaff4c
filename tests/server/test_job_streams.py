"""Job streams: which queues they announce, to which workers, and how they end."""

from __future__ import annotations

import contextlib
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest

import resonate_core as rc
from backends import BackEnd
from homes import Home
from resonate_core.server.watched_queue import WatchedQueue
from server.live_server import serving
from server.raw_http import PATIENCE, Connection

SECRET = "s3cret-" * 10


class Reader(Connection):
    """One open stream of jobs."""

    def __init__(self, port: int, *queues: str, token: str | None = None, method: str = "GET") -> None:
        super().__init__(port)
        authorization = f"Authorization: Bearer {token}\r\n" if token else ""
        target = "/jobs/claimable?" + urlencode([("queue", queue) for queue in queues])
        self.send(f"{method} {target} HTTP/1.1\r\nHost: here\r\n{authorization}\r\n".encode())
        self.status, self.headers = self.head()
        if self.status == 200 and method == "GET":
            assert self.chunk() == b":\n\n"

    def queues(self) -> list[str]:
        """Returns the queues of the next event."""
        event = b":\n\n"
        while event == b":\n\n":
            event = self.chunk()
        assert event.startswith(b"data: ") and event.endswith(b"}\n\n") and b"\n" not in event[:-2], event
        message = json.loads(event[6:])
        assert (message["kind"], message["head"]) == ("claimable", {})
        found: list[str] = message["data"]["queues"]
        return found

    def hears_of(self, queue: str) -> set[str]:
        """Reads events until one names this queue; returns the queues of all of them. A queue that still has jobs may be named again."""
        heard: set[str] = set()
        while queue not in heard:
            heard.update(self.queues())
        return heard


@contextlib.contextmanager
def reading(port: int, *queues: str, **more: Any) -> Iterator[Reader]:
    reader = Reader(port, *queues, **more)
    try:
        yield reader
    finally:
        reader.close()


def until(what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.005)


@pytest.fixture
def live_store(back_end: BackEnd) -> Iterator[rc.Store]:
    """An empty store on the system clock, in each storage."""
    with back_end.open() as opened:
        yield opened


# -- what is announced --------------------------------------------------------------------------------------------------


def test_a_job_that_is_enqueued(live_store: rc.Store) -> None:
    with serving(live_store) as live, reading(live.port, "mail", "default") as reader:
        assert reader.headers["content-type"] == "text/event-stream"
        live_store.jobs.enqueue("t", queue="elsewhere")
        live_store.jobs.enqueue("t")
        assert reader.queues() == ["default"]
        live_store.jobs.enqueue("t", queue="mail")
        assert reader.hears_of("mail") <= {"mail", "default"}


def test_a_job_whose_time_comes(live_store: rc.Store) -> None:
    with serving(live_store) as live, reading(live.port, "default") as reader:
        live_store.jobs.enqueue("t", process_in=100)
        assert reader.queues() == ["default"]


def test_a_job_that_is_tried_again(live_store: rc.Store) -> None:
    live_store.jobs.enqueue("t", max_retries=1, retry_policy={"kind": "fixed", "intervals": [1000]})
    with serving(live_store) as live, reading(live.port, "default") as reader:
        assert reader.queues() == ["default"]
        (job,) = live_store.jobs.claim("default", worker="w", lease=60_000, start=1)
        live_store.jobs.fail(job.id, job.version, "Oops")
        state = "retry"
        while state == "retry":  # the stream may name the queue twice before the claim
            assert reader.queues() == ["default"]
            state = live_store.jobs.get(job.id).state
        assert state == "pending"


def test_a_job_whose_lease_expires(live_store: rc.Store) -> None:
    live_store.jobs.enqueue("t")
    with serving(live_store) as live, reading(live.port, "default") as reader:
        assert reader.queues() == ["default"]
        live_store.jobs.claim("default", worker="w", lease=50)
        assert reader.queues() == ["default"]


def test_a_job_of_a_schedule(live_store: rc.Store) -> None:
    with serving(live_store) as live, reading(live.port, "default") as reader:
        live_store.schedules.create(
            "s", cron="* * * * * *", promise_id="s.{{.timestamp}}", promise_timeout=60_000, job={"type": "t"}
        )
        assert reader.queues() == ["default"]


def test_a_queue_that_is_resumed(live_store: rc.Store) -> None:
    live_store.queues.set("default")
    live_store.queues.pause("default")
    with serving(live_store) as live, reading(live.port, "default", "mail") as reader:
        live_store.jobs.enqueue("t")
        live_store.jobs.enqueue("t", queue="mail")
        assert reader.queues() == ["mail"]  # not of the one that is paused
        live_store.queues.resume("default")
        assert reader.hears_of("default") <= {"default", "mail"}


def test_a_slot_of_a_limited_queue(live_store: rc.Store) -> None:
    live_store.queues.set("default", concurrency=1)
    live_store.jobs.enqueue_many("t", [1, 2])
    (job,) = live_store.jobs.claim("default", 2, worker="w", lease=60_000, start=1)
    with serving(live_store) as live, reading(live.port, "default") as reader:
        assert reader.queues() == ["default"]  # a job is pending
        live_store.jobs.complete(job.id, job.version)
        assert reader.queues() == ["default"]


def test_a_commit_of_another_store(home: Home) -> None:
    """A stream announces it on a file as well as on a database."""
    place = home.new_place()
    with home.open(place) as served, home.open(place) as other, serving(served) as live, reading(live.port, "default") as reader:
        (job,) = other.jobs.enqueue_many("t", [1])
        assert reader.queues() == ["default"]
        other.queues.pause("default")
        other.jobs.delete(job.id)
        other.jobs.enqueue("t")
        other.queues.resume("default")
        assert reader.queues() == ["default"]


# -- to whom --------------------------------------------------------------------------------------------------------------


def test_one_worker_for_each_job() -> None:
    """If the woken worker claims the job, the others are not woken; if it does not, they are woken in portions."""
    queue: WatchedQueue[str] = WatchedQueue()
    queue.streams.update(dict.fromkeys("abcdefgh"))

    def look(pending: int, committed: bool = False, **more: Any) -> str:
        return "".join(queue.take({"paused": False, "counts": {"pending": pending}, **more}, committed))

    assert look(0) == ""
    assert look(1, committed=True) == "a"
    assert look(0) == ""
    assert look(1, committed=True) == "b", "each in turn"
    assert [look(1), look(1), look(1), look(1)] == ["cd", "efgh", "a", ""]
    assert [look(1, committed=True), look(1), look(1)] == ["b", "cd", "efgh"], "it may have been claimed and given back"
    assert [look(1), look(1)] == ["a", ""]
    assert look(3, committed=True) == "bcd"
    assert look(2) == "efgha", "fewer are left, and nobody new came: further ones are woken"
    assert look(9, committed=True) == "bcdefgha"
    assert look(9, paused=True) == ""
    assert look(9) == "bcdefgha", "it is resumed"


@pytest.mark.parametrize("seed", range(20))
def test_nobody_is_forgotten(seed: int) -> None:
    """While a job is left, every worker is woken in the end."""
    dice = random.Random(seed)
    queue: WatchedQueue[int] = WatchedQueue()
    queue.streams.update(dict.fromkeys(range(dice.randint(1, 50))))
    for _ in range(20):
        queue.take({"paused": False, "counts": {"pending": dice.randint(0, 5)}}, dice.random() < 0.5)
    for gone in dice.sample(list(queue.streams), len(queue.streams) // 2):
        queue.remove(gone)
    woken = set(queue.take({"paused": False, "counts": {"pending": 6}}, True))
    for _ in range(10):
        woken.update(queue.take({"paused": False, "counts": {"pending": 6}}, False))
    assert woken == set(queue.streams)


def token(**claims: Any) -> str:
    return jwt.encode({"exp": 2**40, **claims}, SECRET, "HS256")


def test_a_restricted_token_hears_of_its_own_queues_alone() -> None:
    with rc.Store() as store, serving(store, auth={"secret": SECRET}) as live:
        restricted = token(prefix="shop.")
        with reading(live.port, "shop.mail", "default", token=restricted) as reader:
            assert reader.status == 200
            store.jobs.enqueue("t", id="bank.1")
            store.jobs.enqueue("t", id="bank.2")
            store.jobs.enqueue("t", id="shop.1", queue="shop.mail")
            assert reader.queues() == ["shop.mail"]
        for queues, bearer, status in (
            (["default"], restricted, 403),
            (["shop.mail", "bank.mail"], restricted, 403),
            (["shop.mail"], token(), 403),
            (["shop.mail"], None, 401),
            (["shop.mail"], "no token", 401),
            (["default", "bank.mail"], token(role="admin"), 200),
        ):
            with reading(live.port, *queues, token=bearer) as reader:
                assert reader.status == status, (queues, bearer)


@pytest.mark.parametrize("queues", [[], [""], [f"q{n}" for n in range(1001)]])
def test_how_many_queues(queues: list[str]) -> None:
    with rc.Store() as store, serving(store) as live, reading(live.port, *queues) as reader:
        assert reader.status == 400
        assert b"with 1 to 1000 queues, got" in reader.exactly(int(reader.headers["content-length"]))


def test_methods() -> None:
    with rc.Store() as store, serving(store) as live:
        with reading(live.port, "default", method="POST") as reader:
            assert (reader.status, reader.headers["allow"]) == (405, "GET, HEAD")
        with reading(live.port, "default", method="HEAD") as reader:
            assert (reader.status, reader.headers["content-type"]) == (200, "text/event-stream")


def test_a_page_of_another_origin() -> None:
    with rc.Store() as store, serving(store) as live:
        connection = Connection(live.port)
        connection.send(b"GET /jobs/claimable?queue=default HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n")
        assert connection.head()[0] == 403
        connection.close()


# -- how it ends ------------------------------------------------------------------------------------------------------------


def test_streams_of_both_kinds_share_a_limit() -> None:
    with rc.Store() as store, serving(store, limits={"streams": 2}) as live, contextlib.ExitStack() as readers:
        open = [readers.enter_context(reading(live.port, "default")) for _ in range(3)]
        assert [reader.status for reader in open] == [200, 200, 503]
        assert open[2].headers["retry-after"] == "1"
        poll = Connection(live.port)
        poll.send(b"GET /poll/g/i HTTP/1.1\r\nHost: here\r\n\r\n")
        assert poll.head()[0] == 503
        poll.close()
        open[0].close()
        until(lambda: live.app._runtime.open_streams == 1)
        assert readers.enter_context(reading(live.port, "default")).status == 200


def test_comments_keep_it_and_its_lifetime_ends_it() -> None:
    with rc.Store() as store, serving(store, streams={"keepalive": 0.05, "lifetime": 0.5}) as live:
        with reading(live.port, "default") as reader:
            events = list(iter(reader.chunk, b""))
            assert events and set(events) == {b":\n\n"}
        until(lambda: live.app._runtime.open_streams == 0)


def test_a_stop_ends_it() -> None:
    with rc.Store() as store, contextlib.ExitStack() as readers:
        with serving(store, streams={"lifetime": 86_400}) as live:
            open = [readers.enter_context(reading(live.port, "default")) for _ in range(5)]
        assert [list(iter(reader.chunk, b"")) for reader in open] == [[]] * 5


def test_a_store_that_is_closed_ends_it() -> None:
    store = rc.Store()
    with serving(store) as live, reading(live.port, "default") as reader:
        store.close()
        assert list(iter(reader.chunk, b"")) == []


def test_metrics() -> None:
    import httpx

    with rc.Store() as store, serving(store) as live, reading(live.port, "default") as reader:
        store.jobs.enqueue("t")
        reader.queues()
        text = httpx.get(f"http://127.0.0.1:{live.port}/metrics").text
    assert "resonate_job_streams 1.0" in text
    assert re.search(r"^resonate_job_wakeups_total [1-9]", text, re.MULTILINE)
