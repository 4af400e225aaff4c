"""The limits of one request: lists, tags, ids, nesting."""

from __future__ import annotations

import json
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import LimitSettings
from server.asking import FAR, ask, envelope, refused

LISTS = [
    ("task.heartbeat", lambda n: {"pid": "w", "tasks": [{"id": "t", "version": 1}] * n}),
    ("task.suspend", lambda n: {"id": "t", "version": 1, "actions": [
        envelope("promise.register_callback", {"awaited": f"p{i}", "awaiter": "t"}) for i in range(n)]}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "make"), LISTS)
def test_lists(kind: str, make: Any) -> None:
    for count, too_long in ((3, False), (4, True)):
        (answer,) = ask({"body": json.dumps(envelope(kind, make(count))).encode()}, limits=LimitSettings(list_length=3))
        assert (answer.status == 400) == too_long, answer
        if too_long:
            assert "3" in refused(answer, 400, kind)


@pytest.mark.parametrize("what", ["tags", "headers"])
def test_tags_and_headers(what: str) -> None:
    for count, too_many in ((3, False), (4, True)):
        names = {f"n{i}": "v" for i in range(count)}
        data = {"id": "p", "timeoutAt": FAR, **({"tags": names} if what == "tags" else {"param": {"headers": names}})}
        with Store(clock=ManualClock(1000)) as store:
            (answer,) = ask(
                {"body": json.dumps(envelope("promise.create", data)).encode()}, store=store, limits=LimitSettings(tags=3)
            )
            assert answer.status == (400 if too_many else 200)
            assert len(store.snapshot()["promises"]) == (0 if too_many else 1)


# fmt: off
IDS: list[tuple[str, Any]] = [
    ("promise.get", lambda id: {"id": id}),
    ("promise.create", lambda id: {"id": id, "timeoutAt": FAR}),
    ("promise.create", lambda id: {"id": "p", "timeoutAt": FAR, "tags": {id: "v"}}),
    ("promise.settle", lambda id: {"id": id, "state": "resolved"}),
    ("promise.register_callback", lambda id: {"awaited": id, "awaiter": "t"}),
    ("promise.register_callback", lambda id: {"awaited": "t", "awaiter": id}),
    ("promise.register_listener", lambda id: {"awaited": "p", "address": "x:" + id[2:]}),
    ("task.get", lambda id: {"id": id}),
    ("task.acquire", lambda id: {"id": "t", "version": 0, "pid": id, "ttl": 5}),
    ("task.fence", lambda id: {"id": "t", "version": 0, "action": envelope("promise.create", {"id": id, "timeoutAt": FAR})}),
    ("task.heartbeat", lambda id: {"pid": id, "tasks": []}),
    ("task.heartbeat", lambda id: {"pid": "w", "tasks": [{"id": id, "version": 1}]}),
    ("schedule.get", lambda id: {"id": id}),
    ("schedule.create", lambda id: {"id": id, "cron": "@hourly", "promiseId": "p", "promiseTimeout": 5}),
    ("schedule.create", lambda id: {"id": "s", "cron": "@hourly", "promiseId": id, "promiseTimeout": 5}),
]
# fmt: on


@pytest.mark.parametrize(("kind", "make"), IDS)
@pytest.mark.parametrize("letter", ["i", "é", "𝄞"])
def test_ids_addresses_and_names_are_measured_in_bytes(kind: str, make: Any, letter: str) -> None:
    limits = LimitSettings(id_bytes=40)
    wide = len(letter.encode())
    fits, too_long = "ab" + letter * (36 // wide) + "cd", "ab" + letter * (36 // wide) + "cde"
    with Store(clock=ManualClock(1000)) as store:
        fitting, refusal = ask(
            *({"body": json.dumps(envelope(kind, make(id))).encode()} for id in (fits, too_long)), store=store, limits=limits
        )
    assert fitting.status != 400, fitting
    assert "40" in refused(refusal, 400, kind)


def test_nesting() -> None:
    for depth, too_deep in ((10, False), (11, True)):
        deep: Any = 5
        for _ in range(depth - 1):
            deep = [deep]
        (answer,) = ask({"body": json.dumps({**envelope(), "more": deep}).encode()}, limits=LimitSettings(nesting=10))
        assert answer.status == (400 if too_deep else 404)


def test_the_defaults_take_what_the_protocol_s_clients_send() -> None:
    tasks = [{"id": f"t{i}", "version": 1} for i in range(10_000)]
    (answer,) = ask({"body": json.dumps(envelope("task.heartbeat", {"pid": "w", "tasks": tasks})).encode()})
    assert answer.status == 200
