"""Completion of values in a shell: queues, types, states and ids, from the store that the command line names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from resonate_core._foreign_text import is_clean
from resonate_core.base.states import JOB_STATES, PROMISE_STATES, TASK_STATES
from resonate_core.calls.workflow_records import WORKFLOW_TAG
from resonate_core.cli.command import StoreFlags, open_target
from resonate_core.cli.exits import CommandFailed
from resonate_core.cli.target import DIALECTS, Access, Target
from resonate_core.http.deadline import within

__all__ = [
    "any_id",
    "job_ids",
    "job_states",
    "job_types",
    "promise_ids",
    "promise_states",
    "queues",
    "schedule_ids",
    "step_ids",
    "task_states",
    "workflow_ids",
]

MOST = 50
"""The maximum of values that are offered."""

LONGEST = 2.0
"""The seconds for which a server is waited for: a person has pressed a key."""

READ = 1000
"""The maximum of records that are read to find types."""


_OF_THE_SHELL = re.compile(r"""[\s;&|<>()$`"'\\!*?\[\]{}~#]""")
"""Characters that a shell would expand or run."""


Completer = Callable[[Any, str], "list[str]"]


def _flags(context: Any) -> StoreFlags:
    given = context.params
    return StoreFlags(
        given.get("db"), given.get("url"), given.get("token"), given.get("config"), given.get("dialect") or DIALECTS[0]
    )


def _is_offered(value: str) -> bool:
    """Whether the shell takes a value as it stands: others chose it, and it is written into the command line."""
    return is_clean(value) and _OF_THE_SHELL.search(value) is None


def _of_store(found: Callable[[Target, str], Iterable[str]]) -> Completer:
    """Make a completer that asks the store. If the store does not exist or refuses, there is nothing to offer and no error."""

    def complete(ctx: Any, incomplete: str) -> list[str]:
        try:
            with open_target(_flags(ctx), Access.READ) as target, within(LONGEST):
                values = dict.fromkeys(found(target, incomplete))
        except (CommandFailed, OSError):
            return []
        return [value for value in values if value.startswith(incomplete) and _is_offered(value)][:MOST]

    return complete


def _of(values: Iterable[str]) -> Completer:
    def complete(ctx: Any, incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def _ids(kind: str, member: str, **filters: Any) -> Callable[[Target, str], Iterable[str]]:
    def found(target: Target, incomplete: str) -> Iterable[str]:
        pattern = {"id": f"{incomplete}*"} if incomplete and "*" not in incomplete else {}
        return [str(record["id"]) for record in target.send(kind, {**filters, **pattern, "limit": MOST})[member]]

    return found


def _types(target: Target, incomplete: str) -> Iterable[str]:
    return sorted({str(job["type"]) for job in target.send("job.search", {"limit": READ})["jobs"]})


def _queues(target: Target, incomplete: str) -> Iterable[str]:
    return [str(queue["name"]) for queue in target.send("queue.list", {})["queues"]]


queues = _of_store(_queues)
job_types = _of_store(_types)
job_ids = _of_store(_ids("job.search", "jobs"))
promise_ids = _of_store(_ids("promise.search", "promises"))
schedule_ids = _of_store(_ids("schedule.search", "schedules"))
workflow_ids = _of_store(_ids("job.search", "jobs", tags={WORKFLOW_TAG: "true"}))


def step_ids(ctx: Any, incomplete: str) -> list[str]:
    """Complete the id of a step of the workflow that the command line names."""

    def found(target: Target, incomplete: str) -> Iterable[str]:
        return [str(step["id"]) for step in target.send("job.history", {"id": ctx.params["id"], "limit": READ})["promises"]]

    return _of_store(found)(ctx, incomplete) if ctx.params.get("id") else []


def any_id(ctx: Any, incomplete: str) -> list[str]:
    """Complete the id of what the command is about."""
    path = str(ctx.command_path).split()
    found = next((found for group, found in _IDS_OF.items() if group in path), promise_ids)
    return found(ctx, incomplete)


_IDS_OF = {"jobs": job_ids, "schedules": schedule_ids, "workflows": workflow_ids}


job_states = _of(JOB_STATES)
promise_states = _of(PROMISE_STATES)
task_states = _of(TASK_STATES)
