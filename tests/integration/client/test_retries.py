"""A client repeats a request if that is safe, and only then."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import resonate_core as rc
from free_ports import free_port
from tiers import every

from .flaky_server import CUT, LOST, Flaky, flaky

FAR = 2**52
TARGET = "poll://any@w"


@pytest.fixture
def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock(1000))


@pytest.fixture
def server(store: rc.Store) -> Iterator[Flaky]:
    with flaky(store) as made:
        yield made


@pytest.fixture
def client(server: Flaky) -> Iterator[rc.client.Client]:
    with rc.connect(server.url, retry_for=60) as made:
        yield made


Call = Callable[[Any], Any]

#: Calls that may be sent again after an answer was lost, with the kind of their request.
SAFE: list[tuple[str, Call]] = [
    ("promise.create", lambda c: c.promises.create("new", FAR, param=1)),
    ("promise.create", lambda c: c.promises.create("new", timeout=60_000, idempotency_key="k")),
    ("promise.get", lambda c: c.promises.get("a")),
    ("promise.settle", lambda c: c.promises.resolve("a", 1)),
    ("promise.settle", lambda c: c.promises.cancel("a", idempotency_key="k")),
    ("promise.register_callback", lambda c: c.promises.register_callback("a", "work")),
    ("promise.register_listener", lambda c: c.promises.register_listener("a", TARGET)),
    ("promise.search", lambda c: c.promises.search()),
    ("task.get", lambda c: c.tasks.get("work")),
    ("task.fence", lambda c: c.tasks.fence_create("held", 1, "held.1", FAR)),
    ("task.heartbeat", lambda c: c.tasks.heartbeat("w", [("held", 1)])),
    ("task.halt", lambda c: c.tasks.halt("held")),
    ("schedule.create", lambda c: c.schedules.create("s", "@hourly", promise_timeout=5)),
    ("job.enqueue", lambda c: c.jobs.enqueue("t", [1], id="new")),
    ("job.enqueue_many", lambda c: c.jobs.enqueue_many("t", [1, 2], ids=["x", "y"])),
    ("job.get", lambda c: c.jobs.get("j")),
    ("job.heartbeat", lambda c: c.jobs.heartbeat("w", [("j", 1)])),
    ("queue.set", lambda c: c.queues.set("q", weight=3)),
    ("queue.pause", lambda c: c.queues.pause("default")),
    ("job.stats", lambda c: c.queues.stats()),
]
#: Calls that are sent again only if they were not executed for certain.
UNSAFE: list[tuple[str, Call]] = [
    ("task.create", lambda c: c.tasks.create("new", FAR, pid="w", ttl=1000, target=TARGET)),
    ("task.acquire", lambda c: c.tasks.acquire("work", 0, pid="w", ttl=1000)),
    ("task.release", lambda c: c.tasks.release("held", 1)),
    ("task.fulfill", lambda c: c.tasks.fulfill("held", 1)),
    ("job.enqueue", lambda c: c.jobs.enqueue("t", [1])),
    ("job.enqueue_many", lambda c: c.jobs.enqueue_many("t", [1, 2])),
    ("job.claim", lambda c: c.jobs.claim("default", worker="w", lease=1000)),
    ("job.cancel", lambda c: c.jobs.cancel("j")),
    ("job.delete", lambda c: c.jobs.delete("j")),
    ("schedule.delete", lambda c: c.schedules.delete("hourly")),
]


def prepare(store: rc.Store) -> None:
    store.promises.create("a", FAR)
    store.promises.create("work", FAR, tags={"resonate:target": TARGET})
    store.tasks.create("held", FAR, pid="w", ttl=60_000, target=TARGET)
    store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    store.jobs.enqueue("t", id="j")


def numbered(calls: list[tuple[str, Call]]) -> list[Any]:
    counts = itertools.count()
    return [pytest.param(kind, call, id=f"{kind}-{next(counts)}") for kind, call in calls]


@pytest.mark.parametrize(("kind", "call"), every(2, SAFE))
def test_a_safe_call_is_sent_again(store: rc.Store, server: Flaky, client: Any, kind: str, call: Call) -> None:
    prepare(store)
    twin = store.fork()
    expected = call(twin) if kind != "promise.create" else None
    server.faults = [LOST, CUT, (503, {})]
    found = call(client)
    assert server.kinds == [kind] * 4
    first = server.requests[0]
    assert all(request == first for request in server.requests)  # the instant of a relative deadline, too
    if expected is not None and hasattr(expected, "to_dict"):
        assert found.to_dict() == expected.to_dict()


@pytest.mark.parametrize(("kind", "call"), numbered(UNSAFE))
def test_an_unsafe_call_is_not_sent_again(store: rc.Store, server: Flaky, client: Any, kind: str, call: Call) -> None:
    prepare(store)
    server.faults = [LOST]
    with pytest.raises(rc.Unreachable) as raised:
        call(client)
    assert server.kinds == [kind]
    assert raised.value.executed
    assert raised.value.answered is None


@pytest.mark.parametrize(("kind", "call"), numbered(UNSAFE))
def test_a_call_that_was_not_executed_is_sent_again(store: rc.Store, server: Flaky, client: Any, kind: str, call: Call) -> None:
    prepare(store)
    server.faults = [(429, {"retry-after": "0"})]
    call(client)
    assert server.kinds == [kind] * 2


@pytest.mark.parametrize(("kind", "call"), numbered(SAFE + UNSAFE))
def test_awaited_calls_do_the_same(store: rc.Store, server: Flaky, kind: str, call: Call) -> None:
    prepare(store)
    safe = (kind, call) in SAFE
    server.faults = [LOST]

    async def main() -> None:
        async with rc.connect(server.url, retry_for=60).aio as client:
            await call(client)

    if safe:
        asyncio.run(main())
    else:
        with pytest.raises(rc.Unreachable):
            asyncio.run(main())
    assert server.kinds == [kind] * (2 if safe else 1)


def test_a_server_that_is_away_for_a_moment(store: rc.Store) -> None:
    async def main() -> str:
        port = free_port()
        async with rc.connect(f"http://127.0.0.1:{port}", retry_for=60).aio as client:
            claiming = asyncio.create_task(client.jobs.claim("default", worker="w", lease=1000))
            await asyncio.sleep(0.2)  # nothing listens: the request cannot have been executed
            server = await asyncio.start_server(answer, "127.0.0.1", port)
            async with server:
                return (await claiming)[0].id

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
        reply = store.apply_json(await reader.readexactly(length))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(reply) + reply)
        await writer.drain()
        writer.close()

    store.jobs.enqueue("t", id="j")
    assert asyncio.run(main()) == "j"


def test_the_time_of_retries_is_limited(server: Flaky) -> None:
    server.faults = [(503, {})] * 100
    with rc.connect(server.url, retry_for=2) as client, pytest.raises(rc.Unreachable, match="answered 503") as raised:
        client.promises.get("a")
    assert raised.value.answered == 503
    assert 2 <= len(server.requests) <= 10


def test_a_pause_that_the_server_asks_for_is_too_long(server: Flaky) -> None:
    server.faults = [(503, {"retry-after": "3600"})]
    with rc.connect(server.url, retry_for=5) as client, pytest.raises(rc.Unreachable) as raised:
        client.promises.get("a")
    assert raised.value.retry_after == 3600
    assert len(server.requests) == 1


def test_no_retries(server: Flaky) -> None:
    server.faults = [LOST]
    with rc.connect(server.url, retry_for=0) as client, pytest.raises(rc.Unreachable):
        client.promises.get("a")
    assert len(server.requests) == 1


def test_a_server_that_speaks_another_language(server: Flaky) -> None:
    server.faults = [(200, {}), (401, {})]
    with rc.connect(server.url) as client:
        with pytest.raises(rc.ResonateError, match="does not speak the protocol"):
            client.promises.get("a")
        with pytest.raises(rc.ResonateError, match="answered 401"):
            client.promises.get("a")
    assert len(server.requests) == 2


@pytest.mark.parametrize("url", ["ftp://x", "http://", "nonsense", "http://[::1"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(rc.Invalid, match="url must be"):
        rc.connect(url)


def test_a_token_that_is_none_is_not_shown() -> None:
    with pytest.raises(rc.Invalid, match="token must be printable") as raised:
        rc.connect("http://127.0.0.1:1", token="se cret")
    assert "cret" not in str(raised.value)
