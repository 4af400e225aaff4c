"""The view of schedules: their next and last runs, with outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._core import cron_next
from ..base.instants import NEVER
from ..base.states import JOB_ENDS
from ..errors import ResonateError
from ..explain.call_tree import function_of
from . import records
from .access import StoreAccess
from .dashboard import Dashboard
from .parameters import Parameters, listed

__all__ = ["schedules"]

_NEXT_RUNS, _LAST_RUNS = 5, 10
#: The most promises of a schedule that are read for its last runs.
_MOST_RUNS = 1000


def schedules(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The matching schedules, by id."""
    query: dict[str, Any] = {"limit": given.limit}
    for name, value in (("id", given.text("id")), ("cursor", given.cursor)):
        if value is not None:
            query[name] = value
    data = access.send("schedule.search", query)
    problems = {one.id: one.detail for one in access.store.problems() if one.name == "schedule_set_aside"}
    return listed([_item(access, one, problems.get(one["id"])) for one in data["schedules"]], data.get("cursor"))


def _item(access: StoreAccess, schedule: Mapping[str, Any], problem: str | None) -> dict[str, Any]:
    following: list[int] = []
    if problem is None and schedule["nextRunAt"] != NEVER and not schedule.get("paused"):
        try:
            following = [schedule["nextRunAt"], *cron_next(schedule["cron"], schedule["nextRunAt"], _NEXT_RUNS - 1)]
        except ResonateError as error:
            problem = str(error)
    job = schedule.get("job")
    return {
        "schedule": records.schedule(access, schedule),
        "func": function_of(schedule["promiseParam"]),
        "type": None if job is None else job["type"],
        "problem": problem,
        "next": following,
        "last": _last_runs(access, schedule),
    }


def _last_runs(access: StoreAccess, schedule: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The newest promises or jobs of a schedule that still exist."""
    if "lastRunAt" not in schedule:
        return []
    query = {"tags": {"resonate:schedule": schedule["id"]}, "limit": _MOST_RUNS}
    runs = access.send("promise.search", query)["promises"]
    template = schedule["promiseId"]
    if not runs and "{{.timestamp}}" in template:  # the strict rules add no tag
        id = template.replace("{{.id}}", schedule["id"]).replace("{{.timestamp}}", str(schedule["lastRunAt"]))
        one = access.find("promise", id)
        runs = [] if one is None else [one]
    runs.sort(key=lambda run: (run["createdAt"], run["id"]), reverse=True)
    newest = runs[:_LAST_RUNS]
    jobs = access.find_all("job", [run["id"] for run in newest]) if "job" in schedule else {}
    made = []
    for run in newest:
        state = jobs[run["id"]]["state"] if run["id"] in jobs else run["state"]
        took = run["settledAt"] - run["createdAt"] if "settledAt" in run else None
        outcome = state if run["id"] in jobs else JOB_ENDS.get(state, state)
        made.append({"id": run["id"], "at": run["createdAt"], "state": state, "outcome": outcome, "tookMs": took})
    return made
