"""``resonate-core serve`` as real processes, stopped by each signal that stops them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from resonate_core import Store
from server.served import Served, served

FAR = 4_000_000_000_000
_PATIENCE = 60


def messages(stream: httpx.Response) -> Iterator[dict[str, Any]]:
    for line in stream.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def until_open(server: Served, count: int) -> None:
    """Waits until this many poll streams are open."""
    until = time.monotonic() + _PATIENCE
    while f"resonate_poll_streams {count}.0" not in server.client.get(f"{server.url}/metrics").text:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "send", "flags"),
    [
        (signal.SIGTERM, os.kill, ("--root-path", "/resonate")),
        (signal.SIGTERM, os.killpg, ("--workers", "2")),  # as systemd does: the workers get the signal twice
        (signal.SIGINT, os.killpg, ()),  # as a terminal does
    ],
)
def test_a_stop_ends_streams_and_keeps_what_was_answered(
    tmp_path: Path, number: int, send: Callable[[int, int], None], flags: tuple[str, ...]
) -> None:
    path = tmp_path / "kept.db"
    with served(tmp_path, "--db", path, *flags) as server:
        with server.client.stream("GET", f"{server.url}/poll/g/me%2F1") as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            events = messages(stream)
            server.ask("promise.create", id="p", timeoutAt=FAR, tags={"resonate:target": "poll://uni@g/me/1"})
            seen = next(events)
            assert seen["data"]["task"] == {"id": "p", "version": 0}
            assert seen["head"]["serverUrl"] == server.url + ("/resonate" if "--root-path" in flags else "")
            send(server.process.pid, number)
            assert list(events) == []  # it ended as a stream ends, not as a connection breaks
        server.ended()
        assert "stopped (process" in server.said()
        assert not Path(f"{path}-wal").exists(), "a store was not closed"
    with Store(path) as store:
        assert store.promises.get("p").state == "pending"
        assert store.check() == []


def test_a_client_that_goes_away_is_noticed(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        for n in range(3):
            with socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE) as stream:
                stream.sendall(b"GET /poll/g/me HTTP/1.1\r\nhost: here\r\n\r\n")
                until_open(server, 1)
            until_open(server, 0)
            server.ask("promise.create", id=f"p{n}", timeoutAt=FAR, tags={"resonate:target": "poll://any@g/me"})
        with server.client.stream("GET", f"{server.url}/poll/g/me") as stream:
            events = messages(stream)
            # A set: the order of messages that waited for a reader is not defined.
            assert {next(events)["data"]["task"]["id"] for _ in range(3)} == {"p0", "p1", "p2"}


def test_a_request_under_way_is_answered_before_the_end(tmp_path: Path) -> None:
    with served(tmp_path, "--db", tmp_path / "kept.db") as server:
        body = json.dumps(
            {"kind": "promise.create", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "late", "timeoutAt": FAR}}
        ).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE) as slow:
            slow.sendall(b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: %d\r\n\r\n" % len(body) + body[:20])
            until_in_hand(server)
            server.process.send_signal(signal.SIGTERM)
            refused_from_now_on(server)
            slow.sendall(body[20:])
            answer = b"".join(iter(lambda: slow.recv(65536), b""))
            assert answer.startswith(b"HTTP/1.1 200 ") and b'"id":"late"' in answer
        server.ended()
    with Store(tmp_path / "kept.db") as store:
        assert store.promises.get("late").state == "pending"


def until_in_hand(server: Served) -> None:
    """Waits until the app has what was sent before on another connection: these requests came later and were answered."""
    for _ in range(3):
        server.ask("promise.search")


def refused_from_now_on(server: Served) -> None:
    until = time.monotonic() + _PATIENCE
    with contextlib.suppress(OSError):
        while time.monotonic() < until:
            socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE).close()
            time.sleep(0.01)
        raise AssertionError("it still takes connections")


def test_a_client_that_never_ends_its_request_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    with served(tmp_path, "--db", path, "--graceful-timeout", "1") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE) as slow:
            slow.sendall(b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 100\r\n\r\n{")
            until_in_hand(server)
            server.process.send_signal(signal.SIGTERM)
            server.ended()
        assert not Path(f"{path}-wal").exists(), "the store was not closed"


def test_a_line_a_request_only_when_asked_for(tmp_path: Path) -> None:
    for flags, lines in ([], 0), (["--access-log"], 1):
        with served(tmp_path, *flags) as server:
            server.ask("promise.search")
            server.process.send_signal(signal.SIGTERM)
            server.ended()
            assert server.said().count('"POST / ') == lines
