"""A server with planted faults: an ASGI app before a right one, which changes some requests and responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

Envelope = dict[str, Any]


class Faulty:
    """An app that breaks rules.

    Args:
        app: The right one.
        faults: The names of the faults: methods of this class.
    """

    def __init__(self, app: Any, faults: tuple[str, ...]) -> None:
        self.app, self.faults = app, faults
        self.slept = 0
        self.suspended: dict[str, int] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Passes on every request that is not an envelope."""
        if "messages_come_late" in self.faults and scope["type"] == "http" and scope["path"].startswith("/poll/"):
            await asyncio.sleep(1)
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"].strip("/"):
            await self.app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        request = json.loads(body)
        reply = None
        for fault in self.faults:
            reply = reply or await getattr(self, fault)(request, lambda one: self.ask(scope, one))
        reply = reply or await self.ask(scope, request)
        text = json.dumps(reply).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
        await send({"type": "http.response.start", "status": reply["head"]["status"], "headers": headers})
        await send({"type": "http.response.body", "body": text})

    async def ask(self, scope: Any, request: Envelope) -> Envelope:
        """Returns the response of the right app."""
        body, answered = json.dumps(request).encode(), bytearray()
        sent = False

        async def receive() -> Any:
            nonlocal sent
            if sent:
                return {"type": "http.disconnect"}
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            answered.extend(message.get("body", b""))

        headers = [(name, text) for name, text in scope["headers"] if name != b"content-length"]
        await self.app(dict(scope, headers=[*headers, (b"content-length", str(len(body)).encode())]), receive, send)
        reply: Envelope = json.loads(bytes(answered))
        return reply

    async def tasks_begin_late(self, request: Envelope, ask: Callable[[Envelope], Awaitable[Envelope]]) -> Envelope | None:
        """Not a fault: delays the first tasks, like a machine under load."""
        if request.get("kind") == "promise.create" and str(request["data"].get("id")).endswith(".task") and self.slept < 6:
            self.slept += 1
            await asyncio.sleep(2)
        return None

    async def heartbeats_come_late(self, request: Envelope, ask: Callable[[Envelope], Awaitable[Envelope]]) -> Envelope | None:
        """Not a fault: two heartbeats, for leases of 2 s, are sent shortly before their end, and arrive shortly after it."""
        if request.get("kind") == "promise.create" and str(request["data"].get("id")).endswith(".other") and self.slept < 2:
            await asyncio.sleep(0.7)
        if request.get("kind") == "task.heartbeat" and self.slept < 2:
            self.slept += 1
            await asyncio.sleep(0.35)
        return None

    async def messages_come_late(self, request: Envelope, ask: Callable[[Envelope], Awaitable[Envelope]]) -> Envelope | None:
        """Not a fault: delays each stream for longer than one without a message stays open."""
        return None

    # ---- the faults

    async def second_settle_conflicts(self, request: Envelope, ask: Callable[[Envelope], Awaitable[Envelope]]) -> Envelope | None:
        """promise.settle of a settled promise is a 409 instead of a 200 with the record."""
        if request["kind"] != "promise.settle" or not isinstance(request["data"].get("id"), str):
            return None
        before = await ask(get(request, "promise.get"))
        reply = await ask(request)
        settled = before["head"]["status"] == 200 and before["data"]["promise"]["state"] != "pending"
        if not settled or reply["head"]["status"] != 200 or timed_out(before["data"]["promise"]):
            return reply
        return refused(reply, 409)

    async def fence_is_not_checked(self, request: Envelope, ask: Callable[[Envelope], Awaitable[Envelope]]) -> Envelope | None:
        """task.fence with a version that is not the current one runs its action."""
        if request["kind"] != "task.fence":
            return None
        reply = await ask(request)
        if reply["head"]["status"] != 409:
            return reply
        inner = await ask(
            {"kind": request["data"]["action"]["kind"], "head": request["head"], "data": request["data"]["action"]["data"]}
        )
        data = {"action": inner} | ({"preload": []} if request["head"]["version"] == "2026-04-01" else {})
        return dict(reply, head=dict(reply["head"], status=200), data=data)

    async def timeout_does_not_win(self, request: Envelope, ask: Callable[[Envelope], Awaitable[Envelope]]) -> Envelope | None:
        """promise.get shows a promise as pending after its deadline."""
        if request["kind"] != "promise.get":
            return None
        reply = await ask(request)
        record = reply["data"].get("promise") if isinstance(reply["data"], dict) else None
        if record is not None and timed_out(record) and record["createdAt"] < record["timeoutAt"]:
            record["state"] = "pending"
            del record["settledAt"]
        return reply

    async def search_is_not_ordered(self, request: Envelope, ask: Callable[[Envelope], Awaitable[Envelope]]) -> Envelope | None:
        """promise.search gives each page in the opposite order."""
        if request["kind"] != "promise.search":
            return None
        reply = await ask(request)
        if reply["head"]["status"] == 200:
            reply["data"]["promises"].reverse()
        return reply

    async def callback_is_lost(self, request: Envelope, ask: Callable[[Envelope], Awaitable[Envelope]]) -> Envelope | None:
        """A task that was suspended in 2026-04-01 is not resumed: it is shown as suspended, and cannot be acquired."""
        id = request["data"].get("id") if isinstance(request["data"], dict) else None
        if request["head"]["version"] != "2026-04-01" or not isinstance(id, str):
            return None
        if request["kind"] == "task.suspend":
            reply = await ask(request)
            if reply["head"]["status"] == 200:
                self.suspended[id] = request["data"]["version"]
            return reply
        if request["kind"] not in ("task.get", "task.acquire"):
            return None
        shown = await ask(get(request, "task.get"))
        task = shown["data"].get("task") if isinstance(shown["data"], dict) else None
        if task is None or task["state"] != "pending" or self.suspended.get(id) != task["version"]:
            return None
        if request["kind"] == "task.acquire":
            return dict(refused(shown, 409), kind=request["kind"])
        shown["data"]["task"] |= {"state": "suspended", "resumes": 0}
        return shown


def get(request: Envelope, kind: str) -> Envelope:
    return {"kind": kind, "head": request["head"], "data": {"id": request["data"]["id"]}}


def timed_out(record: Envelope) -> bool:
    return record.get("settledAt") == record["timeoutAt"]


def refused(reply: Envelope, status: int) -> Envelope:
    return dict(reply, head=dict(reply["head"], status=status), data="refused by a planted fault")
