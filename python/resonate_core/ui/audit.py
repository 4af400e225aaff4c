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
_LONGEST_NAME = 200
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
        self._of_prefix: dict[str, int] = {}  # how many lines each prefix has

    def add(
        self, at: int, who: Principal, kind: str, data: Mapping[str, Any], status: int, preview: bool, detail: str | None
    ) -> int:
        """Write a line for an action, done or refused; return its number among those that its sender sees."""
        target = {name: data[name] for name in _TARGET if name in data}
        if isinstance(target.get("ids"), list) and len(target["ids"]) > _MOST_IDS:
            target["ids"] = [*target["ids"][:_MOST_IDS], f"and {len(target['ids']) - _MOST_IDS} more"]
        with self._lock:
            self._number += 1
            own = self._of_prefix[who.prefix] = self._of_prefix.get(who.prefix, 0) + 1
            line = {
                "number": self._number,
                "own": own,
                "prefix": who.prefix,
                "at": at,
                "who": None if who.name is None else who.name[:_LONGEST_NAME],
                "role": who.role,
                "from": ip_text(who.address),
                "kind": kind,
                "target": target,
                "preview": preview,
                "status": status,
                "detail": detail,
            }
            self._kept.append(line)
            if len(self._of_prefix) > 2 * len(self._kept) + 1000:  # prefixes of which no line is left
                left = {line["prefix"] for line in self._kept}
                self._of_prefix = {prefix: number for prefix, number in self._of_prefix.items() if prefix in left}
        done = "preview of" if preview else "did"
        by = _word(line["who"] or who.role)
        _log.info("%s %s by %s from %s: %d", done, _word(kind), by, line["from"], status, extra=line_extra(line))
        return own if who.prefix else int(line["number"])

    def newest(self, who: Principal) -> list[dict[str, Any]]:
        """Return the kept lines that a principal sees, newest first: all, or with a prefix those of this very prefix.

        The numbers of a prefix are its own, so that they do not tell how much others do.
        """
        with self._lock:
            kept = list(reversed(self._kept))
        if who.prefix:
            return [{**_shown(line), "number": line["own"]} for line in kept if line["prefix"] == who.prefix]
        return [_shown(line) for line in kept]


def _shown(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "own"}


def _word(text: str) -> str:
    """Return a text that ends where it seems to: in quotes unless it is one word."""
    return text if _WORD.fullmatch(text) else json.dumps(text)


def line_extra(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a line as the logs take them: no name of theirs is taken by a log record."""
    return {f"audit_{name}": value for name, value in line.items()}
