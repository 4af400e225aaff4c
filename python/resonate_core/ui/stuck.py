"""The view `stuck`: what of the whole store waits for a person, or for a worker or a process that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base.instants import NEVER
from ..base.states import ended_at
from ..explain.job_waits import Waits
from ..explain.large_stores import is_large
from ..explain.store_queries import put_back_of
from ..explain.why import why_in
from .access import StoreAccess
from .dashboard import Dashboard
from .messages import own_messages, record_of
from .parameters import Parameters, listed

__all__ = ["stuck"]

#: The most ids of each kind that are examined.
_MOST = 25
#: A wait that is shorter than this (ms) is not shown: it may end in a moment.
_PATIENCE = 60_000
#: Messages that wake a task.
_WAKING = ("execute", "invoke", "resume")


def stuck(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """Jobs, tasks, queues and schedules that do not move by themselves; first those that need a person, the longest wait first.

    `archived` is the number of archived jobs that are not among them; None if the principal does not see all.
    """
    found: dict[str, dict[str, Any]] = {}
    for id, since in _candidates(access):
        if id not in found and access.principal.sees(id):
            why = why_in(access, id, dashboard.listening)
            said = {"id": id, "kind": why.kind, "state": why.state, "sentence": why.sentence}
            found[id] = {**said, "since": since, "needsPerson": why.stuck}
    items = sorted(found.values(), key=lambda one: (not one["needsPerson"], NEVER if one["since"] is None else one["since"]))
    shown = items[: given.limit]
    archived = sum(queue["counts"].get("archived", 0) for queue in access.send("job.stats", {})["queues"])
    left = archived - sum(one["kind"] == "job" and one["state"] == "archived" for one in shown)
    return {**listed(shown, None), "archived": None if access.principal.prefix else left}


def _candidates(access: StoreAccess) -> Iterator[tuple[str, int | None]]:
    """Yield ids, and since when each waits, if that is known."""
    store, late = access.store, access.store.now - _PATIENCE
    prefix = access.principal.prefix
    for job in store.views.jobs(states=["archived"], limit=_MOST, prefix=prefix):
        root, since = job.tags.get("resonate:origin", job.id), ended_at(job.to_dict())
        if root != job.id and access.find("promise", root) is not None:
            yield root, since
        yield job.id, since
    for job in store.views.jobs(states=["waiting"], limit=_MOST, prefix=prefix):
        if Waits(access, job.id).has_circle:  # whatever else holds jobs up is listed itself
            yield job.id, job.sent_at
    for back in put_back_of(access):
        if back.since < late:
            yield back.id, back.since
    for queue in access.send("job.stats", {})["queues"]:
        oldest = queue.get("oldestPendingAt")
        if queue["counts"].get("pending") and (queue["paused"] or (oldest is not None and oldest < late and not queue["active"])):
            yield queue["name"], oldest
    for problem in store.problems():
        if problem.name == "schedule_set_aside":
            yield problem.id, None
    if not is_large(store, prefix):  # states of tasks have no index
        for task in access.send("task.search", {"state": "halted", "limit": _MOST})["tasks"]:
            yield task["id"], None
    for message in own_messages(access)[0][:_MOST] if prefix else map(record_of, store.messages(_MOST)):
        if message["kind"] in _WAKING and not message.get("stale") and message["queuedAt"] < late:
            yield message["id"], message["queuedAt"]
    for step in store.views.due(1, prefix=prefix):
        if step["at"] is not None and step["at"] < late:
            yield step["id"], step["at"]
