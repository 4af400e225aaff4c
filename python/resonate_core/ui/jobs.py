"""The views of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.states import JOB_STATES
from ..explain.call_tree import function_of
from ..explain.job_graph import graph_of
from ..explain.job_waits import waits_before_start
from ..explain.why import why_in
from . import records
from .access import Refused, StoreAccess
from .dashboard import Dashboard
from .graph_picture import picture_of
from .lineage import RERUN_OF
from .messages import message_items
from .parameters import BadParameter, Parameters, listed
from .payloads import FULL, SHOWN
from .searches import JobFilter, find_jobs

__all__ = ["awaited_by", "count", "graph", "job", "jobs"]

#: The most awaiters, and the most awaited promises, that the page of a job names.
_MOST_AWAITERS = 50
#: The most promises of a graph.
_MOST_OF_GRAPH, _USUAL_GRAPH = 1000, 200


def _filter(access: StoreAccess, given: Parameters) -> JobFilter:
    arguments = []
    for value in given.every("arg"):
        path, equals, text = value.partition("=")
        if equals and not path:
            raise BadParameter(f"arg must be PATH=VALUE or a text, got {value!r}")
        if equals and access.redaction.rules.hides_path(path):
            raise BadParameter(f"arg must not name a redacted member, got {path!r}")
        arguments.append((path, text) if equals else (None, value))
    tags = given.pairs("tag")
    access.redaction.rules.refuse_tags("tag", tags)
    return JobFilter(
        states=given.one_of("state", JOB_STATES),
        id=given.text("id"),
        tags=tags,
        since=given.instant("since"),
        until=given.instant("until"),
        type=given.text("type"),
        queue=given.text("queue"),
        group=given.text("group"),
        unique_key=given.text("uniqueKey"),
        batch=given.text("batch"),
        error=given.text("error"),
        arguments=tuple(arguments),
    )


def jobs(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The matching jobs, newest first."""
    wanted = _filter(access, given)
    found = find_jobs(access, wanted, given.limit, given.cursor)
    return listed([records.job(access, one, brief=True) for one in found.items], found.cursor, found.scan)


def count(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The number of matching jobs, where the queues count it: by state and by queue."""
    wanted = _filter(access, given)
    if wanted.needs_records() or wanted.id or wanted.tags or wanted.type or wanted.since or wanted.until:
        return {"count": None, "exact": False}
    stats = access.send("job.stats", {} if wanted.queue is None else {"queue": wanted.queue})["queues"]
    states = wanted.states or JOB_STATES
    return {"count": sum(one["counts"].get(state, 0) for one in stats for state in states), "exact": not access.principal.prefix}


def job(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """One job, with everything that refers to it."""
    id = given.need("id")
    found = access.find("job", id)
    if found is None:
        raise Refused(404, f"job {id!r} does not exist")
    most = FULL if given.flag("full") else SHOWN
    promise = access.send("promise.get", {"id": id})["promise"]
    group = None
    if "group" in found:
        group = {name: found.get(name) for name in ("group", "batch", "gathering")} | {"size": _size(access, found)}
    tags: Mapping[str, str] = promise["tags"]
    return {
        "job": records.job(access, found, most=most),
        "promise": records.promise(access, promise, type=found["type"], brief=True),
        **awaited_by(access, id),
        "waitsFor": _waits_for(access, found),
        "group": group,
        "why": why_in(access, id, dashboard.listening).to_dict(),
        "related": {
            "root": tags.get("resonate:origin") if tags.get("resonate:origin") != id else None,
            "schedule": tags.get("resonate:schedule"),
            "retriedFrom": tags.get(RERUN_OF),
        },
        "messages": message_items(access, access.messages(id), dashboard),
    }


def graph(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """What a job waits for and who waits for it, and so on; without nodes if it does not exist."""
    id = given.need("id")
    found = graph_of(access, id, given.number("most", 1, _MOST_OF_GRAPH, _USUAL_GRAPH) or _USUAL_GRAPH)
    if found is None:
        return {"root": id, "nodes": [], "edges": [], "complete": True, "picture": None}
    return {**found.to_dict(), "picture": picture_of(found)}


def _size(access: StoreAccess, job: Mapping[str, Any]) -> int | None:
    """Count the members of a job's batch; None if that takes more than one slice of the newest jobs of its queue."""
    if job.get("batch") is None:
        return None
    states = ["scheduled"] if job.get("gathering") else []
    found = find_jobs(access, JobFilter(states, queue=job["queue"], type=job["type"], batch=job["batch"]), 1000, None)
    return len(found.items) if found.cursor is None else None


def _waits_for(access: StoreAccess, job: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a job waits for, or has waited for before its first start: the ids that it lacks first. None if it waits for nothing."""
    awaits, after = job.get("awaits", {"ids": [], "count": 0}), job.get("after", [])
    if not awaits["count"] and not after:
        return None
    lacks = set(awaits["ids"])
    ids = [id for id in dict.fromkeys((*awaits["ids"], *after)) if access.sees(id)][:_MOST_AWAITERS]
    jobs, promises = access.jobs_and_promises(ids)
    items = []
    for id in ids:
        kind, known = ("job", jobs[id]) if id in jobs else ("promise", promises.get(id, {}))
        items.append({"id": id, "kind": kind, "state": known.get("state"), "func": known.get("type"), "lacks": id in lacks})
    by_after = waits_before_start(job)
    return {
        "items": items,
        "lacks": awaits["count"],
        "count": len(after) if by_after else max(awaits["count"], len(after)),
        "by": "after" if by_after else "suspend",
        "afterFailed": job.get("afterFailed"),
    }


def awaited_by(access: StoreAccess, id: str) -> dict[str, Any]:
    """Return the jobs, tasks and listeners that are notified when a promise is settled, `awaitedBy`: of a wide fan the first.

    `awaitedByMore` is how many more there are; None: there may be more, but not all of those that were read are visible.
    """
    row = access.row(id)
    if row is None:
        return {"awaitedBy": [], "awaitedByMore": 0}
    visible = [other for other in row["callbacks"] if access.principal.sees(other)]
    awaiters, addresses = visible[:_MOST_AWAITERS], row["listeners"][:_MOST_AWAITERS]
    known = len(visible) if access.is_whole(row, "callbacks") else access.count_of(row, "callbacks")
    more = known - len(awaiters) + access.count_of(row, "listeners") - len(addresses)
    is_counted = access.is_whole(row, "callbacks") or not access.principal.prefix
    jobs, promises = access.jobs_and_promises(awaiters)
    tasks = access.find_all("task", list(promises))
    made: list[dict[str, Any]] = []
    for other in awaiters:
        if other in jobs:
            made.append({"id": other, "kind": "job", "state": jobs[other]["state"], "address": None, "func": jobs[other]["type"]})
            continue
        func = function_of(promises[other]["param"]) if other in promises else None
        made.append({"id": other, "kind": "task", "state": tasks.get(other, {}).get("state"), "address": None, "func": func})
    for one in addresses:
        address = one["address"] if isinstance(one, Mapping) else one
        made.append({"id": None, "kind": "listener", "state": None, "address": address, "func": None})
    return {"awaitedBy": made, "awaitedByMore": more if is_counted else None}
