"""Several envelopes in one HTTP request: each has its own permission check and its own response."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import LimitSettings, ServerSettings, create_app
from resonate_core.server.app import MOST_OF_A_BATCH
from server.app_calls import Answer, call
from server.live_server import serving
from server.raw_http import connected, post
from server.security_table import OPERATIONS, OTHER, OWN, Worlds, token

FAR = 10**15
HEAD = {"corrId": "c", "version": "2026-04-01"}


def envelope(kind: str, corr: str = "c", **data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": {**HEAD, "corrId": corr}, "data": data}


def lines(*envelopes: Any) -> bytes:
    return b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in envelopes)


def ask(store: Store, body: bytes, headers: dict[str, str] | None = None, method: str = "POST", **settings: Any) -> Answer:
    async def main() -> Answer:
        app = create_app(store, **settings)
        async with app.lifespan():
            return await call(app, method, "/batch", body, headers)

    return asyncio.run(main())


def replies(answer: Answer) -> list[dict[str, Any]]:
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
    assert answer.body.endswith(b"}\n") and answer.body.isascii()
    return [json.loads(line) for line in answer.body.splitlines()]


@pytest.fixture
def store() -> Store:
    return Store(clock=ManualClock(1000))


def test_each_has_its_own_reply_in_order(store: Store) -> None:
    body = lines(
        envelope("promise.create", "1", id="a", timeoutAt=FAR),
        envelope("promise.get", "2", id="nobody"),
        b"no JSON",
        b"",
        envelope("promise.settle", "3", id="a", state="resolved", value={"data": "MQ=="}),
        {"kind": "old", "head": {"corrId": "4", "version": "1999-01-01"}, "data": {}},
        envelope("promise.create", "5", id="line\u2028feed\n", timeoutAt=FAR),
    )
    found = replies(ask(store, body))
    assert [(one["head"]["corrId"], one["head"]["status"]) for one in found] == [
        ("1", 200),
        ("2", 404),
        ("0", 400),
        ("0", 400),
        ("3", 200),
        ("4", 400),
        ("5", 200),
    ]
    assert found[4]["data"]["promise"]["state"] == "resolved"
    assert store.promises.get("line\u2028feed\n").state == "pending"


def test_both_dialects(store: Store) -> None:
    old = {"kind": "promise.get", "head": {"corrId": "o", "version": "2025-01-15"}, "data": {"id": "a"}}
    found = replies(ask(store, lines(envelope("promise.create", id="a", timeoutAt=FAR), old) + b"\n"))
    assert [(one["head"]["status"], one["head"]["version"]) for one in found] == [(200, "2026-04-01"), (200, "2025-01-15")]


@pytest.mark.parametrize("count", [MOST_OF_A_BATCH, MOST_OF_A_BATCH + 1])
def test_how_many(store: Store, count: int) -> None:
    answer = ask(store, lines(*(envelope("promise.create", id=f"p{n}", timeoutAt=FAR) for n in range(count))))
    assert answer.headers.get("resonate-batch") == (str(MOST_OF_A_BATCH) if count == MOST_OF_A_BATCH else None)
    if count == MOST_OF_A_BATCH:
        assert len(replies(answer)) == count
    else:
        assert (answer.status, answer.json()) == (400, {"error": "a batch must have 1 to 128 envelopes, got 129"})
        assert not len(store.promises.search()), "nothing was done"


def test_limits_are_those_of_a_request(store: Store) -> None:
    two = lines(*(envelope("promise.create", id=f"p{n}", timeoutAt=FAR, param={"data": "x" * 700}) for n in range(2)))
    assert ask(store, two, limits=LimitSettings(body_bytes=1024)).status == 413
    assert not len(store.promises.search())
    assert ask(store, b"", method="GET").status == 405
    found = replies(ask(store, lines(*[envelope("promise.get", id="a")] * 5), limits=LimitSettings(requests_in_flight=2)))
    assert sorted(one["head"]["status"] for one in found) == [404, 404, 429, 429, 429]


def test_debug_operations_are_refused_unless_they_are_on(store: Store) -> None:
    body = lines(envelope("promise.create", id="a", timeoutAt=FAR), envelope("debug.reset"))
    assert [one["head"]["status"] for one in replies(ask(store, body))] == [200, 403]
    assert [one["head"]["status"] for one in replies(ask(store, body, server=ServerSettings(debug=True)))] == [200, 200]


@pytest.mark.parametrize("bearer", [None, "no token", token({}), token({"prefix": OWN}), token({"role": "admin"})])
def test_tokens_are_judged_for_each(bearer: str | None) -> None:
    """The token is in the head of an envelope, or in the header for all; the responses are those of single requests."""

    async def main() -> None:
        singles, asked = [], [operation.envelope for operation in OPERATIONS if operation.envelope is not None]
        asked = [one for one in asked if not one["kind"].startswith("debug.")][:MOST_OF_A_BATCH]
        async with Worlds() as worlds:
            for one in asked:
                headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
                answer, _ = await worlds.judge(partial(call, body=json.dumps(one).encode(), headers=headers))
                singles.append(answer.status)
            for place in ("header", "head") if bearer else ("header",):
                for at, one in enumerate(asked):
                    sent = {**one, "head": {**one["head"], "auth": bearer}} if place == "head" else one
                    headers = {"Authorization": f"Bearer {bearer}"} if bearer and place == "header" else {}
                    foreign = {
                        "kind": "promise.get",
                        "head": {**HEAD, "auth": token({"prefix": OWN})},
                        "data": {"id": OTHER + "p"},
                    }
                    answer, _ = await worlds.judge(partial(call, target="/batch", body=lines(foreign, sent), headers=headers))
                    refused, mine = [json.loads(line)["head"]["status"] for line in answer.body.splitlines()]
                    assert (refused, mine) == (403, singles[at]), (place, one)

    asyncio.run(main())


def test_over_a_socket_each_reply_says_how_many_there_may_be(store: Store) -> None:
    with serving(store) as live, connected(live.port) as connection:
        connection.send(post(envelope("promise.get", id="a")))
        assert connection.answer().headers["resonate-batch"] == str(MOST_OF_A_BATCH)
        connection.send(post(lines(*(envelope("promise.create", id=f"p{n}", timeoutAt=FAR) for n in range(100))), target="/batch"))
        assert [one["head"]["status"] for one in replies(connection.answer())] == [200] * 100
        connection.send(post(lines(envelope("promise.get", id="a")), "Origin: https://evil.example", target="/batch"))
        assert connection.answer().status == 403
