"""A line for each action: in the log `resonate_core.audit`, and the newest in memory for the audit view."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from .._forwarded import ip_text
from .principal import Principal

__all__ = ["Audit"]

_log = logging.getLogger("resonate_core.audit")
#: Members of a request that say what it was about. Payloads and values are never written.
_TARGET = ("id", "ids", "queue", "type", "group", "state", "tags", "concurrency", "rate", "cron", "kind", "process_at", "processAt")
_MOST_IDS = 20
_WORD = re.compile(r"[\w.:@/+|-]+")


class Audit:
    """The newest actions.

    Args:
        kept: How many.
    """

    def __init__(self, kept: int) -> None:
        self._kept: deque[dict[str, Any]] = deque(maxlen=kept)
        self._lock = threading.Lock()
        self._number = 0

    def add(
        self, at: int, who: Principal, kind: str, data: Mapping[str, Any], status: int, preview: bool, detail: str | None
    ) -> int:
        """Write a line for an action, done or refused; return its number."""
        target = {name: data[name] for name in _TARGET if name in data}
        if isinstance(target.get("ids"), list) and len(target["ids"]) > _MOST_IDS:
            target["ids"] = [*target["ids"][:_MOST_IDS], f"and {len(target['ids']) - _MOST_IDS} more"]
        with self._lock:
            self._number += 1
            line = {
                "number": self._number,
                "at": at,
                "who": who.name,
                "role": who.role,
                "from": ip_text(who.address),
                "kind": kind,
                "target": target,
                "preview": preview,
                "status": status,
                "detail": detail,
            }
            self._kept.append(line)
        done = "preview of" if preview else "did"
        by = _word(who.name or who.role)
        _log.info("%s %s by %s from %s: %d", done, _word(kind), by, line["from"], status, extra=line_extra(line))
        return self._number

    def newest(self) -> list[dict[str, Any]]:
        """Return the lines that are kept, newest first."""
        with self._lock:
            return list(reversed(self._kept))


def _word(text: str) -> str:
    """Return a text that ends where it seems to: in quotes unless it is one word."""
    return text if _WORD.fullmatch(text) else json.dumps(text)


def line_extra(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a line as the logs take them: no name of theirs is taken by a log record."""
    return {f"audit_{name}": value for name, value in line.items()}
