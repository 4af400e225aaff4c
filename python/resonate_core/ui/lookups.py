"""The views `why`, `find` and `audit`."""

from __future__ import annotations

from typing import Any

from ..explain.why import why_in
from .access import StoreAccess
from .dashboard import Dashboard
from .parameters import Parameters, listed

__all__ = ["audit", "find", "why"]

_MOST_FOUND = 20


def why(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """Why an id does not move."""
    return why_in(access, given.need("id"), dashboard.listening).to_dict()


def audit(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The newest actions; of a principal with a prefix, those of principals with the same prefix."""
    lines = dashboard.audit.newest(access.principal)
    before = given.number("cursor", 0, 2**62)
    if before is not None:
        lines = [line for line in lines if line["number"] < before]
    page = lines[: given.limit]
    return listed(page, page[-1]["number"] if len(lines) > len(page) else None)


def find(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """Records with this id or with ids that begin with it, and queues and schedules of this name."""
    text = given.need("q").strip()
    found: dict[tuple[str, str], dict[str, Any]] = {}

    def add(kind: str, id: str, state: str | None, note: str = "") -> None:
        found.setdefault((kind, id), {"id": id, "kind": kind, "state": state, "text": note})

    job, promise = access.find("job", text), access.find("promise", text)
    if job is not None:
        add("job", text, job["state"], job["type"])
    elif promise is not None:
        add("promise", text, promise["state"])
    for queue in access.send("queue.list", {})["queues"]:
        if text.lower() in queue["name"].lower():
            add("queue", queue["name"], "paused" if queue["paused"] else "open")
    if "*" not in text:
        for one in access.send("schedule.search", {"id": f"{text}*", "limit": _MOST_FOUND})["schedules"]:
            add("schedule", one["id"], None, one["cron"])
        starts = access.beginning_with(text, _MOST_FOUND)
        jobs = access.find_all("job", [one["id"] for one in starts])
        for one in starts:
            if one["id"] in jobs:
                add("job", one["id"], jobs[one["id"]]["state"], jobs[one["id"]]["type"])
            else:
                root = one["tags"].get("resonate:origin", one["id"]) == one["id"]
                add("workflow" if root else "promise", one["id"], one["state"])
    return listed(list(found.values())[:_MOST_FOUND], None)
