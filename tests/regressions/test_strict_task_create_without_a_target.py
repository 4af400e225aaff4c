"""Strict `task.create` on a promise without a task answered 409 even if the promise has no target; the formal model answers 422."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import ADDRESS, V25, V26, DialectClient

Make = Callable[..., Any]


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("rules", ["compatible", "strict"])
def test_a_promise_without_a_target(make_store: Make, rules: str, settled: bool) -> None:
    client = DialectClient(make_store(rules=rules))
    client.create("p").must()
    if settled:
        client.settle("p").must()
    client.task_create("p").must(422)


@pytest.mark.parametrize(("rules", "status"), [("compatible", 422), ("strict", 409)])
def test_a_promise_with_a_target_and_no_task(make_store: Make, rules: str, status: int) -> None:
    """No request makes one, but a restored snapshot may contain it."""
    store = make_store(rules=rules)
    client = DialectClient(store)
    client.create("p", target=ADDRESS).must()
    snapshot = store.snapshot()
    del snapshot["promises"][0]["task"]
    snapshot["messages"] = []
    store.restore(snapshot)
    client.task_create("p").must(status)
    DialectClient(store, V25).task_create("p").must(200)
    assert client.version == V26
