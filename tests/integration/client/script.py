"""Calls of every kind, with results and errors in a form that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import resonate_core as rc

FAR = 2**52
TARGET = "poll://any@workers"
JOB = {"lifecycle": "asynq", "retention": "kept"}

#: Noun, method, positional arguments, keyword arguments. They run in this order on one store.
SCRIPT: list[tuple[str, str, tuple[Any, ...], dict[str, Any]]] = [
    ("promises", "create", ("p", FAR), {"param": {"a": [1, None]}, "headers": {"h": "1"}, "tags": {"team": "blue"}}),
    ("promises", "create", ("p", FAR), {}),
    ("promises", "create", ("bytes", FAR), {"param": b"\x00\xff", "idempotency_key": "k"}),
    ("promises", "create", ("bytes", FAR), {"idempotency_key": "k"}),
    ("promises", "create", ("bytes", FAR), {"idempotency_key": "other"}),
    ("promises", "create", ("value", FAR), {"param": rc.Value({"x": "y"}, "no base64!")}),
    ("promises", "create", ("text", FAR), {"param": "é\u2028"}),
    ("promises", "create", ("past", 5), {}),
    ("promises", "create", ("", FAR), {}),
    ("promises", "create", (7, FAR), {}),
    ("promises", "create", ("x", -1), {}),
    ("promises", "create", ("x", "soon"), {}),
    ("promises", "create", ("x",), {}),
    ("promises", "create", ("x", 1), {"timeout": 1}),
    ("promises", "create", ("x",), {"timeout": -1}),
    ("promises", "create", ("x",), {"timeout": timedelta(microseconds=5)}),
    ("promises", "create", ("x", FAR), {"param": float("nan")}),
    ("promises", "create", ("x", FAR), {"param": object()}),
    ("promises", "create", ("x", FAR), {"tags": {"a": 1}}),
    ("promises", "create", ("x", FAR), {"tags": 5}),
    ("promises", "create", ("x\ud800", FAR), {}),
    ("promises", "create", ("x", FAR), {"param": rc.Value({"a": "b"}), "headers": {"a": "b"}}),
    (
        "promises",
        "create",
        ("x", FAR),
        {"tags": {"resonate:timer": "true", "resonate:external": "true", "resonate:target": TARGET}},
    ),
    ("promises", "get", ("p",), {}),
    ("promises", "get", ("none",), {}),
    ("promises", "resolve", ("p", {"ok": True}), {"headers": {"h": "2"}}),
    ("promises", "resolve", ("p",), {}),
    ("promises", "resolve", ("none",), {}),
    ("promises", "reject", ("bytes", "no"), {"idempotency_key": "s"}),
    ("promises", "cancel", ("text",), {}),
    ("promises", "search", (), {"limit": 2}),
    ("promises", "search", ("p*",), {"state": "resolved", "tags": {"team": "blue"}}),
    ("promises", "search", (), {"state": "odd"}),
    ("promises", "search", (), {"limit": 0}),
    ("promises", "create", ("work", FAR), {"tags": {"resonate:target": TARGET}}),
    ("promises", "create", ("child", FAR), {}),
    ("promises", "register_callback", ("child", "work"), {}),
    ("promises", "register_callback", ("child", "value"), {}),
    ("promises", "register_listener", ("child", "poll://any@clients"), {}),
    ("promises", "register_listener", ("child", "nowhere"), {}),
    ("tasks", "get", ("work",), {}),
    ("tasks", "get", ("none",), {}),
    ("tasks", "acquire", ("work", 0), {"pid": "w", "ttl": timedelta(minutes=1)}),
    ("tasks", "acquire", ("work", 0), {"pid": "w", "ttl": 60_000}),
    ("tasks", "create", ("own", FAR), {"pid": "w", "ttl": 60_000, "target": TARGET, "param": [1]}),
    ("tasks", "create", ("own", FAR), {"pid": "w", "ttl": 60_000, "target": TARGET, "tags": {"resonate:target": "other"}}),
    ("tasks", "create", ("own2", FAR), {"pid": "w", "ttl": 0, "target": TARGET}),
    ("tasks", "heartbeat", ("w", [("own", 1)]), {}),
    ("tasks", "heartbeat", ("w",), {}),
    ("tasks", "heartbeat", ("w", [("own",)]), {}),
    ("tasks", "heartbeat", ("w", "own"), {}),
    ("tasks", "fence_create", ("own", 1, "own.1", FAR), {"param": 5}),
    ("tasks", "fence_create", ("own", 2, "own.1", FAR), {}),
    ("tasks", "fence_create", ("own", 1, "own", FAR), {}),
    ("tasks", "suspend", ("own", 1, ["own.1"]), {}),
    ("tasks", "fence_settle", ("work", 1, "own.1", 6), {"state": "rejected"}),
    ("tasks", "fence_settle", ("work", 1, "none"), {}),
    ("tasks", "suspend", ("work", 1, ["own.1"]), {}),
    ("tasks", "suspend", ("work", 1, []), {}),
    ("tasks", "fulfill", ("work", 1, {"total": 3}), {}),
    ("tasks", "fulfill", ("work", 1), {"state": "odd"}),
    ("tasks", "release", ("own", 9), {}),
    ("tasks", "halt", ("own",), {}),
    ("tasks", "resume", ("own",), {}),
    ("tasks", "resume", ("own",), {}),
    ("tasks", "search", (), {"state": "pending", "target": TARGET}),
    ("schedules", "create", ("s", "@hourly"), {"promise_timeout": timedelta(hours=1), "param": {"n": 1}, "tags": {"a": "b"}}),
    ("schedules", "create", ("j", "@daily"), {"promise_timeout": 5, "job": {"type": "t", "queue": "q", "maxRetries": 3}}),
    ("schedules", "create", ("s", "never"), {"promise_timeout": 5}),
    ("schedules", "get", ("j",), {}),
    ("schedules", "get", ("none",), {}),
    ("schedules", "search", (), {"tags": {"a": "b"}}),
    ("schedules", "delete", ("s",), {}),
    ("schedules", "delete", ("s",), {}),
    ("jobs", "enqueue", ("t", {"to": "a"}), {"id": "j1", "headers": {"h": "3"}, "priority": 3, "tags": {"a": "b"}, **JOB}),
    ("jobs", "enqueue", ("t", {"to": "a"}), {"id": "j1"}),
    ("jobs", "enqueue", ("other",), {"id": "j1"}),
    ("jobs", "enqueue", ("t",), {"process_in": timedelta(hours=1), "good_for": 5, "timeout": 7, "max_retries": 2}),
    ("jobs", "enqueue", ("t",), {"retry_policy": {"kind": "fixed", "intervals": [5]}, "on_exhausted": "failed", "group": "g"}),
    ("jobs", "enqueue", ("t",), {"unique_key": "k", "unique_for": timedelta(days=1), "deadline": FAR, "sent_at": 3, "queue": "q"}),
    ("jobs", "enqueue", ("t",), {"unique_key": "k", "queue": "q"}),
    ("jobs", "enqueue", ("t",), {"unique_for": 5}),
    ("jobs", "enqueue", ("",), {}),
    ("jobs", "enqueue", ("t",), {"retention": "long"}),
    ("jobs", "enqueue", ("t",), {"retention": -5}),
    ("jobs", "enqueue", ("t",), {"priority": 500}),
    ("jobs", "enqueue", ("t",), {"max_retries": "many"}),
    ("jobs", "enqueue", ("t",), {"good_until": 2000, "process_at": 1500, "id": "soon"}),
    ("jobs", "enqueue", ("t",), {"id": "after-1", "after": ["j1", "soon", "j1"], "after_failed": "run"}),
    ("jobs", "enqueue", ("t",), {"id": "after-2", "after": "after-1"}),
    ("jobs", "enqueue", ("t",), {"after": ["j1", "none"]}),
    ("jobs", "enqueue", ("t",), {"after": []}),
    ("jobs", "enqueue", ("t",), {"after": 5}),
    ("jobs", "enqueue", ("t",), {"after": "j1", "after_failed": "never"}),
    ("jobs", "enqueue", ("t",), {"after_failed": "run"}),
    ("jobs", "enqueue_many", ("t", [1, b"2", None]), {"ids": ["m1", "m2", "m3"], **JOB}),
    ("jobs", "enqueue_many", ("t", [1]), {"ids": []}),
    ("jobs", "enqueue_many", ("t", []), {}),
    ("jobs", "get", ("m2",), {}),
    ("jobs", "get", ("none",), {}),
    ("jobs", "claim", ("default", 2), {"worker": "w", "lease": 60_000}),
    ("jobs", "claim", ({"default": 2, "q": 1}, 2), {"worker": "w", "lease": 60_000, "run_lease": 5000, "strict": True, "start": 1}),
    ("jobs", "claim", ([], 2), {"worker": "w", "lease": 60_000}),
    ("jobs", "claim", (5, 2), {"worker": "w", "lease": 60_000}),
    ("jobs", "start", ("m1", 1), {"lease": 70_000}),
    ("jobs", "start_many", ([("m2", 1), ("none", 1)],), {"lease": 70_000}),
    ("jobs", "start_many", ([],), {}),
    ("jobs", "heartbeat", ("w", [("j1", 1), ("none", 1)]), {}),
    ("jobs", "report", ("j1", 1), {"progress": 0.25, "lines": ["a", "b"]}),
    ("jobs", "complete", ("j1", 1, {"sent": True}), {"headers": {"h": "4"}}),
    ("jobs", "complete", ("j1", 1), {}),
    ("jobs", "complete_many", ([("m2", 1, [1]), ("none", 1, None)],), {}),
    ("jobs", "complete_many", ([("m2", 1)],), {}),
    ("jobs", "fail", ("m1", 1, "Oops", "words", "more"), {"retry_after": timedelta(seconds=1)}),
    ("jobs", "fail", ("m1", 1, ""), {}),
    ("jobs", "report", ("j1", 1), {"progress": 0.5, "lines": "half"}),
    ("jobs", "report", ("m1", 1), {"progress": 2, "lines": ["a", "b"]}),
    ("jobs", "snooze", ("m1", 1, 5), {}),
    ("jobs", "release", ("m1", 1), {}),
    ("jobs", "run", ("m1",), {}),
    ("jobs", "archive", ("m1",), {}),
    ("jobs", "cancel", ("m1",), {}),
    ("jobs", "cancel", ("m1",), {}),
    ("jobs", "search", (), {"limit": 2}),
    ("jobs", "search", ("m*",), {"queue": "default", "type": "t", "state": "completed"}),
    ("jobs", "delete", ("m1",), {}),
    ("jobs", "delete", ("m1",), {}),
    ("jobs", "run_all", ("scheduled",), {"type": "t"}),
    ("jobs", "archive_all", ("pending",), {"queue": "default", "group": "g"}),
    ("jobs", "archive_all", ("odd",), {}),
    ("jobs", "cancel_all", (), {"tags": {"a": "b"}}),
    ("jobs", "cancel_all", (), {}),
    ("jobs", "delete_all", ("completed",), {}),
    ("jobs", "enqueue", ("flow", {"order": 7}), {"id": "f", "queue": "flows", "lifecycle": "workflow", "tags": {"a": "b"}}),
    ("jobs", "claim", ("flows",), {"worker": "w", "lease": 60_000, "start": 1}),
    ("jobs", "record", ("f", 1, [{"id": "f:1", "state": "resolved", "value": [1]}, {"id": "f:2", "timeout_in": 5000}]), {}),
    ("jobs", "record", ("f", 2, [{"id": "f:1"}]), {}),
    ("jobs", "record", ("f", 1, [{"id": "g:1"}]), {}),
    ("jobs", "receive", ("f", 1, "f:3", "t"), {"timeout_in": timedelta(seconds=5)}),
    ("jobs", "receive", ("f", 1, "f:3", "a:b"), {}),
    ("jobs", "send", ("f", "t", [1]), {"key": "k", "headers": {"h": "5"}}),
    ("jobs", "send", ("f", "t", [2]), {}),
    ("jobs", "send", ("none", "t"), {}),
    ("jobs", "history", ("f",), {"limit": 2}),
    ("jobs", "history", ("none",), {}),
    ("jobs", "fork", ("f", "f:2", "g"), {}),
    ("jobs", "fork", ("f", "f:2", "g"), {}),
    ("jobs", "fork", ("f", "f:3", "h"), {}),
    ("jobs", "suspend", ("f", 1, ["f:2"]), {"until": "all"}),
    ("jobs", "suspend", ("f", 1, ["f:2"]), {}),
    ("jobs", "run", ("f",), {}),
    ("jobs", "claim", ("flows", 2), {"worker": "w", "lease": 60_000, "start": 2}),
    ("jobs", "start_over", ("f", 2, {"since": 7}), {"headers": {"h": "6"}}),
    ("jobs", "start_over", ("f", 2), {}),
    ("queues", "set", ("mail",), {"lifecycle": "asynq", "weight": 6, "concurrency": 5, "rate": {"limit": 10, "per": 1000}}),
    ("queues", "set", ("mail",), {"weight": None, "groups": {"size": 5, "grace": 10}, "defaults": {"maxRetries": 4}}),
    ("queues", "set", ("mail",), {"weigth": 6}),
    ("queues", "set", ("mail",), {"weight": 0}),
    ("queues", "set", ("mail",), {"rate": 5}),
    ("queues", "get", ("mail",), {}),
    ("queues", "get", ("none",), {}),
    ("queues", "pause", ("mail",), {}),
    ("queues", "resume", ("mail",), {}),
    ("queues", "list", (), {}),
    ("queues", "stats", ("default",), {}),
    ("queues", "stats", (), {}),
]

#: Instants as datetimes: the same requests as with ints.
AWARE = datetime(2100, 1, 1, tzinfo=timezone(timedelta(hours=2)))


def plain(result: Any) -> Any:
    """Returns a result as plain values, without its class."""
    if hasattr(result, "to_dict"):
        return result.to_dict()
    if isinstance(result, dict | str | int | None):
        return result
    if hasattr(result, "suspended"):
        return {"status": result.status, "suspended": result.suspended, **_preload(result)}
    if hasattr(result, "lost"):
        return {"cancelled": result.cancelled, "lost": result.lost}
    if hasattr(result, "preload"):
        return {name: plain(getattr(result, name)) for name in ("task", "promise") if hasattr(result, name)} | _preload(result)
    more = {name: getattr(result, name) for name in ("cursor", "next_at") if getattr(result, name, None) is not None}
    return {"items": [plain(one) for one in result], **more}


def _preload(result: Any) -> dict[str, Any]:
    return {"preload": [plain(one) for one in result.preload], "preload_cut": result.preload_cut}


def outcome(call: Callable[[], Any]) -> Any:
    """Returns the result of a call, or the class, status and message of its error."""
    try:
        return plain(call())
    except (rc.ResonateError, TypeError) as error:
        return type(error).__name__, getattr(error, "status", None), str(error)
