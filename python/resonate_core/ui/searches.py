"""Newest-first lists of jobs and of roots of workflows, by queries of the core."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any

from .._payloads import decoded
from .access import StoreAccess
from .parameters import BadParameter

__all__ = ["Found", "JobFilter", "PromiseFilter", "find_jobs", "find_roots"]

#: The most rows that one request examines for a filter that no index serves: a slice does not delay other requests.
SLICE = 10_000
#: The most jobs that are read at once; a filter of the engine alone reads no more than are shown.
_PAGE = 1000
#: Texts that a payload holds as they are: JSON escapes none of their characters.
_PLAIN = re.compile(r"[\w.@+ -]+", re.ASCII)


@dataclass
class Found:
    """A page of records, as on the wire.

    Attributes:
        items: The records, newest first.
        cursor: Where the next page begins; None at the end.
        examined: The number of rows that were examined.
        reached_at: The creation of the last of them, in Unix ms.
    """

    items: list[dict[str, Any]]
    cursor: str | None
    examined: int
    reached_at: int | None

    @property
    def scan(self) -> dict[str, Any]:
        """The progress of the search, as replies contain it."""
        return {"examined": self.examined, "complete": self.cursor is None, "until": self.reached_at}


@dataclass(frozen=True)
class PromiseFilter:
    """A filter of promises."""

    states: list[str] = field(default_factory=list)
    id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True)
class JobFilter(PromiseFilter):
    """A filter of jobs; `arguments` are paths into the payload with the texts of their values, or None for any text in it."""

    type: str | None = None
    queue: str | None = None
    group: str | None = None
    unique_key: str | None = None
    batch: str | None = None
    error: str | None = None
    arguments: tuple[tuple[str | None, str], ...] = ()

    def needs_records(self) -> bool:
        """Whether the engine's query does not decide everything."""
        return bool(self.arguments or self.error or self.group or self.unique_key or self.batch)


def _call(call: Any, **options: Any) -> Any:
    given = {name: value for name, value in options.items() if value not in (None, [], {})}
    try:
        return call(**given)
    except ValueError as error:  # a cursor of another search, say
        raise BadParameter(str(error)) from error


def find_jobs(access: StoreAccess, wanted: JobFilter, limit: int, cursor: str | None) -> Found:
    """Return a page of the matching visible jobs, newest first."""
    shown = access.redaction.rules.any  # the engine judges what is stored, and a filter must not tell what redaction hides
    text = next((text for path, text in wanted.arguments if path is None or _PLAIN.fullmatch(text)), None)
    views = access.store.views
    query = {
        "states": wanted.states,
        "queue": wanted.queue,
        "type": wanted.type,
        "id": wanted.id,
        "prefix": access.principal.prefix,
        "tags": dict(wanted.tags),
        "error": None if shown else wanted.error,
        "payload": None if shown else text,
        "created_since": wanted.since,
        "created_until": wanted.until,
    }
    found = Found([], cursor, 0, None)
    while True:
        left = limit - len(found.items)
        scan = SLICE - found.examined
        size = min(_PAGE, scan) if wanted.needs_records() else left
        page = _call(views.jobs, **query, limit=size, scan=scan, cursor=found.cursor)
        kept = [(place, job) for place, job in enumerate(_records(page)) if _is_wanted(access, wanted, job)]
        if len(kept) > left:  # the next page begins after the last job of this one
            page = _call(views.jobs, **query, limit=kept[left - 1][0] + 1, scan=scan, cursor=found.cursor)
        found.items += [job for _, job in kept[:left]]
        found.cursor, found.examined, found.reached_at = page.cursor, found.examined + page.scanned, page.reached_at
        if found.cursor is None or len(found.items) >= limit or found.examined >= SLICE:
            return found


def _records(page: Any) -> Iterator[dict[str, Any]]:
    return (job.to_dict() for job in page)


def _is_wanted(access: StoreAccess, wanted: JobFilter, job: Mapping[str, Any]) -> bool:
    return access.principal.sees(job["id"]) and _matches(access, wanted, job)


def find_roots(access: StoreAccess, wanted: PromiseFilter, limit: int, cursor: str | None) -> Found:
    """Return a page of the matching visible roots of workflows, newest first."""
    page = _call(
        access.store.views.promises,
        states=wanted.states,
        id=wanted.id,
        prefix=access.principal.prefix,
        tags=dict(wanted.tags),
        created_since=wanted.since,
        created_until=wanted.until,
        limit=limit,
        scan=SLICE,
        cursor=cursor,
    )
    records = [promise.to_dict() for promise in page]
    return Found([one for one in records if access.principal.sees(one["id"])], page.cursor, page.scanned, page.reached_at)


def _matches(access: StoreAccess, wanted: JobFilter, job: Mapping[str, Any]) -> bool:
    """Whether a record matches the rest of the filter, judged by what is shown: a filter must not reveal redacted values."""
    if not wanted.needs_records():
        return True
    for name, value in (("group", wanted.group), ("uniqueKey", wanted.unique_key), ("batch", wanted.batch)):
        if value is not None and job.get(name) != value:
            return False
    if not wanted.arguments and wanted.error is None:
        return True
    hidden = access.redaction.rules.hides_type(job["type"])
    if wanted.error is not None:
        error = job.get("error", {})
        text = error.get("code", "") + ("" if hidden else "\n" + access.redaction.text(error.get("message", "")))
        if wanted.error.lower() not in text.lower():
            return False
    if not wanted.arguments:
        return True
    if hidden:
        return False
    kind, content, _ = decoded(job["payload"])
    content = access.redaction.members(content) if kind == "json" else content
    return all(_has(kind, content, path, text) for path, text in wanted.arguments)


def _has(kind: str, content: Any, path: str | None, text: str) -> bool:
    if path is None:
        whole = dumps(content, ensure_ascii=False) if kind == "json" else content if kind == "text" else ""
        return text.lower() in whole.lower()
    for part in path.split("."):
        if isinstance(content, Mapping) and part in content:
            content = content[part]
        elif isinstance(content, list) and part.isascii() and part.isdecimal() and int(part) < len(content):
            content = content[int(part)]
        else:
            return False
    if isinstance(content, str):
        return content == text
    try:
        expected = loads(text)
    except (ValueError, RecursionError):
        return False
    return type(expected) is type(content) and bool(expected == content)
