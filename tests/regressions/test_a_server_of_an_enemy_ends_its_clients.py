"""Answers that are none of the protocol raised TypeError, RecursionError, MemoryError or ValueError, or had no end.

Each is `NoEnvelope` now, or `Unreachable` if it does not come to an end in time, from every call of a client.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import resonate_core as rc
from enemy_server import Asked, Respond, Sent, chunked, endless, enemy, envelope, http, with_data, zeros
from resonate_core.errors import NoEnvelope, Unreachable

PROMISE = {"id": "x", "state": "pending", "param": {}, "value": {}, "tags": {}, "timeoutAt": 1000, "createdAt": 0}
JOB = rc.Store(clock=rc.ManualClock()).jobs.enqueue("t", {"a": 1}, id="x").to_dict()
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def _slowly(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        time.sleep(0.02)


def _bomb(asked: Asked) -> bytes:
    return http(zeros(300_000_000), "content-encoding: gzip")


#: Answers beyond what a client takes.
BEYOND: dict[str, Respond] = {
    "a bomb of gzip": _bomb,
    "a bomb of deflate": lambda asked: http(zeros(300_000_000)[10:-8], "content-encoding: deflate"),
    "an encoding in an encoding": lambda asked: http(zeros(1_000_000), "content-encoding: gzip, gzip"),
    "an encoding that nobody asked for": lambda asked: http(b"{}", "content-encoding: br"),
    "no gzip": lambda asked: http(b"{}", "content-encoding: gzip"),
    "gzip without an end": lambda asked: http(zeros(1_000_000)[:-9], "content-encoding: gzip"),
    "bytes after the gzip": lambda asked: http(zeros(1_000_000) + b"more", "content-encoding: gzip"),
    "gzip that becomes nothing": lambda asked: endless(
        _HEAD + b"content-encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\xff", b"\0\0\0\xff\xff" * 10_000
    ),
    "a body without an end": lambda asked: endless(_HEAD + b"\r\n", b" " * 65_536),
    "chunks without an end": lambda asked: chunked(b"{", b" " * 65_536),
    "a line of numbers": lambda asked: http(b"[" + b"1," * 5_000_000 + b"1]"),
}
#: Answers that have no end in time.
ENDLESS: dict[str, Respond] = {
    "a byte now and then": lambda asked: _slowly(endless(_HEAD + b"\r\n", b" ")),
    "headers now and then": lambda asked: _slowly(endless(_HEAD, b"a")),
    "interim responses": lambda asked: endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "hints": lambda asked: endless(b"", b"HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n" * 100),
}
#: Answers that HTTP refuses.
BROKEN: dict[str, Respond] = {
    "headers without an end": lambda asked: endless(_HEAD, b"a: b\r\n" * 1000),
    "one header without an end": lambda asked: endless(_HEAD, b"a" * 1000),
    "no HTTP": lambda asked: endless(b"SSH-2.0-enemy\r\n" * 100, b"\0" * 1000),
    "closed in the middle": lambda asked: iter([_HEAD + b"content-length: 1000\r\n\r\n{"]),
    "nothing": lambda asked: iter([b""]),
    "a location that is none": lambda asked: http(b"", "location: http://[::1", status="302 Found"),
}


def _nested(opening: str, depth: int = 200_000) -> str:
    return opening * depth


#: Data of a reply to promise.get that are none.
DATA: dict[str, Any] = {
    "deep lists": '{"promise": ' + _nested("["),
    "deep objects": '{"promise": ' + _nested('{"a":'),
    "closed deep lists": '{"promise": ' + "[" * 900 + "]" * 900 + "}",
    "a list": [1, 2],
    "null": None,
    "a number": 5,
    "a string": '"x"',
    "no JSON": "x",
    "a boolean": True,
    "nothing": {},
    "NaN": '{"promise": NaN}',
    "infinity": '{"promise": {"timeoutAt": 1e999}}',
    "a long integer": '{"promise": ' + "9" * 4000 + "}",
    "invalid UTF-8": '{"promise": "\udc80"}',
    "another id": {"promise": {**PROMISE, "id": "y"}},
    **{
        f"{name} as {value!r}": {"promise": {**PROMISE, name: value}} for name in PROMISE for value in (None, [1], 5.5, 2**70, True)
    },
    "tags of numbers": {"promise": {**PROMISE, "tags": {"a": 5}}},
    **{f"promise as {value!r}": {"promise": value} for value in (None, [1], 5, "x", True)},
}
#: Heads of a reply that are none.
HEADS: dict[str, str] = {
    "a list": "[]",
    "null": "null",
    "a text": '"x"',
    **{
        f"status {status}": f'{{"corrId": "@", "status": {status}}}'
        for status in ("true", "null", '"200"', "200.0", "[200]", "-200", "0", "1", "99999", "9" * 5000, "1e999", "{}")
    },
    "another request": '{"corrId": "another", "status": 200}',
    "corrId as a list": '{"corrId": [["@"]], "status": 200}',
}


def _sync(url: str, call: Callable[[Any], Any], **options: Any) -> Any:
    with rc.connect(url, retry_for=0, **options) as client:
        return call(client)


def _async(url: str, call: Callable[[Any], Any], **options: Any) -> Any:
    async def main() -> Any:
        async with rc.connect(url, retry_for=0, **options).aio as client:
            return await call(client)

    return asyncio.run(main())


def _errors(send: Any, cases: list[tuple[str, Respond, Callable[[Any], Any]]]) -> list[tuple[str, BaseException | None]]:
    """The error of each call of one client whose server responds in this way."""
    respond = cases[0][1]
    found: list[tuple[str, BaseException | None]] = []

    def before(case: tuple[str, Respond, Callable[[Any], Any]]) -> Any:
        nonlocal respond
        respond = case[1]
        return case[2]

    def sync(client: Any) -> None:
        for case in cases:
            try:
                before(case)(client)
                found.append((case[0], None))
            except Exception as error:
                found.append((case[0], error))

    async def of_loop(client: Any) -> None:
        for case in cases:
            try:
                await before(case)(client)
                found.append((case[0], None))
            except Exception as error:
                found.append((case[0], error))

    with enemy(lambda asked: respond(asked)) as server:
        send(server.url, sync if send is _sync else of_loop)
    return found


both = pytest.mark.parametrize("send", [_sync, _async], ids=["sync", "async"])


def _get(client: Any) -> Any:
    return client.promises.get("x")


@both
@pytest.mark.parametrize("name", BEYOND)
def test_more_than_a_client_takes(name: str, send: Any) -> None:
    with enemy(BEYOND[name]) as server:
        tracemalloc.start()
        try:
            with pytest.raises(NoEnvelope, match="http://127"):
                send(server.url, _get, answer_bytes=20_000_000)
            assert tracemalloc.get_traced_memory()[1] < 100_000_000
        finally:
            tracemalloc.stop()


@both
@pytest.mark.parametrize("name", ENDLESS)
def test_no_end_in_time(name: str, send: Any) -> None:
    for timeout in (1.0, 20.0):  # a slow machine may not have sent the request in a second
        with enemy(ENDLESS[name]) as server, pytest.raises(Unreachable) as raised:
            send(server.url, _get, timeout=timeout)
        if raised.value.executed:
            break
    assert raised.value.executed


@both
@pytest.mark.parametrize("name", BROKEN)
def test_no_http(name: str, send: Any) -> None:
    with enemy(BROKEN[name]) as server, pytest.raises((Unreachable, NoEnvelope)):
        send(server.url, _get, timeout=10)


@both
def test_data_of_another_shape(send: Any) -> None:
    for name, error in _errors(send, [(name, with_data(data), _get) for name, data in DATA.items()]):
        assert type(error) is NoEnvelope, (name, error)
        assert len(str(error)) < 1000 and str(error).isprintable(), name


@both
def test_a_head_of_another_shape(send: Any) -> None:
    def respond(name: str) -> Respond:
        def answer(asked: Asked) -> bytes:
            head = HEADS[name].replace("@", asked.envelope["head"]["corrId"])
            return http(f'{{"kind": "promise.get", "head": {head}, "data": {json.dumps({"promise": PROMISE})}}}'.encode())

        return answer

    for name, error in _errors(send, [(name, respond(name), _get) for name in HEADS]):
        assert type(error) is NoEnvelope, (name, error)


@both
@pytest.mark.parametrize("given", ["9" * 5000, "-1", "1.5", "nan", "", "0", "99999999999999999999", "\u0663"])
def test_a_count_of_a_batch_is_none(given: str, send: Any) -> None:
    header = f"resonate-batch: {given}".encode().decode("latin-1")
    with enemy(with_data({"promise": PROMISE}, header)) as server:
        assert send(server.url, _get).id == "x"


@both
@pytest.mark.parametrize("given", ["9" * 5000, "-1", "nan", "Wed, 21 Oct"])
def test_a_pause_that_is_none(given: str, send: Any) -> None:
    def respond(asked: Asked) -> bytes:
        return http(envelope(asked, "busy", 503), f"retry-after: {given}", status="503 Busy")

    with enemy(respond) as server, pytest.raises(Unreachable) as raised:
        send(server.url, _get)
    assert raised.value.retry_after is None


def _calls() -> dict[str, Callable[[Any], Any]]:
    """Each call of a client, with the beginning of its answer."""
    return {
        "promises.create": lambda c: c.promises.create("x", timeout=1),
        "promises.resolve": lambda c: c.promises.resolve("x"),
        "promises.reject": lambda c: c.promises.reject("x"),
        "promises.cancel": lambda c: c.promises.cancel("x"),
        "promises.register_callback": lambda c: c.promises.register_callback("x", "y"),
        "promises.register_listener": lambda c: c.promises.register_listener("x", "poll://any@a"),
        "promises.search": lambda c: c.promises.search(),
        "tasks.get": lambda c: c.tasks.get("x"),
        "tasks.create": lambda c: c.tasks.create("x", timeout=1, pid="p", ttl=1, target="poll://any@a"),
        "tasks.acquire": lambda c: c.tasks.acquire("x", 0, pid="p", ttl=1),
        "tasks.release": lambda c: c.tasks.release("x", 1),
        "tasks.fulfill": lambda c: c.tasks.fulfill("x", 1),
        "tasks.suspend": lambda c: c.tasks.suspend("x", 1, ["y"]),
        "tasks.fence_create": lambda c: c.tasks.fence_create("x", 1, "y", timeout=1),
        "tasks.fence_settle": lambda c: c.tasks.fence_settle("x", 1, "y"),
        "tasks.heartbeat": lambda c: c.tasks.heartbeat("p", [("x", 1)]),
        "tasks.halt": lambda c: c.tasks.halt("x"),
        "tasks.resume": lambda c: c.tasks.resume("x"),
        "tasks.search": lambda c: c.tasks.search(),
        "schedules.create": lambda c: c.schedules.create("x", "* * * * *", promise_timeout=1),
        "schedules.get": lambda c: c.schedules.get("x"),
        "schedules.delete": lambda c: c.schedules.delete("x"),
        "schedules.pause": lambda c: c.schedules.pause("x"),
        "schedules.search": lambda c: c.schedules.search(),
        "jobs.enqueue": lambda c: c.jobs.enqueue("t", 1),
        "jobs.enqueue_many": lambda c: c.jobs.enqueue_many("t", [1, 2]),
        "jobs.get": lambda c: c.jobs.get("x"),
        "jobs.claim": lambda c: c.jobs.claim("q", worker="w", lease=1),
        "jobs.start": lambda c: c.jobs.start("x", 1),
        "jobs.start_many": lambda c: c.jobs.start_many([("x", 1), ("y", 1)]),
        "jobs.heartbeat": lambda c: c.jobs.heartbeat("w", [("x", 1)]),
        "jobs.complete": lambda c: c.jobs.complete("x", 1),
        "jobs.complete_many": lambda c: c.jobs.complete_many([("x", 1, 1), ("y", 1, 1)]),
        "jobs.fail": lambda c: c.jobs.fail("x", 1, "E"),
        "jobs.release": lambda c: c.jobs.release("x", 1),
        "jobs.snooze": lambda c: c.jobs.snooze("x", 1, 5),
        "jobs.report": lambda c: c.jobs.report("x", 1, progress=0.5),
        "jobs.cancel": lambda c: c.jobs.cancel("x"),
        "jobs.run": lambda c: c.jobs.run("x"),
        "jobs.delete": lambda c: c.jobs.delete("x"),
        "jobs.cancel_all": lambda c: c.jobs.cancel_all(type="t"),
        "jobs.run_all": lambda c: c.jobs.run_all("archived", type="t"),
        "jobs.delete_all": lambda c: c.jobs.delete_all("completed", type="t"),
        "jobs.search": lambda c: c.jobs.search(),
        "queues.set": lambda c: c.queues.set("q", weight=1),
        "queues.get": lambda c: c.queues.get("q"),
        "queues.list": lambda c: c.queues.list(),
        "queues.stats": lambda c: c.queues.stats(),
        "wait": lambda c: c.wait("x", timeout=5),
        "result": lambda c: c.result("x", timeout=5),
    }


CALLS = _calls()
#: Calls whose answer has no members that they need.
NOTHING = ("release", "heartbeat", "halt", "resume", "delete", "suspend")


@both
def test_each_call_judges_its_answer(send: Any) -> None:
    cases: list[tuple[str, Respond, Callable[[Any], Any]]] = []
    members = ("promise", "promises", "task", "tasks", "schedule", "schedules", "job", "jobs", "queue", "queues", "count")
    members += ("cancelled", "lost", "action", "preload", "more")
    for name, call in CALLS.items():
        shapes: list[Any] = [None, [1, 2], 5, '"x"']
        if name.partition(".")[2] not in NOTHING or name == "jobs.heartbeat":
            shapes += [
                {},
                dict.fromkeys(members),
                dict.fromkeys(members, 5),
                {key: [5] for key in members},
                {key: {} for key in members},
            ]
        cases += [(f"{name}: {str(data)[:30]}", with_data(data), call) for data in shapes]
    for name, error in _errors(send, cases):
        assert type(error) is NoEnvelope, (name, error)


@both
def test_more_or_fewer_answers_than_asked(send: Any) -> None:
    names = ("jobs.enqueue_many", "jobs.start_many", "jobs.complete_many")
    cases = [
        (f"{name} {count}", with_data({"jobs": [{"status": 200, "job": JOB}] * count}), CALLS[name])
        for name in names
        for count in (0, 1, 3)
    ]
    cases += [
        (f"{name} {status}", with_data({"jobs": [{"status": status, "job": JOB}] * 2}), CALLS[name])
        for name in names
        for status in (True, "200", None, 2**70, -1, 1.5)
    ]
    for name, error in _errors(send, cases):
        assert type(error) is NoEnvelope, (name, error)


@both
def test_jobs_beside_one_that_is_refused(send: Any) -> None:
    """They are read for the error that names them: `PartlyEnqueued`."""
    refused = {"status": 409, "error": "no"}
    cases = [
        (repr(job), with_data({"jobs": [{"status": 200, "job": job}, refused]}), CALLS["jobs.enqueue_many"])
        for job in ("x", 5, None, [], {}, {**JOB, "state": "odd"})
    ]
    for name, error in _errors(
        send, [*cases, ("none", with_data({"jobs": [{"status": 200}, refused]}), CALLS["jobs.enqueue_many"])]
    ):
        assert type(error) is NoEnvelope, (name, error)


@both
def test_a_count_that_makes_the_request_again(send: Any) -> None:
    counts = (0, -1, True, 2**63, 1.5, None)
    cases = [(str(count), with_data({"count": count, "more": True}), CALLS["jobs.delete_all"]) for count in counts]
    for name, error in _errors(send, cases):
        assert type(error) is NoEnvelope, (name, error)


@both
def test_a_refusal_is_cut_and_escaped(send: Any) -> None:
    with (
        enemy(with_data(json.dumps("\x1b[31m\u202e" + "a" * 1_000_000), status=404)) as server,
        pytest.raises(rc.NotFound) as raised,
    ):
        send(server.url, _get)
    assert str(raised.value).startswith("\\x1b[31m\\u202eaaa") and len(str(raised.value)) < 20_000


@both
def test_a_stranger_in_the_stream_of_a_wait(send: Any) -> None:
    for event in (
        b"data: [1]\n",
        b"data: {\n",
        b'data: {"kind": "unblock", "data": 5}\n',
        b"data: \xff\n",
        b"data: " + b"[" * 200_000 + b"\n",
    ):
        with enemy(_waiting(event)) as server, pytest.raises(NoEnvelope):
            send(server.url, lambda client: client.wait("x", timeout=20))


@both
def test_a_line_without_an_end_in_the_stream_of_a_wait(send: Any) -> None:
    with enemy(_waiting(b"data: ", b"a" * 65_536)) as server, pytest.raises(NoEnvelope):
        send(server.url, lambda client: client.wait("x", timeout=20), answer_bytes=1_000_000)


def _waiting(event: bytes, more: bytes | None = None) -> Callable[[Asked], Sent]:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n"

    def respond(asked: Asked) -> Sent:
        if asked.path.startswith("/poll/"):
            if more is not None:
                return endless(head + event, more)
            return _slowly(itertools.chain([head], itertools.repeat(event)))
        return http(envelope(asked, {"promise": PROMISE}))

    return respond


def test_no_cookie_is_kept() -> None:
    respond = with_data({"promise": PROMISE}, "set-cookie: a=b", "set-cookie: c=d; Path=/")
    with enemy(respond) as server, rc.connect(server.url) as client:
        client.promises.get("x")
        assert not client._remote.server._http.cookies


@pytest.mark.parametrize("given", [0, -1, True, 1.5, "1", None])
def test_a_limit_that_is_none(given: Any) -> None:
    with pytest.raises(rc.Invalid, match="answer_bytes must be an int of at least 1"):
        rc.connect("http://127.0.0.1:1", answer_bytes=given)
