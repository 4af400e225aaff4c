"""Requests that are too large or malformed, or have a wrong path or method; limits; CORS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import DeliverySettings, LimitSettings, PushSettings, ServerSettings, create_app
from resonate_core.server import app as app_module
from server.app_calls import Answer, call, scope_of
from server.asking import FAR, ask, envelope, refused


def padded(size: int) -> bytes:
    """Returns a valid request of this many bytes."""
    text = json.dumps({**envelope(), "more": ""}).encode()
    return text[:-2] + b"x" * (size - len(text)) + text[-2:]


@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("declares_length", [True, False])
def test_a_body_up_to_the_limit_is_taken_and_no_longer(parts: int, declares_length: bool) -> None:
    for size, status in ((1024, 404), (1025, 413), (3000, 413)):
        body = padded(size)
        cut = [body[i * size // parts : (i + 1) * size // parts] for i in range(parts)]
        headers = {"content-length": str(size)} if declares_length else {}
        (answer,) = ask({"body": cut, "headers": headers}, limits=LimitSettings(body_bytes=1024))
        if status == 404:
            refused(answer, 404)
        else:
            assert "1024" in refused(answer, 413, "unknown", "0")
            assert answer.headers["connection"] == "close"


def test_a_body_that_does_not_end_is_not_read_to_its_end() -> None:
    (answer,) = ask({"body": [b"x" * 1000] * 1000}, limits=LimitSettings(body_bytes=2048))
    assert answer.status == 413


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("length", ["-1", "+5", "abc", "5, 5", "1e3", "", " 5", "²", "٣", "9" * 400, "9" * 5000])
def test_a_content_length_that_is_none_is_not_what_is_gone_by(length: str, parts: int) -> None:
    """A server in front normally refuses or corrects such a header; the app gives the right response all the same."""
    scope = scope_of("POST", "/")
    scope["headers"] = [(b"content-length", length.encode("latin-1", "replace"))]
    body = json.dumps(envelope()).encode()
    given = iter([body] if parts == 1 else [body[:9], body[9:]])

    async def main() -> int:
        app = create_app(Store(), push=PushSettings(enabled=False), delivery=DeliverySettings(enabled=False))
        sent: list[Any] = []

        async def receive() -> Any:
            part = next(given)
            return {"type": "http.request", "body": part, "more_body": part != body and part != body[9:]}

        async def send(message: Any) -> None:
            sent.append(message)

        async with app.lifespan():
            await app(scope, receive, send)
        return int(sent[0]["status"])

    assert asyncio.run(main()) in ((404, 413) if length[:1] == "9" else (404,))


def test_what_comes_late_in_a_body_is_waited_for_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "_BODY_TIMEOUT", 0.02)

    async def main(parts: list[bytes]) -> list[Any]:
        sent: list[Any] = []
        given = iter(parts)

        async def receive() -> Any:
            part = next(given, None)
            if part is None:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": part, "more_body": True}

        async def send(message: Any) -> None:
            sent.append(message)

        app = create_app(Store(), push=PushSettings(enabled=False), delivery=DeliverySettings(enabled=False))
        async with app.lifespan():
            await app(scope_of("POST", "/", {"content-length": "500"}), receive, send)
        return sent

    for parts in ([], [b""], [b'{"kind":', b'"promise.get"']):
        start, body = asyncio.run(main(parts))
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        refused(Answer(start["status"], headers, body["body"]), 408, "unknown", "0")
        assert headers["connection"] == "close"


@pytest.mark.parametrize(
    "parts", [[], [b'{"kind":'], [json.dumps(envelope("promise.create", {"id": "p", "timeoutAt": FAR})).encode()]]
)
def test_a_client_that_goes_away_in_the_middle_has_asked_nothing(parts: list[bytes]) -> None:
    async def main() -> None:
        with Store(clock=ManualClock(1000)) as store:
            app = create_app(store, push=PushSettings(enabled=False), delivery=DeliverySettings(enabled=False))
            given = iter(parts)
            sent: list[Any] = []

            async def receive() -> Any:
                part = next(given, None)
                return {"type": "http.disconnect"} if part is None else {"type": "http.request", "body": part, "more_body": True}

            async def send(message: Any) -> None:
                sent.append(message)

            async with app.lifespan():
                before = store.digest()
                await app(scope_of("POST", "/"), receive, send)
                assert store.digest() == before and sent == []

    asyncio.run(main())


VALID = json.dumps(envelope()).encode()
# fmt: off
MALFORMED: list[tuple[str, bytes, str, str]] = [
    ("nothing", b"", "unknown", "0"),
    ("blank", b" \r\n\t", "unknown", "0"),
    ("no JSON", b"hello", "unknown", "0"),
    ("half of it", VALID[:-9], "unknown", "0"),
    ("trailing garbage", VALID + b"x", "unknown", "0"),
    ("twice", VALID + VALID, "unknown", "0"),
    ("a trailing comma", VALID[:-1] + b",}", "unknown", "0"),
    ("a byte order mark", b"\xef\xbb\xbf" + VALID, "unknown", "0"),
    ("UTF-16", VALID.decode().encode("utf-16"), "unknown", "0"),
    ("not UTF-8", VALID.replace(b"nobody", b"\xff\xfe"), "unknown", "0"),
    ("overlong UTF-8", VALID.replace(b"nobody", b"\xc0\xaf"), "unknown", "0"),
    ("a surrogate in UTF-8", VALID.replace(b"nobody", b"\xed\xa0\x80"), "unknown", "0"),
    ("a lone surrogate, escaped", VALID.replace(b"nobody", b"\\ud800"), "promise.get", "c"),
    ("a control character", VALID.replace(b"nobody", b"a\nb"), "unknown", "0"),
    ("a NUL byte", VALID.replace(b"nobody", b"a\x00b"), "unknown", "0"),
    ("NUL behind it", VALID + b"\x00", "unknown", "0"),
    ("an escaped NUL", VALID.replace(b"nobody", b"a\\u0000b"), "promise.get", "c"),
    ("a comment", b"/* */" + VALID, "unknown", "0"),
    ("single quotes", VALID.replace(b'"', b"'"), "unknown", "0"),
    ("a list", b"[" + VALID + b"]", "unknown", "0"),
    ("text", b'"promise.get"', "unknown", "0"),
    ("null", b"null", "unknown", "0"),
    ("NaN", VALID.replace(b'"nobody"', b"NaN"), "unknown", "0"),
    ("a number with a leading zero", VALID.replace(b'"nobody"', b"05"), "unknown", "0"),
    ("no kind", b'{"head":{"corrId":"c","version":"2026-04-01"},"data":{"id":"a"}}', "unknown", "c"),
    ("no head", b'{"kind":"promise.get","data":{"id":"a"}}', "promise.get", "0"),
    ("no data", b'{"kind":"promise.get","head":{"corrId":"c","version":"2026-04-01"}}', "promise.get", "c"),
    ("no version", b'{"kind":"promise.get","head":{"corrId":"c"},"data":{"id":"a"}}', "promise.get", "c"),
    ("another version", VALID.replace(b"2026-04-01", b"2027-01-01"), "promise.get", "c"),
    ("corrId a number", VALID.replace(b'"c"', b"5"), "promise.get", "0"),
    ("an unknown kind", VALID.replace(b"promise.get", b"promise.burn"), "promise.burn", "c"),
    ("kind empty", VALID.replace(b"promise.get", b""), "", "c"),
    ("id an integer", VALID.replace(b'"nobody"', b"5"), "promise.get", "c"),
    ("id empty", VALID.replace(b"nobody", b""), "promise.get", "c"),
    ("a huge integer", json.dumps(envelope("promise.create", {"id": "p", "timeoutAt": 2**63})).encode(), "promise.create", "c"),
    ("a negative instant", json.dumps(envelope("promise.create", {"id": "p", "timeoutAt": -1})).encode(), "promise.create", "c"),
    ("a float", json.dumps(envelope("promise.create", {"id": "p", "timeoutAt": 5.0})).encode(), "promise.create", "c"),
    ("an exponent", b'{"kind":"promise.create","head":{"corrId":"c","version":"2026-04-01"},"data":{"id":"p","timeoutAt":1e3}}', "promise.create", "c"),
    ("a form", b"kind=promise.get&id=a", "unknown", "0"),
]
# fmt: on


@pytest.mark.parametrize(("body", "kind", "corr"), [one[1:] for one in MALFORMED], ids=[one[0] for one in MALFORMED])
def test_malformed_bodies(body: bytes, kind: str, corr: str) -> None:
    (answer,) = ask({"body": body})
    refused(answer, 400, kind, corr)


def test_a_huge_integer_of_many_digits() -> None:
    (answer,) = ask({"body": VALID.replace(b'"nobody"', b"1" * 100_000)})
    assert answer.status == 400


@pytest.mark.parametrize(
    "text",
    [
        VALID.replace(b'"kind"', b'"kind":"promise.create","kind"'),
        VALID.replace(b'"id"', b'"id":"other","id"'),
        VALID.replace(b'"corrId"', b'"corrId":"other","corrId"'),
    ],
)
def test_a_member_that_stands_twice_means_one_thing_to_all(text: bytes) -> None:
    """The check of permissions and the engine read the same one of two equal members, so neither can hide an id from the check."""
    import jwt

    from resonate_core.asgi import AuthSettings

    secret = "a secret of the tests, thirty-two bytes or more"
    auth = AuthSettings(secret=secret)
    bearer = {"authorization": "Bearer " + jwt.encode({"exp": 4e9, "prefix": "nobody"}, secret)}
    with Store(clock=ManualClock(1000)) as store:
        store.promises.create("other", FAR)
        before = store.snapshot()
        (answer,) = ask({"body": text, "headers": bearer}, store=store, auth=auth)
        assert answer.status in (400, 403, 404), answer
        assert store.snapshot() == before


@pytest.mark.parametrize("content_type", ["text/plain", "application/json; charset=utf-8", "", "application/x-www-form-urlencoded"])
def test_the_content_type_of_a_request_is_not_looked_at(content_type: str) -> None:
    (answer,) = ask({"body": VALID, "headers": {"content-type": content_type}})
    assert answer.status == 404


def test_an_empty_token_and_null_members_are_none() -> None:
    sent = [envelope(auth=None), envelope(auth=""), envelope(**{"resonate:debug_time": None})]
    assert [one.status for one in ask(*({"body": json.dumps(one).encode()} for one in sent))] == [404] * 3


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_the_protocol_is_served_by_post_alone(method: str) -> None:
    (answer,) = ask({"method": method})
    assert answer.status == 405 and answer.headers["allow"] == "POST" and answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        *((method, target, 410) for method in ("GET", "POST", "DELETE")
          for target in ("/promises", "/promises/x/y", "/tasks", "/tasks/claim", "/schedules", "/schedules/", "//tasks")),
        *((method, target, 404) for method in ("GET", "POST")
          for target in ("/promise", "/promisess", "/api/v1/promises", "/x", "/poll", "/healthz", "/favicon.ico", "/.env", "/%2e%2e/etc", "/metricss")),
        *(("GET", target, 404) for target in ("/poll/", "/poll/g", "/poll/g/", "/poll//i", "/poll/g/i/x", "/%70oll/g/i", "/poll%2Fg%2Fi")),
        *((method, "/poll/g/i", 405) for method in ("POST", "PUT", "DELETE", "OPTIONS")),
        *((method, target, 405) for method in ("POST", "PUT", "DELETE") for target in ("/health", "/ready", "/metrics")),
    ],
)  # fmt: skip
def test_other_paths(method: str, target: str, status: int) -> None:
    (answer,) = ask({"method": method, "target": target, "body": VALID})
    assert answer.status == status and answer.headers["content-type"] == "application/json"
    assert answer.json()["error"]
    assert (status == 405) == ("allow" in answer.headers)


def test_metrics_that_are_off_are_not_there() -> None:
    (answer,) = ask({"method": "GET", "target": "/metrics"}, server=ServerSettings(metrics=False))
    assert answer.status == 404 and answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("target", ["/health", "//health"])
def test_health(method: str, target: str) -> None:
    (answer,) = ask({"method": method, "target": target})
    assert (answer.status, answer.body) == (200, b"")


def test_ready() -> None:
    (answer,) = ask({"method": "GET", "target": "/ready"})
    assert (answer.status, answer.json()) == (200, {"ready": True, "problems": []})


def test_a_closed_store_is_alive_and_not_ready() -> None:
    store = Store(clock=ManualClock(1000))
    app = create_app(store, push=PushSettings(enabled=False), delivery=DeliverySettings(enabled=False))

    async def main() -> None:
        async with app.lifespan():
            store.close()
            assert (await call(app, "GET", "/health")).status == 200
            assert (await call(app, "GET", "/ready")).status == 503

    asyncio.run(main())


def test_requests_beyond_the_limit_are_told_to_come_again(tmp_path: Path) -> None:
    """Another process holds the file meanwhile; the accepted requests run when it releases the file."""

    async def main() -> None:
        with Store(tmp_path / "a.db", clock=ManualClock(1000), busy_timeout=60_000) as store:
            app = create_app(
                store,
                limits=LimitSettings(requests_in_flight=5),
                push=PushSettings(enabled=False),
                delivery=DeliverySettings(enabled=False),
            )
            bodies = [json.dumps(envelope("promise.create", {"id": f"p{i}", "timeoutAt": FAR})).encode() for i in range(9)]
            async with app.lifespan():
                with contextlib.closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
                    other.execute("BEGIN IMMEDIATE")
                    taken = [asyncio.ensure_future(call(app, body=body)) for body in bodies[:5]]
                    await asyncio.sleep(0)
                    late = [await call(app, body=body) for body in bodies[5:]]
                    other.execute("ROLLBACK")
                for answer in late:
                    refused(answer, 429, "promise.create")
                    assert answer.headers["retry-after"] == "1"
                assert [answer.status for answer in await asyncio.gather(*taken)] == [200] * 5
            assert sorted(one["id"] for one in store.snapshot()["promises"]) == [f"p{i}" for i in range(5)]

    asyncio.run(main())


def test_no_other_site_may_call_unless_it_is_named() -> None:
    asked = {
        "origin": "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,authorization",
    }
    (closed,) = ask({"method": "OPTIONS", "headers": asked})
    assert closed.status == 405 and not any(name.startswith("access-control") for name in closed.headers)
    server = ServerSettings(cors_origins=["https://app.example"])
    preflight, foreign, real, poll, bad = ask(
        {"method": "OPTIONS", "headers": asked},
        {"method": "OPTIONS", "headers": {**asked, "origin": "https://evil.example"}},
        {"body": VALID, "headers": {"origin": "https://app.example"}},
        {"method": "GET", "target": "/poll/g/i", "headers": {"origin": "https://app.example"}},
        {"body": VALID, "headers": {"origin": "https://evil.example"}},
        server=server,
    )
    assert preflight.status == 200 and preflight.headers["access-control-allow-origin"] == "https://app.example"
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    assert foreign.status == 400 and "access-control-allow-origin" not in foreign.headers
    assert real.status == 404 and real.headers["access-control-allow-origin"] == "https://app.example"
    assert poll.status == 200 and poll.headers["access-control-allow-origin"] == "https://app.example"
    assert bad.status == 403 and "access-control-allow-origin" not in bad.headers


def test_every_site_may_call_where_all_are_allowed() -> None:
    (answer,) = ask({"body": VALID, "headers": {"origin": "https://any.example"}}, server=ServerSettings(cors_origins=["*"]))
    assert answer.headers["access-control-allow-origin"] == "*"
