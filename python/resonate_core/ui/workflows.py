"""The views of workflows, promises and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.failed_attempts import failed_attempts
from ..base.states import PROMISE_STATES, TASK_STATES
from ..explain.call_tree import CallNode, calls_of, function_of, in_order
from ..explain.store_queries import awaited_by_each
from ..explain.why import why_in
from ..explain.why_promises import awaited_by_task
from ..explain.workflow_steps import steps_that_run
from . import records
from .access import StoreAccess
from .dashboard import Dashboard
from .jobs import awaited_by
from .messages import message_items
from .parameters import BadParameter, Parameters, listed
from .payloads import FULL, SHOWN
from .searches import PromiseFilter
from .workflow_list import find_workflows

__all__ = ["promise", "tasks", "workflow", "workflows"]

#: The most calls of a tree.
_MOST_CALLS = 2000
#: In a list: the most calls of one workflow that are searched, and the most awaited ids that a note names, of a job by their names.
_MOST_SEARCHED, _NAMED, _NAMED_OF_A_JOB = 200, 2, 3
#: The most promises of a store that is read as a whole for a list, which is read again after each change.
_MOST_READ = 2000


def workflows(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The workflows of SDKs and of workers, newest first."""
    tags = given.pairs("tag")
    access.redaction.rules.refuse_tags("tag", tags)
    wanted = PromiseFilter(
        given.one_of("state", PROMISE_STATES), given.text("id"), tags, given.instant("since"), given.instant("until")
    )
    found = find_workflows(access, wanted, given.limit, given.cursor)
    jobs = {one["id"]: one for one in found.items if "type" in one}
    promises = access.find_all("promise", list(jobs))
    roots = [promises.get(one["id"]) if one["id"] in jobs else one for one in found.items]
    pending = [one["id"] for one in roots if one is not None and one["state"] == "pending"]
    held = access.find_all("task", pending)
    waits = _waits(access, [id for id, task in held.items() if task["state"] == "suspended" and id not in jobs])
    failed = {one.task: one for one in failed_attempts(access.store).held(held.get, ids=pending)}
    calls = access.find_all("promise", [id for job in jobs.values() for id in _awaited(job)[:_NAMED_OF_A_JOB]])
    access.know_ancestry([one["id"] for one in found.items])
    now = access.store.now
    items = []
    for root in roots:
        if root is None:  # it was deleted meanwhile
            continue
        job = jobs.get(root["id"])
        awaited = waits.get(root["id"], []) if job is None else _awaited(job)
        children = [
            CallNode(calls.get(id, {"id": id, "state": "pending"})) for id in awaited[: _NAMED if job is None else _NAMED_OF_A_JOB]
        ]
        call = CallNode(root, held.get(root["id"]), job, failed.get(root["id"]), children)
        call.steps = [] if job is None else steps_that_run(job, lambda ids: _settled(access, ids))
        items.append(
            {
                "promise": records.promise(access, root, type=None if job is None else job["type"], brief=True),
                "func": call.func,
                "task": call.task,
                "job": None if job is None else records.job(access, job, brief=True),
                "children": None,
                "tookMs": call.took(now),
                "note": call.note(now, access.failure, access.error_of)
                + (f" and {len(awaited) - _NAMED} more" if job is None and len(awaited) > _NAMED else ""),
                "waitsFor": awaited,
            }
        )
    return listed(items, found.cursor, found.scan)


def _awaited(job: Mapping[str, Any]) -> list[str]:
    """Return the ids that a waiting job lacks, the first ones."""
    return list(job.get("awaits", {}).get("ids", ()))


def _settled(access: StoreAccess, ids: list[str]) -> list[str]:
    return [id for id, row in access.rows(ids).items() if row["state"] != "pending"]


def _waits(access: StoreAccess, ids: list[str]) -> dict[str, list[str]]:
    """Return the pending promises that suspended tasks await: by a search of the ids that begin with theirs, which an index serves."""
    family = {id: [one for end in ".:" for one in access.beginning_with(f"{id}{end}", _MOST_SEARCHED)] for id in ids}
    pending = {id: [one["id"] for one in others if one["state"] == "pending"] for id, others in family.items()}
    access.rows([other for others in pending.values() for other in others])  # of all at once
    found = {id: access.awaited_of(id, others) for id, others in pending.items()}
    if not access.principal.prefix and access.store.promises.count() > _MOST_READ:
        return found
    return found | awaited_by_each(access, [id for id, others in found.items() if not others])


