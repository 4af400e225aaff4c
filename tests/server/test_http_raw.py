"""HTTP over a plain socket: requests in pieces, pipelines, old versions, floods, and clients that disconnect."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.server import app as app_module
from server.live_server import Live, serving
from server.raw_http import Connection, connected, post

FAR = 10**15


def envelope(kind: str = "promise.get", corr: str = "c", **data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": {"corrId": corr, "version": "2026-04-01"}, "data": data or {"id": "nobody"}}


@pytest.fixture(scope="module")
def server() -> Iterator[Live]:
    with (
        Store(clock=ManualClock(1000), debug=True) as store,
        serving(store, limits={"body_bytes": 100_000}, server={"debug": True}) as live,
    ):
        live.store = store  # type: ignore[attr-defined]
        yield live


@pytest.fixture
def connection(server: Live) -> Iterator[Connection]:
    with connected(server.port) as made:
        yield made
    healthy(server)


def healthy(server: Live) -> None:
    """Whatever happens on one connection, others are served."""
    with connected(server.port) as other:
        other.send(post(envelope()))
        assert other.answer().status == 404


def of_store(server: Live) -> Store:
    store: Store = server.store  # type: ignore[attr-defined]
    return store


def corr_ids(connection: Connection, count: int) -> list[str]:
    return [connection.answer().json()["head"]["corrId"] for _ in range(count)]


def test_an_answer_byte_for_byte(connection: Connection) -> None:
    connection.send(post(envelope("promise.create", id="é", timeoutAt=FAR)))
    status, headers = connection.head()
    headers.pop("date")
    body = connection.exactly(int(headers["content-length"]))
    assert status == 200
    assert headers == {"content-type": "application/json", "content-length": str(len(body)), "resonate-batch": "128"}
    assert body == (
        b'{"kind":"promise.create","head":{"corrId":"c","status":200,"version":"2026-04-01"},"data":{"promise":'
        b'{"id":"\\u00e9","state":"pending","param":{},"value":{},"tags":{},"timeoutAt":1000000000000000,"createdAt":1000}}}'
    )


def test_many_requests_on_one_connection(connection: Connection) -> None:
    for i in range(200):
        connection.send(post(envelope(corr=str(i))))
        assert corr_ids(connection, 1) == [str(i)]


def test_a_pipeline_is_answered_in_order(connection: Connection) -> None:
    connection.send(b"".join(post(envelope(corr=str(i))) for i in range(100)))
    assert corr_ids(connection, 100) == [str(i) for i in range(100)]


def test_a_pipeline_of_writes_and_reads_sees_what_it_wrote(connection: Connection) -> None:
    work = []
    for i in range(20):
        work += [post(envelope("promise.create", id=f"pipe{i}", timeoutAt=FAR)), post(envelope(id=f"pipe{i}"))]
    connection.send(b"".join(work))
    assert [connection.answer().status for _ in work] == [200] * 40


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_a_request_in_pieces(connection: Connection, size: int) -> None:
    text = post(envelope(corr="pieces")) * 2
    for at in range(0, len(text), size):
        connection.send(text[at : at + size])
    assert corr_ids(connection, 2) == ["pieces"] * 2


@pytest.mark.parametrize("seed", range(5))
def test_a_chunked_body_in_odd_pieces(connection: Connection, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    body = json.dumps(envelope(corr="é" * 50)).encode()
    text = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
    at = 0
    while at < len(body):
        size = chance.randint(1, 40)
        part = body[at : at + size]
        extension = chance.choice([b"", b";x=y", b';x="y"'])
        text += (b"%X" if chance.random() < 0.5 else b"%04x") % len(part) + extension + b"\r\n" + part + b"\r\n"
        at += size
    text += b"0\r\n" + chance.choice([b"", b"X-Trailer: y\r\n"]) + b"\r\n"
    text += post(envelope(corr="next"))
    at = 0
    while at < len(text):
        size = chance.randint(1, 60)
        connection.send(text[at : at + size])
        at += size
    assert corr_ids(connection, 2) == ["é" * 50, "next"]


def test_a_chunked_body_over_the_limit(connection: Connection) -> None:
    connection.send(b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(10):
        connection.send(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
    connection.send(b"1\r\nx\r\n")
    answer = connection.answer()
    assert answer.status == 413 and answer.json()["head"]["status"] == 413 and answer.headers["connection"] == "close"


def test_a_body_over_the_limit_that_is_announced(connection: Connection) -> None:
    """The response comes before the body, and the connection ends: the server would not read what follows."""
    connection.send(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100001\r\n\r\n{")
    answer = connection.answer()
    assert answer.status == 413 and answer.headers["content-type"] == "application/json"
    assert answer.headers["connection"] == "close" and connection.ended()


@pytest.mark.parametrize("body", [b"", b"{", b'{"kind":"promise.get","head":'])
def test_a_body_that_does_not_come(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    """The response is 408, and the connection ends; others are served meanwhile."""
    monkeypatch.setattr(app_module, "_BODY_TIMEOUT", 0.2)
    with Store(clock=ManualClock(1000)) as store, serving(store) as live, connected(live.port) as slow:
        slow.send(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 500\r\n\r\n" + body)
        healthy(live)
        answer = slow.answer()
        assert answer.status == 408 and answer.json()["head"] == {"corrId": "0", "status": 408, "version": "2026-04-01"}
        assert answer.headers["connection"] == "close" and slow.ended()


def test_expect_continue(connection: Connection) -> None:
    head, _, body = post(envelope(), "Expect: 100-continue").partition(b"\r\n\r\n")
    connection.send(head + b"\r\n\r\n")
    assert connection.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.send(body)
    assert connection.answer().status == 404


def test_http_1_0(connection: Connection) -> None:
    connection.send(post(envelope(), version="1.0"))
    assert connection.answer().json()["head"]["status"] == 404
    assert connection.ended()


def test_connection_close_is_done(connection: Connection) -> None:
    connection.send(post(envelope(), "Connection: close"))
    answer = connection.answer()
    assert answer.status == 404 and answer.headers["connection"] == "close" and connection.ended()


def test_header_names_in_any_case_and_a_header_with_a_colon_in_its_name(connection: Connection) -> None:
    """PyPI resonate-sdk 0.8 sends `resonate:origin: X`, which is a header `resonate`."""
    connection.send(post(envelope(), "resonate:origin: root.1", "AUTHORIZATION: Bearer x"))
    assert connection.answer().status == 404


@pytest.mark.parametrize(
    "text",
    [
        b"\r\n\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost here\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5, 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST /\x00 HTTP/1.1\r\n\r\n",
        b"POST \xc3\xa9 HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /poll/g/i HTTP/1.1\r\nHost: \x01\r\n\r\n",
    ],
)
def test_what_is_no_http_ends_its_connection_and_changes_nothing(server: Live, connection: Connection, text: bytes) -> None:
    before = of_store(server).digest()
    connection.send(text)
    connection.socket.shutdown(1)
    while True:
        try:
            got = connection.socket.recv(65536)
        except ConnectionResetError:
            break
        if not got:
            break
        connection.buffer += got
    assert connection.buffer == b"" or connection.buffer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")), connection.buffer
    assert b"Traceback" not in connection.buffer and not connection.buffer.startswith(b"HTTP/1.1 500")
    assert of_store(server).digest() == before


@pytest.mark.parametrize("count", [100, 20_000])
def test_a_flood_of_headers_disturbs_nobody(server: Live, connection: Connection, count: int) -> None:
    """The request is answered or cut off; others are served."""
    try:
        connection.send(b"POST / HTTP/1.1\r\nHost: here\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 100) for i in range(count)))
        connection.send(b"Content-Length: 2\r\n\r\n{}")
        assert connection.answer().status in (400, 413, 431)
    except ConnectionError:
        pass


def test_a_request_line_without_end_disturbs_nobody(connection: Connection) -> None:
    try:
        connection.send(b"POST /" + b"x" * 5_000_000)
        connection.send(b" HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        assert connection.answer().status in (400, 404, 414, 431)
    except (ConnectionError, EOFError):
        pass


@pytest.mark.parametrize("seed", range(3))
def test_a_client_that_goes_away_in_the_middle_has_asked_everything_or_nothing(server: Live, seed: int) -> None:
    """The request is cut at any byte, by a close or a reset: the promise is stored as a whole, or not at all."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    store = of_store(server)
    for i in range(60):
        id = f"cut{seed}.{i}"
        action = envelope("promise.create", id=id, timeoutAt=FAR, tags={"resonate:target": "x:y"}, param={"data": "x" * 3000})
        text = post(envelope("task.create", pid="w", ttl=10**9, action=action))
        cut = len(text) if i % 6 == 0 else chance.randint(1, len(text))
        with connected(server.port) as connection:
            connection.send(text[:cut])
            if i % 2:
                connection.reset()
    healthy(server)
    rows = {row["id"]: row for row in store.snapshot()["promises"]}
    done = [row for id, row in rows.items() if id.startswith(f"cut{seed}.")]
    assert all(row["param"] == {"data": "x" * 3000} and row["task"]["state"] == "acquired" for row in done)
    assert store.check() == []


def test_a_client_that_does_not_read_its_answers_disturbs_nobody(server: Live) -> None:
    of_store(server).promises.create("large", FAR, param="x" * 50_000)
    with connected(server.port, receive_buffer=4096) as connection:
        connection.socket.setblocking(False)
        try:
            for _ in range(500):
                connection.socket.send(post(envelope(id="large")))
        except BlockingIOError:
            pass
        healthy(server)


def test_a_thousand_connections_at_once(server: Live) -> None:
    connections = [Connection(server.port) for _ in range(1000)]
    try:
        for i, connection in enumerate(connections):
            connection.send(post(envelope(corr=str(i))))
        assert [corr_ids(connection, 1) for connection in connections] == [[str(i)] for i in range(1000)]
    finally:
        for connection in connections:
            connection.close()
