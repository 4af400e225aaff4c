"""The records of the views: those of the wire, with readable payloads, redacted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.instants import NEVER
from ..base.states import ended_at, next_at
from .access import VALUES, StoreAccess
from .lineage import ancestry_of
from .payloads import BRIEF, SHOWN, shown
from .policies import policy_in_words
from .redaction import REDACTED, Redaction
from .traces import stretches

__all__ = ["job", "promise", "record", "schedule"]

#: The most ids of `after` in a response.
_MOST_IDS = 100
#: The most characters of a traceback in a list of jobs.
_MOST_OF_ERROR = 2048


def job(access: StoreAccess, given: Mapping[str, Any], *, brief: bool = False, most: int = SHOWN) -> dict[str, Any]:
    """Return a job for a view.

    Args:
        access: To the store, with the redaction of the response.
        given: As on the wire.
        brief: For a list: without attempts and the lines of reports, and with a short payload.
        most: The most characters of its payload and result.
    """
    redaction = access.redaction
    hidden = access.hides_job(given)
    most = BRIEF if brief else most
    made = dict(given)
    for name in ("payload", "result"):
        if name in given:
            made[name] = shown(given[name], redaction, hidden=hidden, most=most)
    if "tags" in given:
        made["tags"] = redaction.pairs(given["tags"])
    if "error" in given:
        made["error"] = _error(given["error"], redaction, hidden, brief)
    if brief:
        made.pop("attempts", None)
        if "report" in given:
            made["report"] = {name: value for name, value in given["report"].items() if name != "lines"}
    else:
        if "attempts" in given:
            made["attempts"] = [
                {**attempt, "error": _error(attempt["error"], redaction, hidden, False)} if "error" in attempt else attempt
                for attempt in given["attempts"]
            ]
        if "report" in given:
            made["report"] = _report(given["report"], redaction, hidden)
        if "retryPolicy" in given:
            made["retries"] = policy_in_words(given["retryPolicy"])
    if "after" in given:  # an operator may have named what this principal must not see
        made["after"] = [id for id in given["after"] if access.sees(id)][:_MOST_IDS]
        made["afterCount"] = len(given["after"])
    if "awaits" in given:
        awaits = given["awaits"]  # of a snapshot: all ids
        ids, number = (awaits, len(awaits)) if isinstance(awaits, list) else (awaits["ids"], awaits["count"])
        made["awaits"] = {"ids": [id for id in ids if access.sees(id)][:_MOST_IDS], "count": number}
    made["nextAt"], made["endedAt"] = next_at(given), ended_at(given)
    return made


def _error(error: Mapping[str, Any], redaction: Redaction, hidden: bool, brief: bool) -> dict[str, Any]:
    """The code stays: people search by it, and programs choose it."""
    if hidden:
        return {"code": error["code"], **{name: REDACTED for name in ("message", "data") if name in error}}
    made = {name: redaction.text(text) if isinstance(text, str) else redaction.members(text) for name, text in error.items()}
    if brief and len(made.get("data", "")) > _MOST_OF_ERROR:
        made["data"] = made["data"][:_MOST_OF_ERROR] + "…"
    if not brief and isinstance(made.get("data"), str):
        made["trace"] = stretches(made["data"])
    return made


def _report(report: Mapping[str, Any], redaction: Redaction, hidden: bool) -> dict[str, Any]:
    lines = [{**line, "text": REDACTED if hidden else redaction.text(line["text"])} for line in report.get("lines", [])]
    return {**report, "lines": lines}


def promise(
    access: StoreAccess, given: Mapping[str, Any], *, type: str | None = None, brief: bool = False, most: int = SHOWN
) -> dict[str, Any]:
    """Return a promise for a view; `type` is that of its job, if it is known."""
    known = ancestry_of({**given, **({} if type is None else {"job": {"type": type}})})
    hidden = access.hides(given["id"] if type is None else None, known)
    most = BRIEF if brief else most
    made = dict(given)
    for name in ("param", "value"):
        made[name] = shown(given.get(name), access.redaction, hidden=hidden, most=most)
    made["tags"] = access.redaction.pairs(given.get("tags", {}))
    return made


def schedule(access: StoreAccess, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schedule for a view; `nextRunAt` is None if it never runs again, or not until it is resumed."""
    row = {"id": None, "param": given["promiseParam"], "tags": given["promiseTags"], "job": given.get("job", {})}
    hidden = access.hides(None, ancestry_of(row))
    made = {**given, "promiseParam": shown(given["promiseParam"], access.redaction, hidden=hidden)}
    made["promiseTags"] = access.redaction.pairs(given["promiseTags"])
    if given["nextRunAt"] == NEVER or given.get("paused"):
        made["nextRunAt"] = None
    return made


def record(access: StoreAccess, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of a snapshot or of the wire, of any kind, for a view."""
    if kind == "promise":
        return promise(access, given, brief=True)
    if kind == "schedule":
        return schedule(access, given)
    if kind == "job" and "type" in given:
        return job(access, {"state": "", **given}, most=BRIEF)
    made = dict(given)
    for name in VALUES:
        if isinstance(given.get(name), Mapping):
            made[name] = shown(given[name], access.redaction)
    return made
