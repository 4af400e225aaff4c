"""Poll streams over real connections: their bytes, readers that disconnect or stop reading, restarts, a thousand streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from server.live_server import serving
from server.raw_http import PATIENCE, Connection, connected

FAR = 10**15
SOON: dict[str, Any] = {"acknowledge_after": 0.05}


class Reader(Connection):
    """One open stream."""

    def __init__(self, port: int, target: str = "workers/w1", receive_buffer: int | None = None) -> None:
        super().__init__(port, receive_buffer)
        self.send(f"GET /poll/{target} HTTP/1.1\r\nHost: here\r\nAccept: text/event-stream\r\n\r\n".encode())
        self.status, self.headers = self.head()
        if self.status == 200:
            assert self.chunk() == b":\n\n"

    def message(self) -> dict[str, Any]:
        """Reads the message of the next event."""
        event = b""
        while event in (b"", b":\n\n"):
            event = self.chunk()
            assert event, "the stream ended"
        assert event.startswith(b"data: ") and event.endswith(b"}\n\n") and b"\n" not in event[:-2], event
        message: dict[str, Any] = json.loads(event[6:-2])
        return message

    def id(self) -> str:
        """Reads the id of the next message."""
        data = self.message()["data"]
        id: str = data["task" if "task" in data else "promise"]["id"]
        return id

    def ids(self, count: int) -> list[str]:
        """Reads the ids of this many messages."""
        return [self.id() for _ in range(count)]

    def rest(self) -> list[str]:
        """Reads until the server ends the stream."""
        found = []
        for event in iter(self.chunk, b""):
            if event != b":\n\n":
                found.append(json.loads(event[6:])["data"]["promise"]["id"])
        return found


@contextlib.contextmanager
def reading(port: int, target: str = "workers/w1", receive_buffer: int | None = None) -> Iterator[Reader]:
    """A stream that is open while the block runs."""
    reader = Reader(port, target, receive_buffer)
    try:
        yield reader
    finally:
        reader.close()


def execute(store: Store, id: str, address: str = "poll://any@workers") -> None:
    store.promises.create(id, FAR, tags={"resonate:target": address})


def unblock(store: Store, id: str, address: str = "poll://uni@workers/w1", value: Any = None) -> None:
    store.promises.create(id, FAR, tags={"resonate:external": "true"})
    store.promises.register_listener(id, address)
    store.promises.resolve(id, value)


def until(condition: Callable[[], bool]) -> None:
    patience = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < patience, "it never came"
        time.sleep(0.002)


def waiting(store: Store) -> list[str]:
    return [message.id for message in store.messages()]


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(clock=ManualClock(1000)) as made:
        yield made


def test_the_bytes_of_a_stream(store: Store) -> None:
    """Lines end with LF alone, text is ASCII, each event is one chunk, and the headers come at once."""
    with serving(store, server={"url": "http://here:8001"}) as live, connected(live.port) as connection:
        connection.send(b"GET /poll/workers/w1 HTTP/1.1\r\nHost: here\r\n\r\n")
        status, headers = connection.head()
        headers.pop("date")
        assert (status, headers) == (200, {
            "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no", "transfer-encoding": "chunked"
        })  # fmt: skip
        assert connection.until(b"\r\n\n\r\n"[1:]) == b"3\r\n:\n\n\r\n"
        execute(store, "é\u2028\u0085\x0b𝄞")
        event = rb'data: {"kind":"execute","head":{"serverUrl":"http://here:8001"},"data":{"task":{"id":"\u00e9\u2028\u0085\u000b\ud834\udd1e","version":0}}}'
        expected = b"%x\r\n" % (len(event) + 2) + event + b"\n\n\r\n"
        assert connection.exactly(len(expected)).lower() == expected.lower()
        unblock(store, "ü", value="\r\n\u2029")
        event = connection.chunk()
        assert event.isascii() and b"\r" not in event and event.count(b"\n") == 2 and event.endswith(b"\n\n")
        assert json.loads(event[6:])["kind"] == "unblock" and json.loads(event[6:])["head"] == {}
        assert json.loads(event[6:])["data"]["promise"] == store.apply(
            {"kind": "promise.get", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {"id": "ü"}}
        )["data"]["promise"]  # fmt: skip
        assert connection.buffer == b""


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_head_of_a_stream_opens_none(store: Store, method: str) -> None:
    with serving(store) as live, connected(live.port) as connection:
        connection.send(b"HEAD /poll/workers/w1 HTTP/1.1\r\nHost: here\r\n\r\n")
        status, headers = connection.head()
        assert status == 200 and headers["content-type"] == "text/event-stream"
        assert len(live.app._runtime.poll.streams) == 0
        connection.send(b"HEAD /health HTTP/1.1\r\nHost: here\r\n\r\n")
        assert connection.head()[0] == 200


def test_a_stream_is_recycled_and_its_connection_goes_on(store: Store) -> None:
    """The body ends like any chunked body, so a client sees its end and no error."""
    with serving(store, streams={"lifetime": 2, **SOON}) as live, reading(live.port) as reader:
        unblock(store, "a")
        assert reader.rest() == ["a"]
        reader.send(b"GET /poll/workers/w1 HTTP/1.1\r\nHost: here\r\n\r\n")
        unblock(store, "b")
        assert reader.head()[0] == 200
        assert reader.rest() == ["b"]


def test_keepalive_comments_come(store: Store) -> None:
    with serving(store, streams={"keepalive": 0.05}) as live, reading(live.port) as reader:
        assert [reader.chunk() for _ in range(5)] == [b":\n\n"] * 5


def test_nothing_is_lost_in_the_gaps_between_recycled_streams(store: Store) -> None:
    """A client reconnects again and again while messages are created."""
    expected = [f"u{i:03}" for i in range(300)]
    with serving(store, streams={"lifetime": 0.1, **SOON}) as live:
        seen: list[str] = []
        given = iter(expected)
        while len(set(seen)) < len(expected):
            with reading(live.port) as reader:
                for _ in range(60):
                    if (id := next(given, None)) is not None:
                        unblock(store, id)
                seen += reader.rest()
        assert sorted(seen) == expected, "none is lost and, as all streams ended cleanly, none came twice"
        until(lambda: waiting(store) == [])


@pytest.mark.parametrize("how", ["reset", "close", "shutdown"])
def test_what_a_vanished_reader_did_not_confirm_goes_to_the_next(store: Store, how: str) -> None:
    with serving(store, streams={"acknowledge_after": 60}) as live:
        with reading(live.port) as reader:
            for i in range(5):
                unblock(store, f"u{i}")
            assert reader.ids(5) == [f"u{i}" for i in range(5)]
            if how == "reset":
                reader.reset()
            elif how == "shutdown":  # half of the connection: its client says nothing more
                reader.socket.shutdown(1)
                until(lambda: len(live.app._runtime.poll.streams) == 0)
        with reading(live.port) as again:
            assert sorted(again.ids(5)) == [f"u{i}" for i in range(5)]
            assert waiting(store) == [f"u{i}" for i in range(5)]


def test_an_unblock_leaves_the_store_once_it_was_acknowledged(store: Store) -> None:
    with serving(store, streams=SOON) as live, reading(live.port) as reader:
        unblock(store, "a")
        assert reader.id() == "a"
        until(lambda: waiting(store) == [])


@pytest.mark.parametrize("size", [100, 60_000])
def test_a_reader_that_does_not_read_stops_nobody_and_loses_nothing(store: Store, size: int) -> None:
    """Its connection fills up, then its stream; the other messages wait in the store until it reads."""
    count = 400
    with (
        serving(store, streams={"buffer": 10, "lifetime": 600, **SOON}) as live,
        reading(live.port, "workers/slow", receive_buffer=4096) as slow,
        reading(live.port, "workers/fast") as fast,
    ):
        for i in range(count):
            unblock(store, f"s{i}", "poll://uni@workers/slow", "x" * size)
        for i in range(50):
            unblock(store, f"f{i}", "poll://uni@workers/fast")
        assert sorted(fast.ids(50)) == sorted(f"f{i}" for i in range(50))
        if size > 10_000:
            assert len(waiting(store)) > count // 2
        assert sorted(slow.ids(count)) == sorted(f"s{i}" for i in range(count))
        until(lambda: waiting(store) == [])


def test_unblocks_outlive_a_server_that_stops_before_they_are_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with (
        Store(path, clock=ManualClock(1000), durability="normal") as store,
        serving(store, streams={"acknowledge_after": 60}) as live,
        reading(live.port) as reader,
    ):
        for i in range(3):
            unblock(store, f"u{i}")
        assert reader.ids(3) == ["u0", "u1", "u2"]
        reader.reset()
        until(lambda: len(live.app._runtime.poll.streams) == 0)
    with Store(path, clock=ManualClock(2000)) as store, serving(store, streams=SOON) as live, reading(live.port) as reader:
        assert reader.ids(3) == ["u0", "u1", "u2"]
        until(lambda: waiting(store) == [])
    with Store(path, clock=ManualClock(3000)) as store, serving(store) as live, reading(live.port) as reader:
        unblock(store, "new")
        assert reader.id() == "new"


def test_a_stop_ends_streams_after_what_waits_in_them(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db", clock=ManualClock(1000), durability="normal") as store:
        with contextlib.ExitStack() as readers:
            with serving(store) as live:
                open = [readers.enter_context(reading(live.port, f"workers/w{i}")) for i in range(20)]
                for i in range(20):
                    unblock(store, f"u{i}", f"poll://uni@workers/w{i}")
                until(lambda: sum(len(s.unconfirmed) for s in live.app._runtime.poll.streams) == 20)
            assert [reader.rest() for reader in open] == [[f"u{i}"] for i in range(20)]
        assert waiting(store) == [], "they were written and their streams ended well"


def test_streams_beyond_the_limit(store: Store) -> None:
    with serving(store, limits={"streams": 3}) as live, contextlib.ExitStack() as readers:
        open = [readers.enter_context(reading(live.port, f"workers/w{i}")) for i in range(5)]
        assert [reader.status for reader in open] == [200, 200, 200, 503, 503]
        assert open[3].headers["retry-after"] == "1" and open[3].headers["content-type"] == "application/json"
        open[0].reset()
        until(lambda: len(live.app._runtime.poll.streams) == 2)
        assert readers.enter_context(reading(live.port, "workers/w9")).status == 200


def test_a_thousand_streams(store: Store) -> None:
    """Each stream gets its own message, and a thousand tasks for any worker of the group are spread over them."""

    async def one(port: int, i: int, all_done: asyncio.Event) -> list[str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /poll/workers/w{i} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        text = b""
        while text.count(b"data: ") < 3:
            text += await reader.read(4096)
        await all_done.wait()  # messages that an earlier reader had not confirmed would go to others
        writer.close()
        return sorted(
            json.loads(line[6:])["data"]["promise" if b"unblock" in line else "task"]["id"]
            for line in text.split(b"\n")
            if line.startswith(b"data: ")
        )

    async def main(port: int, feed: Callable[[], None]) -> list[list[str]]:
        all_done = asyncio.Event()
        readers = [asyncio.ensure_future(one(port, i, all_done)) for i in range(1000)]
        await asyncio.to_thread(feed)
        all_done.set()
        return await asyncio.gather(*readers)

    with serving(store, streams=SOON) as live:

        def feed() -> None:
            until(lambda: len(live.app._runtime.poll.streams) == 1000)
            for i in range(1000):
                unblock(store, f"u{i:03}", f"poll://uni@workers/w{i}")
                execute(store, f"p{i:03}", f"poll://any@workers/w{i}")
                execute(store, f"t{i:03}")
            until(lambda: waiting(store) == [])

        found = asyncio.run(main(live.port, feed))
        assert [ids[0] for ids in found] == [f"p{i:03}" for i in range(1000)]
        assert [ids[2] for ids in found] == [f"u{i:03}" for i in range(1000)]
        assert sorted(ids[1] for ids in found) == [f"t{i:03}" for i in range(1000)]


def test_streams_and_requests_share_a_server(store: Store) -> None:
    """A task is created, delivered, acquired and fulfilled, and the listener notified, all over connections."""

    def ask(connection: Connection, kind: str, data: Any) -> Any:
        from server.raw_http import post

        connection.send(post({"kind": kind, "head": {"corrId": "c", "version": "2026-04-01"}, "data": data}))
        answer = connection.answer()
        assert answer.status == 200, answer
        return answer.json()["data"]

    with serving(store, streams=SOON) as live, connected(live.port) as client, reading(live.port, "clients/c") as shown:
        with connected(live.port) as worker, reading(live.port) as work:
            for i in range(50):
                id = f"job{i}"
                ask(client, "promise.create", {"id": id, "timeoutAt": FAR, "tags": {"resonate:target": "poll://any@workers"}})
                ask(client, "promise.register_listener", {"awaited": id, "address": "poll://uni@clients/c"})
                task = work.message()["data"]["task"]
                assert task == {"id": id, "version": 0}
                ask(worker, "task.acquire", {**task, "pid": "w", "ttl": 10_000})
                settle = {"id": id, "state": "resolved", "value": {"data": "eA=="}}
                action = {"kind": "promise.settle", "head": {"corrId": "i", "version": "2026-04-01"}, "data": settle}
                ask(worker, "task.fulfill", {"id": id, "version": 1, "action": action})
                promise = shown.message()["data"]["promise"]
                assert (promise["id"], promise["state"], promise["value"]) == (id, "resolved", {"data": "eA=="})
        until(lambda: waiting(store) == [])
