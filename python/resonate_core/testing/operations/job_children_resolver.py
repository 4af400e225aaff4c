"""Turns an operation on records, messages or children of a job into the data of a request (JOBS 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import job_pools as pools
from .job_pools import ABSENT
from .resolver import Data, Operation, Resolver
from .rows import Row, children, has_below, is_pending, job_state

__all__ = ["CHILD_NEEDS", "ChildResolver", "given"]

CHILD_NEEDS = {
    "job_record": ["running"],
    "job_receive": ["running"],
    "job_send": pools.STATES,
    "job_history": pools.STATES,
    "job_start_over": ["running"],
    "job_fork": pools.STATES,
    "child_enqueue": ["running"],
}
OF_PARENTS = ("job_record", "job_receive", "job_send", "job_history", "job_start_over", "job_fork", "child_enqueue", "job_complete")
"""Operations that do more on a job that has children or messages."""


def given(**members: Any) -> Data:
    """The members without those that are ABSENT."""
    return {name: value for name, value in members.items() if value is not ABSENT}


class ChildResolver(Resolver):
    """Reads rows and changes nothing; a mixin, which `JobResolver` completes."""

    def job(self, drawn: Mapping[str, Any]) -> Data:
        """The data of one job.enqueue."""
        raise NotImplementedError

    def fitting_below(self, aimed: str) -> list[str]:
        """The ids of what belongs to a job, or of the jobs to which something belongs."""
        rows = self.world.promises.values()
        if aimed == "child":
            return [row["id"] for row in rows if "child" in row and is_pending(row, self.world.now)]
        parents = [row for row in rows if has_below(row)]
        return [row["id"] for row in parents if aimed == "parent" or job_state(row, self.world.now) == "running"]

    def children(self, job_id: str) -> list[Row]:
        return children(self.world, job_id)

    def step_id(self, drawn: tuple[str, int], job_id: str) -> str:
        aim, number = drawn
        known = [row["id"] for row in self.children(job_id)]
        if aim == "any":
            return self.promise_id(number)
        return known[number % len(known)] if aim == "child" and known else f"{job_id}:{pools.STEPS[number]}"

    def job_record(self, operation: Operation) -> Data:
        versioned = self.versioned(operation)
        steps = []
        for drawn in operation["steps"]:
            step = given(**{name: drawn[name] for name in ("state", "value", "param", "timeoutIn")})
            step["id"] = self.step_id(drawn["id"], versioned["id"])
            if drawn["tags"]:
                step["tags"] = self.tags(drawn["tags"])
            steps.append(step)
        return {**versioned, "steps": steps}

    def job_receive(self, operation: Operation) -> Data:
        versioned = self.versioned(operation)
        more = given(topic=operation["topic"], timeoutIn=operation["timeoutIn"])
        return {**versioned, "step": self.step_id(operation["step"], versioned["id"]), **more}

    def job_send(self, operation: Operation) -> Data:
        return {"id": self.aim(operation), **given(topic=operation["topic"], key=operation["key"], value=operation["value"])}

    def job_history(self, operation: Operation) -> Data:
        job_id, cursor = self.aim(operation), operation["cursor"]
        if isinstance(cursor, int):
            known = self.children(job_id)
            cursor = "5:x" if not known else "{createdAt}:{id}".format(**known[cursor % len(known)])
        return {"id": job_id, **given(limit=operation["limit"], cursor=cursor)}

    def job_start_over(self, operation: Operation) -> Data:
        return {**self.versioned(operation), **given(args=operation["args"])}

    def job_fork(self, operation: Operation) -> Data:
        """Mostly a new job, before a step that has no pending one before it."""
        job_id, number = self.aim(operation), operation["from"]
        rows = self.children(job_id)
        first = next((place for place, row in enumerate(rows) if is_pending(row, self.world.now)), len(rows))
        known = [row["id"] for row in (rows[: first + 1] if operation["whole"] else rows)]
        unused = [one for one in pools.FORKS if one not in self.world.promises] or pools.FORKS
        new_id = unused[0] if operation["newId"] is None else self.promise_id(operation["newId"])
        step = f"{job_id}:none" if number is None or not known else known[-1 - number % len(known)]
        return {"id": job_id, "from": step, "newId": new_id}

    def child_enqueue(self, operation: Operation) -> Data:
        parent = self.versioned({**operation, "name": "job_record"})
        order = self.job(operation["job"])
        if operation["job"]["who"] is not None:
            order["id"] = self.step_id(operation["id"], parent["id"])
        # Without a parent, it may adopt a step.
        return {**order, "parent": parent} if operation["parent"] else order