def workflow(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The call tree and the timeline of a root, or of a call in a workflow."""
    id = given.need("id")
    tree = calls_of(access, id, family=lambda root: access.family(root, _MOST_CALLS))
    if tree.state != "pending":
        tree.job = access.find("job", id)
    calls = [call for call, _ in in_order(tree)]
    access.know_ancestry([call.id for call in calls])
    now = access.store.now
    made: dict[str, dict[str, Any]] = {}
    for call in reversed(calls):  # children before their callers, without recursion
        made[call.id] = {
            "id": call.id,
            "func": call.func,
            "state": call.state,
            "promise": records.promise(access, call.promise, type=None if call.job is None else call.job["type"], brief=True),
            "task": call.task,
            "job": None if call.job is None else records.job(access, call.job, brief=True),
            "note": call.note(now, access.failure, access.error_of),
            "tookMs": call.took(now),
            "waitsFor": call.waits_for,
            **_record(access, call),
            "children": [made[child.id] for child in call.children],
        }
    messages = [message for call in calls if call.state == "pending" for message in access.messages(call.id)]
    return {
        "root": tree.promise["tags"].get("resonate:origin", id),
        "tree": made[id],
        "count": len(calls),
        "cut": len(calls) >= _MOST_CALLS,
        "why": why_in(access, id, dashboard.listening).to_dict(),
        "timeline": _timeline(access, calls),
        "messages": message_items(access, messages, dashboard),
    }


def _record(access: StoreAccess, call: CallNode) -> dict[str, Any]:
    """What a record of a workflow has besides its promise."""
    if call.step is None:
        return {"kind": None}
    error = call.step.error
    return {
        "kind": call.kind,
        "startedAt": call.began_at,
        "attempts": call.step.attempts,
        "error": None if error is None else access.error_of(call.id, str(error)),
    }


def _timeline(access: StoreAccess, calls: list[CallNode]) -> dict[str, Any] | None:
    """The lives of the calls; None until the timeline can be made of records."""
    try:
        from ..timeline.data import (  # type: ignore[import-untyped, unused-ignore]
            record_history,
            timeline_data,
        )
    except ImportError:
        return None
    jobs = access.find_all("job", [call.id for call in calls])
    history = record_history(
        access.store.now,
        promises=[call.promise for call in calls if call.id not in jobs],
        tasks=[call.task for call in calls if call.task is not None and call.id not in jobs],
        jobs=list(jobs.values()),
    )
    made: dict[str, Any] = timeline_data(history)
    return made


def promise(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """One promise, with its task, its job, and everything that refers to it."""
    id = given.need("id")
    found = access.send("promise.get", {"id": id})["promise"]
    job, task = access.find("job", id), access.find("task", id)
    most = FULL if given.flag("full") else SHOWN
    suspended = task is not None and task["state"] == "suspended" and found["state"] == "pending"
    return {
        "promise": records.promise(access, found, type=None if job is None else job["type"], most=most),
        "func": job["type"] if job is not None else function_of(found["param"]),
        "task": task,
        "job": None if job is None else records.job(access, job, most=most),
        **awaited_by(access, id),
        "awaits": awaited_by_task(access, id, found) if suspended else [],
        "why": why_in(access, id, dashboard.listening).to_dict(),
        "messages": message_items(access, access.messages(id), dashboard),
    }


def tasks(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The matching tasks, by id."""
    states = given.one_of("state", TASK_STATES)
    if len(states) > 1:
        raise BadParameter(f"state must be given once, got {states}")
    query: dict[str, Any] = {"limit": given.limit}
    for name, value in (("state", states[0] if states else None), ("id", given.text("id")), ("cursor", given.cursor)):
        if value is not None:
            query[name] = value
    data = access.send("task.search", query)
    return listed(data["tasks"], data.get("cursor"))
