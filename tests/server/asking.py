"""Sends requests to an app, and checks refusals."""

from __future__ import annotations

import asyncio
from typing import Any

from resonate_core import ManualClock, Store
from resonate_core.asgi import DeliverySettings, PushSettings, create_app
from server.app_calls import Answer, call

FAR = 10**15
"""A deadline that no test reaches."""


def envelope(kind: str = "promise.get", data: Any = None, **head: Any) -> dict[str, Any]:
    head = {"corrId": "c", "version": "2026-04-01", **head}
    return {"kind": kind, "head": head, "data": {"id": "nobody"} if data is None else data}


def ask(*calls: dict[str, Any], store: Store | None = None, **tables: Any) -> list[Answer]:
    """Returns the responses of an app with these settings, in order. Without `store`, checks that the app's store does not change."""
    used = store or Store(clock=ManualClock(1000), debug=True)
    before = used.digest()

    async def main() -> list[Answer]:
        app = create_app(used, push=PushSettings(enabled=False), delivery=DeliverySettings(enabled=False), **tables)
        async with app.lifespan():
            return [await call(app, **one) for one in calls]

    answers = asyncio.run(main())
    if store is None:
        assert used.digest() == before
        used.close()
    return answers


def refused(answer: Answer, status: int, kind: str = "promise.get", corr: str = "c") -> str:
    """Checks that a response is a refusal as the protocol defines it; returns its message."""
    seen = answer.json()
    assert answer.status == status and answer.headers["content-type"] == "application/json"
    assert seen["head"]["status"] == status and (seen["kind"], seen["head"]["corrId"]) == (kind, corr), seen
    assert isinstance(seen["data"], str) and seen["data"]
    return str(seen["data"])
