"""The call tree of a workflow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from protocol_server import FAR, Run, Server

import resonate_core as rc
from resonate_core.cli.values import encode


def tags(parent: str, scope: str = "global", origin: str = "order", **more: str) -> dict[str, str]:
    named = {f"resonate:{name.replace('_', '-')}": value for name, value in more.items()}
    return {"resonate:origin": origin, "resonate:parent": parent, "resonate:scope": scope, **named}


def call(func: str) -> rc.Value:
    return rc.Value(data=encode({"func": func, "args": [], "version": 1}))


def workflow(store: rc.Store) -> None:
    """Creates the workflow `order` and, beside it, the promise `orders`.

    The calls of `order` wait for a worker, for a sleep and for a person; one is resolved, one rejected and one halted.
    """
    store.tasks.create("order", FAR, pid="w1", ttl=60_000, target="poll://any@shop", param=call("order"), tags=tags("order"))
    store.promises.create("order.1", FAR, param=call("reserve"), tags=tags("order", "local"))
    store.promises.resolve("order.1", True)
    store.promises.create("order.2", FAR, param=call("charge"), tags=tags("order", target="poll://any@[bold]pay"))
    store.tasks.acquire("order.2", 0, pid="pay-7", ttl=60_000)
    store.promises.create("order.2.1", FAR, tags=tags("order.2", timer="true"))
    store.promises.create("order.3", FAR, tags=tags("order"))
    store.promises.create("order.4", FAR, param=call("refuse"), tags=tags("order", "local"))
    store.promises.reject("order.4", "no")
    store.promises.create("order.10", FAR, tags=tags("order", target="poll://any@late"))
    store.promises.create("order.9", FAR, tags=tags("order", target="poll://any@halted"))
    store.tasks.halt("order.9")
    store.tasks.suspend("order", 1, ["order.2", "order.3"])
    store.promises.create("orders", FAR, tags=tags("orders", origin="orders"))


@pytest.fixture(params=["file", "url"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    """A store, and the flags that name it."""
    if request.param == "url":
        server: Server = request.getfixturevalue("server")
        server.store = rc.Store()
        yield server.store, ["--url", server.url]
        return
    with rc.Store(tmp_path / "t.db") as store:
        yield store, ["--db", str(tmp_path / "t.db")]


def rows(run: Run, id: str, store_flags: list[str]) -> list[tuple[str, int, str | None]]:
    return [(one["id"], one["depth"], one["parent"]) for one in run("tree", id, *store_flags, "--json").json["calls"]]


def test_a_workflow(run: Run, filled: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = filled
    workflow(store)
    calls: dict[str, Any] = {one["id"]: one for one in run("tree", "order", *store_flags, "--json").json["calls"]}
    assert set(calls) == {"order", "order.1", "order.2", "order.2.1", "order.3", "order.4", "order.9", "order.10"}
    assert (calls["order"]["task"]["state"], calls["order"]["func"]) == ("suspended", "order")
    assert {"order.2", "order.3"} <= set(calls["order"]["waitsFor"])
    assert (calls["order.2.1"]["parent"], calls["order.2.1"]["depth"]) == ("order.2", 2)
    assert calls["order.2"]["note"] == "run by pay-7"
    assert calls["order.2.1"]["note"].startswith("sleeps until")
    assert calls["order.3"]["note"].startswith("waits to be settled")
    assert calls["order.9"]["note"] == "halted, until a person continues it"
    assert calls["order.10"]["note"] == "waits for a worker at poll://any@late"
    assert (calls["order.4"]["state"], calls["order.4"]["note"], calls["order.4"]["task"]) == ("rejected", None, None)
    assert calls["order.1"]["durationMs"] == calls["order.1"]["settledAt"] - calls["order.1"]["createdAt"]

    drawn = run("tree", "order", *store_flags).out.splitlines()
    assert drawn[0].startswith("order  suspended  order  ")
    assert any(line.startswith("│   └── order.2.1  pending") for line in drawn)
    assert any("[bold]" in line for line in run("tree", "order.2", *store_flags).out.splitlines()) is False
    assert rows(run, "order.2", store_flags) == [("order.2", 0, None), ("order.2.1", 1, "order.2")]


def test_ids_stand_in_where_there_are_no_tags(run: Run, filled: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = filled
    for id in ("a", "a.1", "a.1.1", "a:2", "a:2.1", "ab", "ab.1", "a.3.1"):
        store.promises.create(id, FAR)
    assert sorted(rows(run, "a", store_flags)) == [
        ("a", 0, None),
        ("a.1", 1, "a"),
        ("a.1.1", 2, "a.1"),
        ("a.3.1", 1, "a"),
        ("a:2", 1, "a"),
        ("a:2.1", 2, "a:2"),
    ]
    assert rows(run, "a.1", store_flags) == [("a.1", 0, None), ("a.1.1", 1, "a.1")]


def test_tags_that_lead_in_a_ring_or_to_nobody(run: Run, filled: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = filled
    store.promises.create("order", FAR, tags=tags("order.x"))
    store.promises.create("order.x", FAR, tags=tags("order.y"))
    store.promises.create("order.y", FAR, tags=tags("order.x"))
    store.promises.create("stray", FAR, tags=tags("nobody"))
    found = rows(run, "order", store_flags)
    assert sorted(id for id, _, _ in found) == ["order", "order.x", "order.y", "stray"]
    assert ("stray", 1, "order") in found


def test_a_star_in_an_id_is_no_wildcard(run: Run, filled: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = filled
    for id in ("*", "*.1", "a.1"):
        store.promises.create(id, FAR)
    assert [id for id, _, _ in rows(run, "*", store_flags)] == ["*", "*.1"]


def test_deeper_than_the_stack(run: Run, filled: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = filled
    depth = 1200
    for number in range(depth):
        parent = f"n{max(number - 1, 0)}"
        store.promises.create(f"n{number}", FAR, tags=tags(parent, origin="n0"))
    found = rows(run, "n0", store_flags)
    assert found[-1] == (f"n{depth - 1}", depth - 1, f"n{depth - 2}")
    assert len(run("tree", "n0", *store_flags).out.splitlines()) == depth
