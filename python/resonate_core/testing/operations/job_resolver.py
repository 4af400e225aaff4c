"""Turns an operation on jobs or queues into a request that fits the rows of a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...base.rates import claimable_at
from . import job_pools as pools
from .job_children_resolver import CHILD_NEEDS, OF_PARENTS, ChildResolver, given
from .job_pools import ABSENT
from .pools import INT64_MAX
from .resolver import NEW, Data, Operation, request
from .rows import Row, gathering, has_below, is_pending, job_state

__all__ = ["FAR_AHEAD", "JobResolver"]

FAR_AHEAD = 2 * 10**8
LEAVING = ("job_cancel", "job_run", "job_archive", "job_delete", "promise_settle")
"""Operations that remove a job from its gathering group."""
NEEDS = {
    "job_start": ["claimed"],
    "job_start_many": ["claimed"],
    "job_complete": ["running"],
    "job_complete_many": ["running"],
    "job_fail": ["running"],
    "job_release": ["claimed"],
    "job_snooze": ["running"],
    "job_suspend": ["running"],
    "job_report": ["running"],
    "job_heartbeat": ["claimed", "running", "cancelled"],
    "job_run": ["archived", "retry", "scheduled", "waiting"],
    "job_archive": ["pending", "scheduled", "retry", "waiting"],
    "job_cancel": ["pending", "claimed", "running", "archived", "retry", "scheduled", "waiting"],
    "job_delete": pools.STATES,
    "job_get": pools.STATES,
    **CHILD_NEEDS,
}
#: Of what is drawn of a job: the instants, in ms from now, and what is no member of this name. The rest are members as they are.
_RELATIVE = ("goodUntil", "deadline", "sentAt")
_RESOLVED = ("who", "tags", "process", "after")


class JobResolver(ChildResolver):
    """Reads rows and changes nothing."""

    # The jobs of occurrences stay for a while, and the model reads all jobs at each step.
    most_occurrences = 5

    def fitting(self, operation: Operation) -> list[str]:
        needed = NEEDS.get(operation["name"])
        if operation.get("aimed") == "gathering":
            found = [row for row in self.world.promises.values() if "gathering" in row.get("job", {})]
            # Leaders last.
            return [row["id"] for row in sorted(found, key=lambda row: "flight" in row["job"])]
        if operation.get("aimed") == "awaiter":
            awaiters = {one for row in self.pending_jobs() for one in row["callbacks"]}
            return self.pending_of(awaiters)
        if operation.get("aimed") == "waiting":
            return [row["id"] for row in self.pending_jobs() if row["job"]["state"] == "waiting"]
        if operation.get("aimed") == "awaited":
            lacked = {one for row in self.pending_jobs() for one in row["job"].get("awaits", [])}
            return self.pending_of(lacked)
        if operation.get("aimed") in ("child", "parent", "running parent"):
            return self.fitting_below(operation["aimed"])
        if needed is None:
            return super().fitting(operation)
        jobs = [row for row in self.world.promises.values() if "job" in row]
        return [row["id"] for row in jobs if job_state(row, self.world.now) in needed]

    def pending_of(self, ids: set[str]) -> list[str]:
        """Those of the ids whose promise exists and is pending."""
        rows = ((one, self.world.promises.get(one)) for one in sorted(ids))
        return [one for one, row in rows if row is not None and is_pending(row, self.world.now)]

    def pending_jobs(self) -> list[Row]:
        """The rows of the jobs whose promise is pending."""
        jobs = [row for row in self.world.promises.values() if "job" in row]
        return [row for row in jobs if is_pending(row, self.world.now)]

    def is_rare(self, name: str, row: Row) -> bool:
        if "gathering" in row.get("job", {}) and name in LEAVING:
            return True
        if not name.startswith("job_"):
            return name in ("promise_settle", "listen") and "job" in row and row["state"] == "pending"
        if name in OF_PARENTS and has_below(row):
            return True
        return bool(row["callbacks"] or row["listeners"] or row["job"]["awaiters"]) and name in (
            "job_complete",
            "job_cancel",
            "job_delete",
        )

    def promise_id(self, number: int) -> str:
        names = pools.JOB_IDS[:2] + pools.PROMISE_IDS + pools.JOB_IDS[2:]
        others = sorted(set(self.world.promises) - set(names))
        names = names + others[-4:]
        return names[number % len(names)]

    def preparation(self, operation: Operation) -> Data:
        """A request that brings a job closer to the state that an aimed operation needs."""
        if operation["aimed"] == "gathering":
            one = {"type": "t", "queue": "q1", "group": "g1", "deadline": self.deadline(("in", 10**7))}
            return request("job.enqueue_many", NEW, {"jobs": [one] * 3})
        if operation["aimed"] == "awaiter":
            jobs = self.pending_jobs()
            tasks = super().fitting({"name": "task_halt"})
            if jobs and tasks:
                data = {"awaited": jobs[operation["who"] % len(jobs)]["id"], "awaiter": tasks[operation["who"] % len(tasks)]}
                return request("promise.register_callback", NEW, data)
        if operation["aimed"] in ("awaited", "waiting"):
            jobs = self.pending_jobs()
            if jobs:
                one = {"type": "t", "queue": "q1", "deadline": self.deadline(("in", 10**7)), "afterFailed": "run"}
                return request("job.enqueue", NEW, {**one, "after": [jobs[operation["who"] % len(jobs)]["id"]]})
            return super().preparation({**operation, "name": "promise_get"})
        needed = ["running"] if operation["aimed"] in ("child", "parent", "running parent") else NEEDS.get(operation["name"])
        if needed is None:
            return super().preparation(operation)
        known: dict[str, list[str]] = {}
        for row in self.world.promises.values():
            if "job" in row:
                known.setdefault(job_state(row, self.world.now), []).append(row["id"])
        if "running" in known and operation["aimed"] in ("child", "parent", "running parent"):
            parent = known["running"][operation["who"] % len(known["running"])]
            step = {"id": f"{parent}:{pools.STEPS[operation['who'] % 4]}"}
            return request("job.record", NEW, {"id": parent, "version": self.job_version(parent, "right"), "steps": [step]})
        if "claimed" in known and "running" in needed:
            data = {"id": known["claimed"][0], "version": self.job_version(known["claimed"][0], "right")}
            return request("job.start", NEW, data)
        if "pending" in known and needed[0] in ("claimed", "running"):
            paused = [queue["name"] for queue in self.world.queues.values() if queue["paused"]]
            if paused:
                return request("queue.resume", NEW, {"queue": paused[0]})
            return request("job.claim", NEW, {"queues": pools.QUEUES, "worker": "w1", "lease": 60_000})
        if "running" in known and "archived" in needed:
            data = {"id": known["running"][0], "version": self.job_version(known["running"][0], "right"), "retryable": False}
            return request("job.fail", NEW, {**data, "error": {"code": "E1"}})
        if "archived" in known and "running" in needed:
            return request("job.run", NEW, {"id": known["archived"][0]})
        unused = [one for one in pools.JOB_IDS if one not in self.world.promises]
        data = {"type": "t", "queue": "q1", "deadline": self.deadline(("in", 10**7))}
        if unused:
            data["id"] = unused[0]
        return request("job.enqueue", NEW, data)

    def timers(self) -> list[int]:
        """The stored timers, and the instants from which a rate allows a claim, up to FAR_AHEAD ms from now."""
        found = set(super().timers())
        for row in self.world.promises.values():
            job = row.get("job", {})
            found |= {job.get("goodUntil", 0), job.get("reclaimAt", 0), job.get("startedAt", 0) + job.get("timeout", 0)}
            found.add(job.get("sentAt", 0) + job.get("uniqueFor", 0))
        for queue in self.world.queues.values():
            found.add(claimable_at(queue) or 0)
        return sorted(instant for instant in found if self.world.now <= instant <= self.world.now + FAR_AHEAD)

    def instant(self, when: Any, aimed_at: str | None = None) -> int | None:
        row = None if aimed_at is None else self.world.promises.get(aimed_at)
        own = min(row["timeoutAt"], row.get("job", {}).get("goodUntil", INT64_MAX)) if row is not None else INT64_MAX
        if when[0] == "its flight":
            return self.group_ready_at(row, when[1])
        if when[0] == "own deadline" and own < INT64_MAX:
            return self.not_too_far(own + when[2])
        if when[0] == "own deadline" or (when[0] == "rare" and when[1] % 7 != 0):
            # At the largest instant there is little to test.
            return None
        return super().instant(when, aimed_at)

    def group_ready_at(self, row: Row | None, offset: int) -> int | None:
        """The instant at which a job's gathering group is ready, plus an offset; None if that is far ahead or there is none."""
        if row is None or "gathering" not in row.get("job", {}):
            return None
        end = next((one["task"]["retryAt"] for one in gathering(self.world, row) if "flight" in one["job"]), INT64_MAX)
        return self.not_too_far(end + offset) if end <= self.world.now + FAR_AHEAD else None

    def instant_of(self, operation: Operation) -> int | None:
        """The instant of an operation, which may be the deadline of the row at which it is aimed."""
        if operation["name"].startswith("job_") and "jobs" in operation and "aimed" not in operation:
            return self.instant(operation["when"])
        return super().instant_of(operation)

    def job_version(self, job_id: str, wanted: str) -> int:
        task = self.world.promises.get(job_id, {}).get("task")
        right = task["acquisitions"] if task else 0
        return {"right": right, "zero": 0, "huge": INT64_MAX, "next": right + 1, "previous": max(0, right - 1)}[wanted]

    def relative(self, number: Any) -> Any:
        """The instant this many ms from now, at least 0; ABSENT stays ABSENT."""
        return ABSENT if number is ABSENT else min(max(0, self.world.now + number), INT64_MAX)

    # ---- data of the requests

    def job(self, drawn: Mapping[str, Any]) -> Data:
        """The data of one job.enqueue."""
        names = pools.JOB_IDS + pools.PROMISE_IDS
        data = given(
            id=ABSENT if drawn["who"] is None else names[drawn["who"]],
            **{name: value for name, value in drawn.items() if name not in (*_RELATIVE, *_RESOLVED)},
            **{name: self.relative(drawn[name]) for name in _RELATIVE},
        )
        if drawn["after"] is not ABSENT:
            data["after"] = self.awaited_ids(drawn["after"], data.get("id", ""))
        if drawn["tags"]:
            data["tags"] = self.tags(drawn["tags"])
        if drawn["process"] is not ABSENT:
            how, number = drawn["process"]
            if how != "in":
                data["processAt"] = self.relative(number)
            if how != "at":
                data["processIn"] = number
        return data

    def awaited_ids(self, drawn: list[tuple[int, str]], own_id: str) -> list[str]:
        """The ids for which a job is to wait, each as it was drawn; its own, if that is wanted and there is one."""
        return [own_id if aim == "own" and own_id else self.awaited_id(number, aim, own_id) for number, aim in drawn]

    def job_enqueue(self, operation: Operation) -> Data:
        return self.job(operation["job"])

    group_enqueue = after_enqueue = job_enqueue

    def join_late(self, operation: Operation) -> Data:
        job = self.world.promises[self.aim(operation)].get("job", {})
        return {**self.job(operation["job"]), **{name: job[name] for name in ("queue", "type", "group") if name in job}}

    def unique_enqueue(self, operation: Operation) -> Data:
        more = given(queue=operation["queue"], uniqueKey=operation["uniqueKey"], uniqueFor=operation["uniqueFor"])
        return {"type": "t", "deadline": self.relative(10**9), **more}

    def job_enqueue_many(self, operation: Operation) -> Data:
        return {"jobs": [self.job(one) for one in operation["jobs"]], **given(atomic=operation["atomic"])}

    group_enqueue_many = after_enqueue_many = job_enqueue_many

    def graph_enqueue(self, operation: Operation) -> Data:
        """New jobs, each of which may wait for those before it."""
        known = sum(one.startswith("g") for one in self.world.promises)
        ids = [f"g{known + place}" for place in range(len(operation["jobs"]))]
        jobs = []
        for place, drawn in enumerate(operation["jobs"]):
            job = {**self.job(drawn), "id": ids[place]}
            earlier = [ids[number % place] for number in drawn["earlier"]] if place else []
            if earlier:
                job["after"] = earlier
            else:
                job.pop("afterFailed", None)
            jobs.append(job)
        return {"jobs": jobs, **given(atomic=operation["atomic"])}

    def job_schedule(self, operation: Operation) -> Data:
        order = {**given(**operation["job"]), **({} if operation["wrong"] is ABSENT else operation["wrong"])}
        return {**self.schedule_create(operation), "job": order}

    def job_get(self, operation: Operation) -> Data:
        return {"id": self.aim(operation)}

    def job_claim(self, operation: Operation) -> Data:
        queues = [name if weight is None else {"name": name, "weight": weight} for name, weight in operation["queues"]]
        names = ("count", "worker", "lease", "runLease", "strict", "start")
        return given(queues=queues, **{name: operation[name] for name in names})

    def versioned(self, operation: Operation) -> Data:
        if not operation["name"].startswith(("job_", "child_")):
            return super().versioned(operation)
        job_id = self.aim(operation)
        return {"id": job_id, "version": self.job_version(job_id, operation["version"])}

    job_release = versioned

    def named(self, operation: Operation) -> list[Data]:
        """The jobs that a request names, each aimed like the operation."""
        return [self.versioned({**one, "name": operation["name"]}) for one in operation["jobs"]]

    def job_start(self, operation: Operation) -> Data:
        return {**self.versioned(operation), **given(lease=operation["lease"])}

    def job_start_many(self, operation: Operation) -> Data:
        return {"jobs": self.named(operation), **given(lease=operation["lease"])}

    def job_complete(self, operation: Operation) -> Data:
        result = operation["result"]
        return {**self.versioned(operation), **({} if result is None else {"result": result})}

    def job_complete_many(self, operation: Operation) -> Data:
        result = {} if operation["result"] is None else {"result": operation["result"]}
        return {"jobs": [{**one, **result} for one in self.named(operation)]}

    def job_fail(self, operation: Operation) -> Data:
        error = given(code=operation["code"], message=operation["message"], data=operation["data"])
        more = given(retryable=operation["retryable"], retryAfter=operation["retryAfter"], archive=operation["archive"])
        return {**self.versioned(operation), "error": error, **more}

    def job_snooze(self, operation: Operation) -> Data:
        return {**self.versioned(operation), "delay": operation["delay"]}

    def job_suspend(self, operation: Operation) -> Data:
        versioned = self.versioned(operation)
        return {**versioned, "awaits": self.awaited_ids(operation["awaits"], versioned["id"]), **given(until=operation["until"])}

    def job_report(self, operation: Operation) -> Data:
        return {**self.versioned(operation), **given(progress=operation["progress"], lines=operation["lines"])}

    def job_heartbeat(self, operation: Operation) -> Data:
        named = self.named(operation)
        worker = operation["worker"]
        if worker == "its holder":
            holders = (self.world.promises.get(one["id"], {}).get("task", {}).get("pid") for one in named)
            worker = next(filter(None, holders), pools.WORKERS[0])
        return {"worker": worker, "jobs": named}

    def administration(self, operation: Operation) -> Data:
        return {"id": self.aim(operation)} if operation["filter"] is None else operation["filter"]

    job_cancel = job_run = job_archive = job_delete = administration

    def run_gathering(self, operation: Operation) -> Data:
        return {"state": "scheduled", **given(queue=operation["queue"], group=operation["group"])}

    def job_search(self, operation: Operation) -> Data:
        names = ("id", "state", "uniqueKey", "limit", "cursor")
        return {**operation["filter"], **given(**{name: operation[name] for name in names})}

    def job_stats(self, operation: Operation) -> Data:
        return given(queue=operation["queue"])

    def queue_set(self, operation: Operation) -> Data:
        names = ("queue", "lifecycle", "weight", "concurrency", "rate", "groups", "defaults")
        return given(**{name: operation[name] for name in names})

    def queue_get(self, operation: Operation) -> Data:
        return {"queue": operation["queue"]}

    queue_pause = queue_resume = queue_get

    def queue_list(self, operation: Operation) -> Data:
        return {}
