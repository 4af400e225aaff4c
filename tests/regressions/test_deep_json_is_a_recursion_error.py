"""`Value.json()` of deeply nested data raised RecursionError, which looks like a defect of the program, and so did each call with a deeply nested
object: params, payloads, results, snapshots, `rc.submit`. It is `Invalid`, as for other values that are not JSON."""

from __future__ import annotations

import asyncio
import base64
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core import display


def deep(kind: str = "list") -> Any:
    made: Any = 1
    for _ in range(100_000):
        made = [made] if kind == "list" else {"a": made}
    return made


ENCODED = [base64.b64encode(text).decode() for text in (b"[" * 100_000 + b"]" * 100_000, b"[" * 100_000, b'{"a":' * 100_000)]


@pytest.mark.parametrize("place", range(len(ENCODED)))
def test_reading(place: int) -> None:
    value = rc.Value(data=ENCODED[place])
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create("p", timeout=1000, param=value)
    store.jobs.enqueue("t", value, id="j")
    for read in (value.json, store.promises.get("p").param.json, store.jobs.get("j").payload.json):
        with pytest.raises(rc.Invalid, match=r"^data must be nested less deeply"):
            read()
    assert display.value_text(value) == value.data
    assert value.bytes()[:1] in (b"[", b"{")


CALLS: dict[str, Callable[[rc.Store, Any], Any]] = {
    "Value": lambda store, value: store.promises.create("p", timeout=1000, param=value),
    "resolve": lambda store, value: store.promises.resolve("open", value),
    "enqueue": lambda store, value: store.jobs.enqueue("t", value),
    "enqueue_many": lambda store, value: store.jobs.enqueue_many("t", [1, value]),
    "complete": lambda store, value: store.jobs.complete("j", 1, value),
    "aio": lambda store, value: asyncio.run(store.aio.promises.create("p", timeout=1000, param=value)),
    "restore": lambda store, value: store.restore({"promises": value}),
    "restore of a fork": lambda store, value: rc.Store(clock=rc.ManualClock()).restore({**store.snapshot(), "x": value}),
}


@pytest.mark.parametrize("kind", ["list", "dict"])
@pytest.mark.parametrize("name", CALLS)
def test_writing(name: str, kind: str) -> None:
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create("open", timeout=1000)
    store.jobs.enqueue("t", id="j")
    before = store.digest()
    with pytest.raises(rc.Invalid, match=r"nested less deeply"):
        CALLS[name](store, deep(kind))
    assert store.digest() == before


def test_submitting(tmp_path: Path) -> None:
    rc.Store(tmp_path / "a.db", clock=rc.ManualClock()).close()
    file = sqlite3.connect(tmp_path / "a.db")
    with pytest.raises(rc.Invalid, match=r"nested less deeply"):
        rc.submit(file, "job.enqueue", {"type": "t", "payload": deep()})
    file.close()


def test_a_client_of_a_url() -> None:
    with rc.connect("http://127.0.0.1:1", retry_for=0) as client:
        with pytest.raises(rc.Invalid, match=r"nested less deeply"):
            client.jobs.enqueue("t", deep())
        with pytest.raises(rc.Invalid, match=r"nested less deeply"):
            client.promises.create("p", timeout=1000, param=deep("dict"))
