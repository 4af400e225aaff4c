"""`claim(strict=1)` claimed without strict priorities, and `fail(retryable=0)` retried the job: a value that is no bool was read as
if it had not been given. `enqueue(cancel_with_awaiters=1)` was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.client import Client

FLAGS: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("strict", lambda jobs, flag: jobs.claim("q", worker="w", lease=1000, strict=flag)),
    ("retryable", lambda jobs, flag: jobs.fail("a", 1, "Broken", retryable=flag)),
    ("cancel_with_awaiters", lambda jobs, flag: jobs.enqueue("t", cancel_with_awaiters=flag)),
]
NO_BOOLS = [0, 1, "", "true", [], 0.0]


@pytest.mark.parametrize(("name", "call"), FLAGS, ids=[name for name, _ in FLAGS])
@pytest.mark.parametrize("flag", NO_BOOLS, ids=repr)
def test_a_flag_must_be_a_bool(name: str, call: Callable[[Any, Any], Any], flag: Any) -> None:
    store = rc.Store(clock=rc.ManualClock())
    expected = f"{name} must be bool, got {type(flag).__name__}"
    with pytest.raises(TypeError, match=f"^{expected}$"):
        call(store.jobs, flag)

    async def awaited() -> None:
        await call(store.aio.jobs, flag)

    with pytest.raises(TypeError, match=f"^{expected}$"):
        asyncio.run(awaited())
    with Client("http://127.0.0.1:1") as client, pytest.raises(TypeError, match=f"^{expected}$"):
        call(client.jobs, flag)


def test_none_is_the_default() -> None:
    store = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("t", id="a")
    (job,) = store.jobs.claim(worker="w", lease=1000, queues="default", start=1, strict=None)
    assert store.jobs.fail("a", job.version, "Broken", retryable=None).error == {"code": "Broken", "message": ""}
