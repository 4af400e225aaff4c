"""Half of a surrogate pair in the prefix of a token, which JSON can contain, made every request with the token a 500."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.server.auth import Unauthorized
from server.app_calls import call
from server.security_table import app_of, envelope, token
from server.tokens import clock_at, signed, with_secret

HALVES = ["\ud800", "shop.\udfff", "\udc00\ud800", "a\ud83d."]


@pytest.mark.parametrize("half", HALVES, ids=ascii)
@pytest.mark.parametrize(
    "claims",
    [
        lambda half: {"prefix": half},
        lambda half: {"prefix": "a.", "queues": half},
        lambda half: {"prefix": "a.", "queues": ["mail", half]},
    ],
)
def test_such_a_token_does_not_hold(claims: Any, half: str) -> None:
    with pytest.raises(Unauthorized, match="half of a surrogate pair"):
        with_secret(clock_at()).identify(signed(claims(half)))
    bearer = token(claims(half))
    for kind, data in (("promise.search", {}), ("promise.get", {"id": "a.1"}), ("job.enqueue", {"id": "a.1", "type": "t"})):
        for place in ("header", "head"):
            assert asyncio.run(_ask(kind, data, bearer, place)) == 401
    assert asyncio.run(_stream(bearer)) == 401


@pytest.mark.parametrize("half", HALVES, ids=ascii)
def test_elsewhere_in_a_token_it_does_no_harm(half: str) -> None:
    for claims in ({"role": half}, {"role": "admin", "sub": half}, {"prefix": "a.", "name": {half: half}}):
        assert asyncio.run(_ask("promise.get", {"id": "a.1"}, token(claims), "header")) in (403, 404)


@pytest.mark.parametrize("text", [rb"\ud800", rb"x\udfff"])
def test_in_an_envelope_it_is_a_400(text: bytes) -> None:
    whole = rb'{"kind":"promise.get","head":{"corrId":"c","version":"2026-04-01","auth":"%s"},"data":{"id":"p"}}' % text
    for sent in (
        whole,
        whole.replace(b'"c"', b'"%s"' % text),
        whole.replace(b'"p"', b'"%s"' % text),
        whole.replace(b"promise.get", text),
    ):

        async def asked(sent: bytes = sent) -> int:
            with Store(clock=ManualClock(1000)) as store:
                app = app_of(store)
                async with app.lifespan():
                    return (await call(app, body=sent)).status

        assert asyncio.run(asked()) in (400, 401)


async def _ask(kind: str, data: Any, bearer: str, place: str) -> int:
    with Store(clock=ManualClock(1000)) as store:
        app = app_of(store)
        async with app.lifespan():
            sent = envelope(kind, data)
            if place == "head":
                sent["head"]["auth"] = bearer
            headers = {"authorization": f"Bearer {bearer}"} if place == "header" else {}
            return (await call(app, body=json.dumps(sent).encode(), headers=headers)).status


async def _stream(bearer: str) -> int:
    with Store(clock=ManualClock(1000)) as store:
        app = app_of(store)
        async with app.lifespan():
            return (await call(app, "HEAD", "/poll/g/i", headers={"authorization": f"Bearer {bearer}"})).status
