"""Messages of 2025-01-15 had `serverUrl` in their head, which is empty in that dialect (PROTOCOL 5 and 9)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.wire import ADDRESS, LISTENER, V25, V26, DialectClient

URL = "http://localhost:8001"


@pytest.mark.parametrize("version", [V25, V26])
def test_the_head_of_each_kind_of_message(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.create("awaited").must()
    client.listen("awaited", LISTENER).must()
    client.create("new", target=ADDRESS).must()
    client.task_create("waits").must()
    client.suspend("waits", 0 if version == V25 else 1, "awaited").must()
    client.settle("awaited").must()
    sent = [json.loads(one.to_json(URL)) for one in store.messages()]
    heads = {one["kind"]: one["head"] for one in sent}
    if version == V25:
        assert heads == {"invoke": {}, "resume": {}, "notify": {}}
    else:
        assert heads == {"execute": {"serverUrl": URL}, "unblock": {}}
