"""The form of a reply, which does not depend on what is stored (WIRE 1)."""

from __future__ import annotations

from typing import Any

from .requests import V25

__all__ = ["fault_of", "status_in"]


def fault_of(request: dict[str, Any], reply: Any) -> str | None:
    """Return the first fault in the form of a reply to a well-formed request, or None.

    Example:
        >>> request = {"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "p"}}
        >>> fault_of(request, {"kind": "promise.get", "head": {"corrId": "2", "version": "2026-04-01", "status": 404}, "data": "none"})
        'kind and corrId must be those of the request'
    """
    if not isinstance(reply, dict) or not {"kind", "head", "data"} <= set(reply) or not isinstance(reply["head"], dict):
        return "the answer must be an envelope of kind, head and data, as JSON"
    head = reply["head"]
    status = head.get("status")
    if type(status) is not int:
        return f"head.status must be an integer, got {status!r}"
    if reply["kind"] != request["kind"] or head.get("corrId") != request["head"]["corrId"]:
        return "kind and corrId must be those of the request"
    if head.get("version") != request["head"]["version"] and status in (200, 300):
        return f"head.version must be {request['head']['version']!r}, got {head.get('version')!r}"
    if status not in (200, 300) and not isinstance(reply["data"], str):
        return f"the data of an error must be a string, got {reply['data']!r}"
    return None


def status_in(dialect: str, status: int | None) -> int | None:
    """Return the status that a dialect has for one of a table: 2025-01-15 has 400 in place of 422; None (no reply) stays None.

    Example:
        >>> status_in("2025-01-15", 422)
        400
    """
    return 400 if status == 422 and dialect == V25 else status
