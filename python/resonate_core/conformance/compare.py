"""The parts of two replies that must be equal by the contract."""

from __future__ import annotations

import copy
import json
from typing import Any

__all__ = ["plain_reply", "sorted_lists"]

_DONE = (200, 300)
_TEXT = "(some text)"


def plain_reply(reply: dict[str, Any]) -> dict[str, Any]:
    """A copy of a reply without the texts of errors, which are not specified.

    Example:
        >>> plain_reply({"kind": "promise.get", "head": {"corrId": "1", "status": 404}, "data": "no promise 'p'"})["data"]
        '(some text)'
    """
    reply = copy.deepcopy(reply)
    _hide_text(reply)
    data = reply["data"]
    if reply["kind"] == "task.fence" and isinstance(data, dict) and isinstance(data.get("action"), dict):
        _hide_text(data["action"])
    if isinstance(data, dict) and isinstance(data.get("jobs"), list):
        for one in data["jobs"]:
            if isinstance(one, dict) and one.get("error") and "status" in one:
                one["error"] = _TEXT
    if reply["kind"] == "debug.snap" and isinstance(data, dict):
        reply["data"] = sorted_lists(data)
    return reply


def _hide_text(reply: dict[str, Any]) -> None:
    head = reply.get("head")
    status = head.get("status") if isinstance(head, dict) else None
    if status not in _DONE and isinstance(reply.get("data"), str) and reply["data"]:
        reply["data"] = _TEXT


def sorted_lists(snapshot: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The lists of a debug snapshot, sorted."""
    return {name: sorted(rows, key=lambda row: json.dumps(row, sort_keys=True)) for name, rows in snapshot.items()}
