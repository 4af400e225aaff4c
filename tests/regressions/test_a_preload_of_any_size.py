"""The reply to an acquire had every promise of its branch: one of 8.5 MB delayed all other requests by 0.1 s."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from conformance.wire import DialectClient

MOST = 2**20
TAGS = {"resonate:branch": "b"}


def grown(make_store: Callable[..., Any], count: int, each: int) -> DialectClient:
    client = DialectClient(make_store(check=False))
    for i in range(count):
        client.create(f"c{i:04}", tags=TAGS, param={"headers": {}, "data": "x" * each}).must()
    client.create("task", target="poll://any@w", tags=TAGS).must()
    return client


def ids(answer: Any) -> list[str]:
    return [one["id"] for one in answer["preload"]]


def test_a_preload_ends_at_a_mebibyte_and_says_so(make_store: Callable[..., Any]) -> None:
    client = grown(make_store, 30, 100_000)
    first = [f"c{i:04}" for i in range(10)]
    acquired = client.acquire("task").must()
    assert ids(acquired) == first and acquired["preloadCut"] is True
    assert len(json.dumps(acquired.data)) < MOST + 10_000
    fenced = client.fence_create("task", 1, "new").must()
    assert ids(fenced) == first and fenced["preloadCut"] is True
    client.settle("c0020").must()
    going_on = client.suspend("task", 1, "c0020").must(300)
    assert ids(going_on) == first and going_on["preloadCut"] is True


def test_a_preload_that_is_whole_says_nothing(make_store: Callable[..., Any]) -> None:
    """So clients that check the members of a reply see those that they know."""
    client = grown(make_store, 300, 1_000)
    acquired = client.acquire("task").must()
    assert ids(acquired) == [f"c{i:04}" for i in range(300)]
    assert set(acquired.data) == {"task", "promise", "preload"}


def test_typed_calls_say_it_too(make_store: Callable[..., Any]) -> None:
    store = grown(make_store, 30, 100_000).store
    claim = store.tasks.acquire("task", 0, pid="w", ttl=10_000)
    assert claim.preload_cut and len(claim.preload) == 10
    fenced = store.tasks.fence_create("task", 1, "new", timeout=1000)
    assert fenced.preload_cut and len(fenced.preload) == 10
    store.promises.resolve("c0020")
    suspension = store.tasks.suspend("task", 1, ["c0020"])
    assert suspension.preload_cut and not suspension.suspended
