"""A token `{"role": "operate", "prefix": 5}` was one without a prefix: its bearer operated on the whole store in the dashboard."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import AuthSettings, ServerSettings, create_app
from server.app_calls import call
from server.security_table import V25, V26, envelope
from server.tokens import SECRET, by_hand

NO_TEXT: list[Any] = [5, 0, 1.5, True, False, None, [], ["b."], [""], {}, {"b.": True}, " ", "\t", "\n", "\u00a0"]
#: Claims, and values that break their rules.
WRONG: dict[str, list[Any]] = {
    "role": [*NO_TEXT, ["admin"], ["operate"], {"admin": True}, " admin", "operate "],
    "prefix": NO_TEXT,
    "queues": [5, True, False, None, {}, {"mail": True}, [5], ["mail", None], [["mail"]], " ", ["mail", " "]],
    "sub": [5, True, None, [], ["ann"], {}],
    "iss": [5, True, None, [], ["me"], {}],
}
#: What the other claims would permit.
OTHERS: list[dict[str, Any]] = [
    {"role": "admin"},
    {"role": "operate"},
    {"role": "read", "prefix": "b."},
    {"prefix": "b."},
    {"prefix": ""},
]
DOORS: list[tuple[str, str, Any]] = [
    ("GET", "/ui/api/session", None),
    ("GET", "/ui/api/promise?id=a.awaiter", None),
    ("GET", "/ui/api/jobs", None),
    ("GET", "/ui/api/audit", None),
    ("HEAD", "/ui/api/events", None),
    ("POST", "/ui/api/do", {"kind": "job.cancel", "data": {"id": "a.job"}}),
    ("POST", "/ui/api/travel/fork", {}),
    ("POST", "/", envelope("promise.get", {"id": "a.awaiter"}, V26)),
    ("POST", "/", envelope("promise.get", {"id": "a.awaiter"}, V25)),
    ("POST", "/", envelope("promise.search", {}, V26)),
    ("POST", "/", envelope("job.enqueue", {"id": "b.1", "type": "t"}, V26)),
    ("HEAD", "/poll/any/1", None),
    ("HEAD", "/jobs/claimable?queue=b.q", None),
    ("HEAD", "/jobs/claimable?queue=default", None),
    ("GET", "/metrics", None),
]
PAGE = {"content-type": "application/json", "x-resonate-ui": "1"}


def statuses(tokens: list[dict[str, Any]], changes: bool = False) -> list[list[tuple[str, str, int]]]:
    """Sends each token to every door."""

    async def of_each(app: Any, claims: dict[str, Any]) -> list[tuple[str, str, int]]:
        bearer = by_hand({"alg": "HS256"}, {"exp": 4_000_000_000, **claims})
        found = []
        for method, target, body in DOORS:
            sent = b"" if body is None else json.dumps(body).encode()
            headers = {"authorization": f"Bearer {bearer}", **PAGE}
            found.append((method, target, (await call(app, method, target, sent, headers)).status))
            if target == "/":
                in_head = {**body, "head": {**body["head"], "auth": bearer}}
                found.append((method, "/ by head", (await call(app, "POST", "/", json.dumps(in_head).encode())).status))
        return found

    async def main() -> list[list[tuple[str, str, int]]]:
        with Store(clock=ManualClock(1000)) as store:
            store.promises.create("a.awaiter", timeout=10**9)
            store.jobs.enqueue("t", id="a.job")
            before = store.digest()
            app = create_app(store, auth=AuthSettings(secret=SECRET), server=ServerSettings(ui=True))  # type: ignore[arg-type]
            async with app.lifespan():
                found = [await of_each(app, claims) for claims in tokens]
            assert changes or store.digest() == before
        return found

    return asyncio.run(main())


@pytest.mark.parametrize("name", WRONG)
def test_a_claim_of_a_wrong_type_is_a_403_at_every_door(name: str) -> None:
    tokens = [{**others, name: value} for value in WRONG[name] for others in OTHERS]
    for claims, found in zip(tokens, statuses(tokens), strict=True):
        assert {status for _, _, status in found} == {403}, (claims, found)


def test_claims_of_the_right_type_hold() -> None:
    tokens: list[dict[str, Any]] = [
        {"role": "admin", "sub": "ann", "queues": []},
        {"role": "operate", "queues": "mail", "name": {"any": 1}, "roles": 7},
        {"role": "reader"},
        {"prefix": " a."},
    ]
    assert [found[0] for found in statuses(tokens, changes=True)] == [("GET", "/ui/api/session", 200)] * len(tokens)
