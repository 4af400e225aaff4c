"""A line for each action: in the log `resonate_core.audit`, and the newest in memory for the audit view."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Mapping
from heapq import merge
from typing import Any

from ..base.forwarded import ip_text
from .audit_bounds import Brief, Rings, cut
from .principal import Principal
from .rooms import room_of

__all__ = ["Audit", "target_of"]

_log = logging.getLogger("resonate_core.audit")
#: Members of a request that say what it was about. Payloads and values are never written.
_TARGET = (
    *("id", "ids", "queue", "type", "group", "state", "tags", "concurrency", "rate", "cron", "kind", "process_at", "processAt"),
    *("topic", "key", "from", "newId"),
)
#: The most characters of a name, and of what was wrong.
_LONGEST_NAME, _LONGEST_DETAIL = 200, 400
_WORD = re.compile(r"[\w.:@/+|-]+")


def target_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of the data of an action that say what it was about."""
    return {name: data[name] for name in _TARGET if name in data}


class Audit:
    """The newest actions, and the newest refusals and previews: those that did nothing never replace those that did.

    Args:
        kept: How many of each, for each room.
    """

    def __init__(self, kept: int) -> None:
        self._done, self._others = Rings(kept), Rings(kept)
        self._lock = threading.Lock()
        self._number = 0
        self._of_prefix: dict[str, int] = {}  # how many lines each prefix has

    def add(
        self, at: int, who: Principal, kind: str, data: Mapping[str, Any], status: int, preview: bool, detail: str | None
    ) -> int:
        """Write a line for an action, done or refused; return its number among those that its sender sees."""
        target = Brief().of(target_of(data))
        with self._lock:
            self._number += 1
            own = self._of_prefix[who.prefix] = self._of_prefix.get(who.prefix, 0) + 1
            line = {
                "number": self._number,
                "own": own,
                "prefix": who.prefix,
                "at": at,
                "who": cut(who.name, _LONGEST_NAME),
                "role": who.role,
                "from": ip_text(who.address),
                "kind": cut(kind, _LONGEST_NAME),
                "target": target,
                "preview": preview,
                "status": status,
                "detail": cut(detail, _LONGEST_DETAIL),
            }
            did = 200 <= status <= 300 and not preview
            (self._done if did else self._others).add(room_of(who), line)
            kept = [*self._done.prefixes(), *self._others.prefixes()]
            if len(self._of_prefix) > 2 * len(kept) + 1000:  # prefixes of which no line is left
                left = frozenset(kept)
                self._of_prefix = {prefix: number for prefix, number in self._of_prefix.items() if prefix in left}
        done = "preview of" if preview else "did"
        by = _word(line["who"] or who.role)
        _log.info("%s %s by %s from %s: %d", done, _word(line["kind"]), by, line["from"], status, extra=line_extra(line))
        return own if who.prefix else int(line["number"])

    def newest(self, who: Principal) -> list[dict[str, Any]]:
        """Return the kept lines that a principal sees, newest first: all, or with a prefix those of this very prefix.

        The numbers of a prefix are its own, so that they do not tell how much others do.
        """
        with self._lock:
            kept = list(merge(*self._done.newest(), *self._others.newest(), key=lambda line: line["number"], reverse=True))
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
