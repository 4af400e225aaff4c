"""Newest-first lists of jobs and of roots of workflows, by queries of the core."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any

from . import records
from .access import StoreAccess
from .parameters import BadParameter
from .payloads import FULL
from .redaction import BUDGET, REDACTED, Redaction

__all__ = ["JobFilter", "PromiseFilter", "SearchPage", "find_jobs", "find_roots"]

#: The most rows that one request examines for a filter that no index serves: a slice does not delay other requests.
SLICE = 10_000
#: The most jobs that are read at once; a filter of the engine alone reads no more than are shown.
_PAGE = 1000
#: The members of a job by which a filter judges it, and those that its texts may quote.
_JUDGED = ("id", "type", "state", "payload", "result", "tags", "error", "group", "uniqueKey")
#: Texts that a payload holds as they are: JSON escapes none of their characters.
_PLAIN = re.compile(r"[\w.@+ -]+", re.ASCII)


@dataclass
class SearchPage:
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
    """A filter of jobs; `arguments` are paths into the payload with the texts of their values, or None for any text in it.

    `root`: no job that another one has made.
    """

    type: str | None = None
    queue: str | None = None
    group: str | None = None
    unique_key: str | None = None
    batch: str | None = None
    error: str | None = None
    arguments: tuple[tuple[str | None, str], ...] = ()
    root: bool = False

    def needs_records(self) -> bool:
        """Whether the engine's query does not decide everything."""
        return bool(self.arguments or self.error or self.group or self.unique_key or self.batch)


def _call(call: Any, **options: Any) -> Any:
    given = {name: value for name, value in options.items() if value not in (None, [], {})}
    try:
        return call(**given)
    except ValueError as error:  # a cursor of another search, say
        raise BadParameter(str(error)) from error


def find_jobs(access: StoreAccess, wanted: JobFilter, limit: int, cursor: str | None, slice: int = SLICE) -> SearchPage:
    """Return a page of the matching visible jobs, newest first; it examines so many rows at most."""
    shown = access.redaction.rules.any  # the engine judges what is stored, and a filter must not tell what redaction hides
    text = next((text for path, text in wanted.arguments if path is None or _PLAIN.fullmatch(text)), None)
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
    judged = wanted.needs_records() or bool(wanted.tags and shown)

    def is_wanted(budget: Budget, job: Mapping[str, Any]) -> bool:
        if wanted.root and job.get("tags", {}).get("resonate:parent", job["id"]) != job["id"]:
            return False
        return access.principal.sees(job["id"]) and (not judged or _matches(access, budget, wanted, job))

    return _found(access.store.views.jobs, query, limit, cursor, _PAGE if judged else None, is_wanted, slice)


def find_roots(access: StoreAccess, wanted: PromiseFilter, limit: int, cursor: str | None) -> SearchPage:
    """Return a page of the matching visible roots of workflows, newest first."""
    query = {
        "states": wanted.states,
        "id": wanted.id,
        "prefix": access.principal.prefix,
        "tags": dict(wanted.tags),
        "created_since": wanted.since,
        "created_until": wanted.until,
    }
    judged = bool(wanted.tags and access.redaction.rules.any)

    def is_wanted(budget: Budget, promise: Mapping[str, Any]) -> bool:
        return access.principal.sees(promise["id"]) and (
            not judged or _has_tags(_shown(access, budget, records.promise, promise), wanted)
        )

    return _found(access.store.views.promises, query, limit, cursor, _PAGE if judged else None, is_wanted)


@dataclass
class Budget:
    """The characters that one search may still redact to judge what is shown; a page ends when they are used up."""

    left: int = BUDGET


def _found(
    call: Any,
    query: Mapping[str, Any],
    limit: int,
    cursor: str | None,
    size: int | None,
    is_wanted: Callable[[Budget, Mapping[str, Any]], bool],
    slice: int = SLICE,
) -> SearchPage:
    """Return a page of the records that a query of the core finds and that are wanted.

    Args:
        call: The query.
        query: Its filter.
        limit: The most records.
        cursor: Where the page begins.
        size: How many records are read at once; None if the query decides everything: then no more than are shown.
        is_wanted: Judges a record.
        slice: The most rows that are examined.
    """
    found, budget = SearchPage([], cursor, 0, None), Budget()
    while True:
        left = limit - len(found.items)
        scan = slice - found.examined
        start, most = found.cursor, left if size is None else min(size, scan)
        page = _call(call, **query, limit=most, scan=scan, cursor=start)
        kept: list[dict[str, Any]] = []
        for place, record in enumerate(one.to_dict() for one in page):
            if len(kept) == left or budget.left < 0:  # the next page begins after the last record that was judged
                page = _call(call, **query, limit=place, scan=scan, cursor=start)
                break
            if is_wanted(budget, record):
                kept.append(record)
        found.items += kept
        found.cursor, found.examined, found.reached_at = page.cursor, found.examined + page.scanned, page.reached_at
        if found.cursor is None or len(found.items) >= limit or found.examined >= slice or budget.left < 0:
            return found


def _shown(access: StoreAccess, budget: Budget, show: Callable[..., dict[str, Any]], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as its own page shows it: a filter must not reveal redacted values."""
    redaction = Redaction(access.redaction.rules, BUDGET)
    made: dict[str, Any] = redaction.document(show(access.redacting(redaction), record, most=FULL))
    budget.left -= BUDGET - redaction.left
    return made


def _has_tags(shown: Mapping[str, Any], wanted: PromiseFilter) -> bool:
    return all(shown.get("tags", {}).get(key) == value for key, value in wanted.tags.items())


def _matches(access: StoreAccess, budget: Budget, wanted: JobFilter, job: Mapping[str, Any]) -> bool:
    """Whether a record matches the rest of the filter, judged by what is shown."""
    if wanted.batch is not None and job.get("batch") != wanted.batch:
        return False
    shown = _shown(access, budget, records.job, {name: job[name] for name in _JUDGED if name in job})
    for name, value in (("group", wanted.group), ("uniqueKey", wanted.unique_key)):
        if value is not None and shown.get(name) != value:
            return False
    if not _has_tags(shown, wanted):
        return False
    if wanted.error is not None:
        error = shown.get("error", {})
        text = "\n".join(error[name] for name in ("code", "message") if error.get(name, REDACTED) != REDACTED)
        if wanted.error.lower() not in text.lower():
            return False
    payload = shown["payload"]
    content = payload.get("json", payload.get("text"))
    return all(_has(payload["kind"], content, path, text) for path, text in wanted.arguments)


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
