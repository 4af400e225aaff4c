"""Two servers on one store: one of them delivers a message, and if it does not, the other one does."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import resonate_core as rc
from server.live_server import serving
from server.receiver import OK, Answerer, Receiver, receiving

FAR = 10**15
PATIENCE = 60.0
#: The length of the leases, in ms: several times as long as a slow machine needs to renew one.
SHORT = 8000

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path or URL of an empty store."""
    return str(tmp_path / "store.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@contextlib.contextmanager
def received(answerer: Answerer | None = None) -> Iterator[Receiver]:
    """A receiver that runs in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    opened = receiving(answerer)
    receiver = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result(PATIENCE)
    try:
        yield receiver
    finally:
        asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def settled(store: rc.Store, id: str, address: str) -> None:
    store.promises.create(id, timeout_at=FAR)
    store.promises.register_listener(id, address)
    store.promises.resolve(id)


def ids_of(receiver: Receiver) -> Counter[str]:
    return Counter(json.loads(request.body)["data"]["promise"]["id"] for request in receiver.requests)


def tables(lease: int = SHORT) -> dict[str, object]:
    return {"push": {"allow": "127.0.0.0/8"}, "delivery": {"lease_ms": lease, "processes": 2}}


def test_each_unblock_is_pushed_once(place: str) -> None:
    with (
        received() as receiver,
        rc.Store(place) as one,
        rc.Store(place) as other,
        serving(one, **tables()),
        serving(other, **tables()),
    ):
        for number in range(100):
            settled(one if number % 2 else other, f"p{number}", receiver.url())
        until(lambda: one.messages() == [])
        assert ids_of(receiver) == Counter(f"p{number}" for number in range(100))


def test_a_lease_is_renewed_while_its_message_is_under_way(place: str) -> None:
    async def slowly(request: object, reader: object, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(1.5 * SHORT / 1000)
        writer.write(OK)
        return True

    with received(slowly) as receiver, rc.Store(place) as one, rc.Store(place) as other:
        with serving(one, **tables()), serving(other, **tables()):
            settled(one, "p", receiver.url())
            until(lambda: bool(receiver.requests))
            assert [message.holder is not None for message in one.messages()] == [True]
            until(lambda: one.messages() == [])
        assert ids_of(receiver) == Counter(["p"])


def test_a_stream_that_ends_gives_its_messages_to_one_of_another_server(place: str) -> None:
    """The lease is released at once."""
    long = {**tables(lease=600_000), "streams": {"acknowledge_after": 30}}
    with rc.Store(place) as one, rc.Store(place) as other, serving(one, **long) as here, serving(other, **long) as there:
        first = http.client.HTTPConnection("127.0.0.1", here.port, timeout=PATIENCE)
        first.request("GET", "/poll/group/first")
        stream = first.getresponse()
        assert stream.readline() == b":\n"
        settled(one, "p", "poll://any@group/first")
        until(lambda: one.messages()[0].holder is not None)
        stream.close()
        first.close()
        until(lambda: one.messages()[0].holder is None)
        second = http.client.HTTPConnection("127.0.0.1", there.port, timeout=PATIENCE)
        second.request("GET", "/poll/group/second")
        events = second.getresponse()
        line = b""
        while not line.startswith(b"data: "):
            line = events.readline()
            assert line, "the stream ended"
        assert json.loads(line.removeprefix(b"data: "))["data"]["promise"]["id"] == "p"
        second.close()


def test_another_server_continues_after_a_death(place: str) -> None:
    held = threading.Event()

    async def holds_the_first(request: object, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if not held.is_set():
            held.set()
            await reader.read()  # until the server is dead
            return False
        writer.write(OK)
        return True

    with received(holds_the_first) as receiver, rc.Store(place) as store:
        settled(store, "p", receiver.url())
        command = [sys.executable, "-m", "resonate_core", "serve", "--db", place, "--port", "0", "--push-allow", "127.0.0.0/8"]
        first = subprocess.Popen([*command, "--delivery-lease-ms", str(SHORT)], stderr=subprocess.DEVNULL)
        try:
            assert held.wait(PATIENCE)
            with serving(store, **tables()):
                time.sleep(1.5 * SHORT / 1000)  # it renews its lease
                assert ids_of(receiver) == Counter(["p"])
                first.send_signal(signal.SIGKILL)
                first.wait(PATIENCE)
                until(lambda: store.messages() == [])
        finally:
            first.kill()
            first.wait(PATIENCE)
        assert ids_of(receiver) == Counter(["p", "p"])
