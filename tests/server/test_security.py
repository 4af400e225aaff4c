"""Tokens on operations: 401, 403 or the result; a refusal shows nothing and changes nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.server.metrics import KINDS
from server.app_calls import call
from server.security_table import (
    FAR,
    OPERATIONS,
    OTHER,
    OWN,
    TOKENS,
    Operation,
    Worlds,
    answer,
    app_of,
    cell,
    envelope,
    token,
    world,
)
from tiers import FULL, runs

RESTRICTED = token({"prefix": OWN})


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_every_token_on_every_operation(operation: Operation) -> None:
    """`scripts/test --full` sends each token in each place; CI sends it in one, in turn, so each operation has both and each token too."""
    turn = OPERATIONS.index(operation)

    def places(number: int) -> tuple[str, ...]:
        if operation.envelope is None:
            return ("header",)
        return ("header", "head") if runs(FULL) else (("header", "head")[(turn + number) % 2],)

    async def judge() -> None:
        with Store(clock=ManualClock(1000), debug=True) as nothing:
            empty = app_of(nothing)
            async with empty.lifespan(), Worlds() as worlds:
                for number, (name, bearer, right) in enumerate(TOKENS):
                    for place in places(number):
                        given, changed = await worlds.answer(operation, bearer, place)
                        assert given.status == operation.expected(right), (name, place, given)
                        if given.status in (401, 403):
                            assert not changed, (name, place)
                            assert given.headers["content-type"] == "application/json"
                            elsewhere = await answer(empty, operation, bearer, place)
                            assert given == elsewhere, "a refusal depends on what exists"

    asyncio.run(judge())


@pytest.mark.parametrize("place", ["header", "head"])
def test_what_a_refusal_says(place: str) -> None:
    operation = next(one for one in OPERATIONS if one.name == "2026 promise.get: others'")
    for bearer, text, status in (("x.y.z", "Unauthorized", 401), (RESTRICTED, "Forbidden", 403)):
        given, _ = asyncio.run(cell(operation, bearer, place))
        assert given.json() == {
            "kind": "promise.get",
            "head": {"corrId": "c", "status": status, "version": "2026-04-01"},
            "data": text,
        }


async def _ask(store: Store, kind: str, data: Any, bearer: str = RESTRICTED, version: str = "2026-04-01") -> Any:
    app = app_of(store)
    async with app.lifespan():
        body = json.dumps(envelope(kind, data, version)).encode()
        given = await call(app, body=body, headers={"authorization": f"Bearer {bearer}"})
    assert given.status == 200, given
    assert OTHER.encode() not in given.body, "something of others shows"
    return given.json()["data"]


@pytest.mark.parametrize("noun", ["promise", "task", "schedule"])
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_search_finds_own_ids_alone_page_by_page(noun: str, limit: int) -> None:
    """Others' ids are before, between and after them; the last page has no cursor."""
    with world() as store:
        for id in ("a", "tenant1", "tenant10", "tenant1/x", "z", OWN + "zz"):
            store.promises.create(id, FAR, tags={"resonate:target": "poll://any@g"})
            store.schedules.create(id, "@hourly", promise_id="{{.timestamp}}", promise_timeout=1)
        expected = sorted(one["id"] for one in _all(store, noun) if one["id"].startswith(OWN))
        found: list[str] = []
        cursor: str | None = None
        pages = 0
        while pages == 0 or cursor is not None:
            page = asyncio.run(_ask(store, f"{noun}.search", {"limit": limit, **({"cursor": cursor} if cursor else {})}))
            found += [one["id"] for one in page[f"{noun}s"]]
            cursor = page.get("cursor")
            pages += 1
            assert pages <= len(expected) + 1
        assert found == expected and len(expected) >= 2


def _all(store: Store, noun: str) -> Any:
    """Sends a request as an administrator."""
    return store.apply(envelope(f"{noun}.search", {"limit": 1000}))["data"][f"{noun}s"]


@pytest.mark.parametrize("cursor", ["", "a", "tenant1", OTHER + "p", "z", "\U0010ffff"])
def test_a_cursor_is_no_way_around(cursor: str) -> None:
    with world() as store:
        asyncio.run(_ask(store, "promise.search", {"cursor": cursor}))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("task.acquire", {"id": OWN + "t", "version": 0, "pid": "w", "ttl": 9}),
        ("task.create", {"pid": "w", "ttl": 9, "action": envelope("promise.create", {
            "id": OWN + "new", "timeoutAt": FAR, "tags": {"resonate:target": "poll://any@g", "resonate:branch": "shared"}})}),
        ("task.fence", {"id": OWN + "acquired", "version": 1, "action": envelope("promise.create", {"id": OWN + "n", "timeoutAt": 5})}),
    ],
)  # fmt: skip
def test_a_preload_holds_own_promises_alone(kind: str, data: Any) -> None:
    with world() as store:
        whole = store.fork().apply(envelope(kind, data))["data"]["preload"]
        assert any(one["id"].startswith(OTHER) for one in whole), "the branch holds others' too"
        given = asyncio.run(_ask(store, kind, data))["preload"]
        assert given == [one for one in whole if one["id"].startswith(OWN)] and given


def test_the_preload_of_a_suspend_that_is_sent_back_holds_own_promises_alone() -> None:
    with world() as store:
        action = envelope("promise.register_callback", {"awaited": OWN + "settled", "awaiter": OWN + "acquired"})
        data = {"id": OWN + "acquired", "version": 1, "actions": [action]}

        async def ask() -> Any:
            app = app_of(store)
            async with app.lifespan():
                body = json.dumps(envelope("task.suspend", data)).encode()
                return await call(app, body=body, headers={"authorization": f"Bearer {RESTRICTED}"})

        given = asyncio.run(ask())
        assert given.status == 300 and given.json()["data"]["preload"]
        assert OTHER.encode() not in given.body


@pytest.mark.parametrize("version", ["2026-04-01", "2025-01-15"])
def test_an_empty_heartbeat_renews_own_leases_alone(version: str) -> None:
    with world() as store:
        store.tick(2000)
        before = {half: _lease(store, half) for half in (OWN, OTHER)}
        asyncio.run(_ask(store, "task.heartbeat", {"pid": "w", "tasks": []}, version=version))
        assert before[OWN] == before[OTHER] == 6000
        assert (_lease(store, OWN), _lease(store, OTHER)) == (7000, 6000)


def _lease(store: Store, half: str) -> int:
    rows = {one["id"]: one["task"] for one in store.snapshot()["promises"] if "task" in one}
    lease: int = rows[half + "acquired"]["expiresAt"]
    return lease


@pytest.mark.parametrize(
    ("bearer", "moves"), [(RESTRICTED, False), (token({"prefix": ""}), True), (token({"role": "ADMIN"}), True)]
)
def test_debug_time_is_for_those_who_may_debug(bearer: str, moves: bool) -> None:
    with world() as store:
        sent = envelope("promise.get", {"id": OWN + "p"})
        sent["head"]["resonate:debug_time"] = 5000

        async def ask() -> int:
            app = app_of(store)
            async with app.lifespan():
                return (await call(app, body=json.dumps(sent).encode(), headers={"authorization": f"Bearer {bearer}"})).status

        assert asyncio.run(ask()) == 200
        assert store.now == (5000 if moves else 1000)


def test_the_table_has_every_kind() -> None:
    named = {one.envelope["kind"] for one in OPERATIONS if one.envelope is not None}
    assert named == KINDS
