"""Stand-ins for `store.views` of the core, by searches of the protocol. They read everything: for cores without these queries."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import Any

from .._core import Job, Promise, Store

__all__ = ["views_of"]


def views_of(store: Store) -> Any:
    """Return the queries for people."""
    return getattr(store, "views", None) or _Searched(store)


class _Page(list[Any]):
    cursor: str | None = None
    scanned = 0
    reached_at: int | None = None


class _Searched:
    def __init__(self, store: Store) -> None:
        self._store = store

    def _every(self, search: Any, **options: Any) -> list[Any]:
        found, cursor = [], None
        while True:
            page = search(limit=1000, cursor=cursor, **options)
            found += list(page)
            cursor = page.cursor
            if cursor is None:
                return found

    def _paged(self, records: list[Any], at: Any, limit: int, cursor: str | None, **times: Any) -> _Page:
        since, until = times.get("created_since") or 0, times.get("created_until")
        records = [one for one in records if since <= at(one) and (until is None or at(one) <= until)]
        records.sort(key=lambda one: (at(one), one.id), reverse=True)
        start = 0 if cursor is None else _place(cursor)
        page = _Page(records[start : start + limit])
        page.scanned = len(page)
        page.cursor = str(start + limit) if start + limit < len(records) else None
        page.reached_at = at(page[-1]) if page else None
        return page

    def jobs(
        self,
        *,
        states: Any = None,
        id: Any = None,
        queue: Any = None,
        type: Any = None,
        tags: Any = None,
        error: Any = None,
        payload: Any = None,
        limit: int = 50,
        scan: int = 0,
        cursor: Any = None,
        **times: Any,
    ) -> _Page:
        found: list[Job] = self._every(self._store.jobs.search, queue=queue, type=type, tags=tags)
        found = [job for job in found if states is None or job.state in states]
        found = [job for job in found if id is None or fnmatchcase(job.id, id)]
        if error is not None:
            found = [job for job in found if job.error and error.lower() in json.dumps(job.error).lower()]
        return self._paged(found, lambda job: job.sent_at, limit, cursor, **times)

    def promises(
        self,
        *,
        states: Any = None,
        id: Any = None,
        tags: Any = None,
        limit: int = 50,
        scan: int = 0,
        cursor: Any = None,
        **times: Any,
    ) -> _Page:
        found: list[Promise] = self._every(self._store.promises.search, id=id, tags=tags)
        jobs = {job.id for job in self._every(self._store.jobs.search)}
        roots = [one for one in found if one.tags.get("resonate:origin", one.id) == one.id and one.id not in jobs]
        roots = [one for one in roots if states is None or one.state in states]
        return self._paged(roots, lambda one: one.created_at, limit, cursor, **times)

    def due(self, limit: int = 50) -> list[dict[str, Any]]:
        at = self._store.next_due()
        return [] if at is None else [{"at": at, "kind": "timeout", "id": ""}]

    def leases(self, limit: int = 1000) -> dict[str, Any]:
        items = []
        for row in self._store.snapshot()["promises"]:
            task = row.get("task", {})
            if task.get("state") == "acquired" and row["state"] == "pending":
                item = {
                    "pid": task["pid"],
                    "kind": "job" if "job" in row else "task",
                    "id": row["id"],
                    "version": task["acquisitions"],
                    "expiresAt": task["expiresAt"],
                    "ttl": task["ttl"],
                    "heartbeatAt": task["expiresAt"] - task["ttl"],
                }
                if "job" in row:
                    item |= {name: row["job"][name] for name in ("queue", "type", "state", "startedAt") if name in row["job"]}
                items.append(item)
        items.sort(key=lambda one: (one["pid"], one["id"]))
        return {"items": items[:limit], "complete": len(items) <= limit}

    def hours(self, queue: str | None = None, *, since: Any = None) -> list[dict[str, Any]]:
        return []


def _place(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdecimal()):
        raise ValueError(f"cursor must be one of this search, got {cursor!r}")
    return int(cursor)
