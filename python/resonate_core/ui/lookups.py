"""The views `why`, `find` and `audit`."""

from __future__ import annotations

from typing import Any

from .door import Door
from .parameters import Parameters, listed
from .site import Site
from .stuck import explain

__all__ = ["audit", "find", "why"]

_MOST_FOUND = 20


def why(door: Door, given: Parameters, site: Site) -> dict[str, Any]:
    """Why an id does not move."""
    return explain(door, given.need("id"), site.listening).to_dict()


def audit(door: Door, given: Parameters, site: Site) -> dict[str, Any]:
    """The newest actions. A principal with a prefix sees its own only."""
    lines = [line for line in site.audit.newest() if not door.principal.prefix or line["who"] == door.principal.name]
    before = given.number("cursor", 0, 2**62)
    if before is not None:
        lines = [line for line in lines if line["number"] < before]
    page = lines[: given.limit]
    return listed(page, page[-1]["number"] if len(lines) > len(page) else None)


def find(door: Door, given: Parameters, site: Site) -> dict[str, Any]:
    """Records with this id or with ids that begin with it, and queues and schedules of this name."""
    text = given.need("q").strip()
    found: dict[tuple[str, str], dict[str, Any]] = {}

    def add(kind: str, id: str, state: str | None, note: str = "") -> None:
        found.setdefault((kind, id), {"id": id, "kind": kind, "state": state, "text": note})

    job, promise = door.find("job", text), door.find("promise", text)
    if job is not None:
        add("job", text, job["state"], job["type"])
    elif promise is not None:
        add("promise", text, promise["state"])
    for queue in door.send("queue.list", {})["queues"]:
        if text.lower() in queue["name"].lower():
            add("queue", queue["name"], "paused" if queue["paused"] else "open")
    if "*" not in text:
        for one in door.send("schedule.search", {"id": f"{text}*", "limit": _MOST_FOUND})["schedules"]:
            add("schedule", one["id"], None, one["cron"])
        starts = door.beginning_with(text, _MOST_FOUND)
        jobs = door.find_all("job", [one["id"] for one in starts])
        for one in starts:
            if one["id"] in jobs:
                add("job", one["id"], jobs[one["id"]]["state"], jobs[one["id"]]["type"])
            else:
                root = one["tags"].get("resonate:origin", one["id"]) == one["id"]
                add("workflow" if root else "promise", one["id"], one["state"])
    return listed(list(found.values())[:_MOST_FOUND], None)
