"""The lives of promises, tasks and jobs over time, read from a recorded trace or from a store: the data of `timeline`.

A trace (`Store.record`) tells everything. A store alone only knows when each promise began, how it stands, and who holds its task.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from resonate_core._core import Store
from resonate_core.base.instants import NEVER
from resonate_core.calls.workflow_records import TOPIC_TAG
from resonate_core.errors import Invalid
from resonate_core.explain.job_lifespans import JobLives, of_snapshot
from resonate_core.explain.lifespans import Life, Mark, Span
from resonate_core.explain.recordings import lines_of
from resonate_core.explain.step_lifespans import join_steps, record_life

__all__ = ["History", "Life", "Mark", "Source", "Span"]

Source: TypeAlias = "Store | str | os.PathLike[str] | Iterable[str | bytes]"
Records: TypeAlias = Iterable[Mapping[str, Any]]

TIMER = "resonate:timer"
#: The requests whose replies have records of workflows.
_RECORDING = frozenset(("job.record", "job.receive", "job.send"))
TARGETS = {"2026-04-01": ("resonate:target",), "2025-01-15": ("resonate:target", "resonate:invoke")}


class History:
    """The lives in a trace or a store, by id in order of their beginning.

    Args:
        source: A trace (the path of a file, its lines, or an open file), or a `Store`.

    Raises:
        Invalid: A line that is no JSON, with its number.

    Example:
        >>> import io
        >>> from resonate_core.history import History
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> trace = io.StringIO()
        >>> with store.record(trace):
        ...     _ = store.tasks.create("job", pid="w1", ttl=1000, timeout=60_000, target="poll://any@workers")
        ...     _ = clock.advance(5000)
        >>> [(span.state, span.start, span.end, span.pid) for span in History(trace).lives["job"].spans]
        [('acquired', 0, 1000, 'w1'), ('pending', 1000, None, None)]
    """

    def __init__(self, source: Source = ()) -> None:
        self.lives: dict[str, Life] = {}
        self.wakes: list[tuple[int, str, str]] = []  # (instant, settled promise, awaiter that had waited for it)
        self.start: int | None = None
        self.end = 0
        self.of_some_records = False
        self._schedules: dict[str, Mapping[str, Any]] = {}
        self._jobs = JobLives(self.lives, self._created_job)
        if isinstance(source, Store):
            self._open(source.snapshot(), source.now)
            self._see(source.now)
            self.wakes += self._jobs.waits_over()
        else:
            for number, line in enumerate(lines_of(source), start=1):
                try:
                    self._read(line["kind"], line["now"], line["req"], line["res"])
                except KeyError as error:
                    raise Invalid(f"trace line {number}: its records must have {error}, got none") from error
                except (ValueError, TypeError, AttributeError) as error:
                    raise Invalid(
                        f"trace line {number}: its records must be those of the protocol, got another type: {error}"
                    ) from error
        self._finish()

    @classmethod
    def of_records(
        cls, now: int, *, promises: Records = (), tasks: Records = (), jobs: Records = (), schedules: Records = ()
    ) -> History:
        """Read the lives of some records, as a server replies them, without reading a whole store.

        Args:
            now: The instant of the records, in Unix ms.
            promises: Records of promises.
            tasks: Records of tasks; tasks whose promise is missing are skipped.
            jobs: Records of jobs, with their attempts.
            schedules: Records of schedules.

        Example:
            >>> from resonate_core.history import History
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> job = store.jobs.enqueue("mail", id="m")
            >>> [(span.state, span.start) for span in History.of_records(store.now, jobs=[job.to_dict()]).lives["m"].spans]
            [('pending', 0)]
        """
        history = cls()
        history.of_some_records = True
        history._see(now)
        for record in promises:
            history._promise(record)
        for record in tasks:
            life = history.lives.get(record["id"])
            if life is not None and record["state"] != "fulfilled":
                life.enter(record["state"], life.created_at, record.get("pid"))
        for record in jobs:
            history._created_job(record["id"], record.get("sentAt", now), record.get("deadline", NEVER), record.get("tags", {}))
            history._jobs.see(record, now)
        for record in schedules:
            history._schedule(record)
        history._finish()
        history.wakes += history._jobs.waits_over()
        return history

    def _finish(self) -> None:
        for life in self.lives.values():  # timeout always wins, even if no step wrote it
            if life.timeout_at is not None and life.timeout_at <= self.end:
                life.settle(_verdict(life.tags), life.timeout_at)
        self._jobs.end(self.end)
        self.wakes = join_steps(self.lives, self.wakes)

    def _see(self, now: int) -> None:
        self.start = now if self.start is None else min(self.start, now)
        self.end = max(self.end, now)

    def _read(self, kind: str, now: int, req: Mapping[str, Any], res: Mapping[str, Any]) -> None:
        if kind == "open":
            self._open(res["snapshot"], now)
        elif kind.startswith("step."):
            self._see(now)
            self._step(kind.removeprefix("step."), now, req, res)
        elif "head" in req:
            self._see(now)
            self._request(kind, now, req, res)

    # --- a whole state ------------------------------------------------------------------------------------------------------

    def _open(self, snapshot: Mapping[str, Any], now: int) -> None:
        here = {promise["id"] for promise in snapshot["promises"]} | {schedule["id"] for schedule in snapshot["schedules"]}
        for life in self.lives.values():
            if life.id not in here:
                life.leave(now)
        for record in snapshot["promises"]:
            if "job" in record:
                self._promise({**record, "state": "pending"})
                self._jobs.see(of_snapshot(record), now)
                continue
            life = self._promise(record)
            task = record.get("task", {"state": "fulfilled"})
            if task["state"] != "fulfilled":
                since = task["expiresAt"] - task["ttl"] if task["state"] == "acquired" else life.created_at
                life.enter(task["state"], since, task.get("pid"))
        for record in snapshot["schedules"]:
            self._schedule(record)

    def _promise(self, record: Mapping[str, Any], schedule: str | None = None) -> Life:
        life = self.lives.get(record["id"])
        if life is None:
            made_by = schedule or record["tags"].get("resonate:schedule")
            life = Life(record["id"], record["createdAt"], record["timeoutAt"], record["tags"], schedule=made_by)
            life.parent = record["tags"].get("resonate:parent")
            life.of_workflow = record_life(record)
            self.lives[life.id] = life
            self._see(life.created_at)
        elif life.of_workflow is not None:
            is_again = life.settled_at is not None and record["createdAt"] > life.settled_at
            life.of_workflow = record_life(record)
            if is_again:  # in another run of the workflow
                life.begin_again(record["createdAt"] if life.of_workflow is None else life.of_workflow.began_at)
        if record["state"] != "pending":
            life.settle(record["state"], record["settledAt"])
        return life

    def _created_job(self, id: str, at: int, deadline: int, tags: Mapping[str, str]) -> Life:
        return self._promise({"id": id, "state": "pending", "createdAt": at, "timeoutAt": deadline, "tags": tags})

    def _schedule(self, record: Mapping[str, Any]) -> None:
        self._schedules[record["id"]] = record
        life = self.lives.setdefault(record["id"], Life(record["id"], record["createdAt"], None))
        if life.state != "pending":
            life.begin_again(record["createdAt"])

    # --- requests -----------------------------------------------------------------------------------------------------------

    def _request(self, kind: str, now: int, req: Mapping[str, Any], res: Mapping[str, Any]) -> None:
        data, status = req["data"], res["head"]["status"]
        if status not in (200, 300):
            named = self.lives.get(data.get("id", ""))
            if named is not None:
                named.marks.append(Mark(now, "refused", str(status)))
            return
        if kind.startswith("job."):
            for life, what in self._jobs.request(kind, now, data, res):
                mark, _, text = what.partition(" ")
                life.marks.append(Mark(now, mark, text))
            if kind in _RECORDING:
                self._recorded(kind, now, data, res["data"])
            return
        if kind == "schedule.create":
            self._schedule(res["data"]["schedule"])
        elif kind == "schedule.delete":
            self.lives[data["id"]].settle("deleted", now)
        for record in _promise_records(res["data"]):
            new = self._created(kind, record, now, res["head"]["version"])
            if new is not None and new.parent is None and kind == "task.fence":
                new.parent = data["id"]
        if kind.startswith("task."):
            self._task(kind, now, data, res)

    def _recorded(self, kind: str, now: int, data: Mapping[str, Any], answer: Any) -> None:
        """Take the records of a workflow. A message resolves the oldest receive of its topic that waits."""
        for record in _promise_records(answer):
            is_new = record["id"] not in self.lives
            self._promise(record)
            if kind == "job.send" and is_new:
                waiting = (life for life in self.lives.values() if _receives(life, data["id"], data["topic"]))
                receive = min(waiting, key=lambda life: life.created_at, default=None)
                if receive is not None:
                    receive.settle("resolved", now)

    def _created(self, kind: str, record: Mapping[str, Any], now: int, version: str) -> Life | None:
        new = record["id"] not in self.lives
        life = self._promise(record)
        has_task = any(tag in record["tags"] for tag in TARGETS[version])
        if new and has_task and life.state == "pending" and kind in ("promise.create", "task.fence"):
            life.enter("pending", now)
        return life if new else None

    def _task(self, kind: str, now: int, data: Mapping[str, Any], res: Mapping[str, Any]) -> None:
        if kind == "task.heartbeat":
            named = {task["id"] for task in data["tasks"]}
            for life in self.lives.values():
                if life.task is not None and life.task.pid == data["pid"] and (not named or life.id in named):
                    life.marks.append(Mark(now, "heartbeat"))
            return
        life = self.lives.get(data["action"]["data"]["id"] if kind == "task.create" else data["id"], Life("", now, None))
        if life.state != "pending":
            return
        created = res["data"].get("task") if kind == "task.create" else None  # 2025-01-15 shows a new task only, and no state
        if kind == "task.acquire" or (created is not None and created.get("state", "acquired") == "acquired"):
            life.enter("acquired", now, data["pid"])
        elif kind in ("task.release", "task.continue"):
            life.enter("pending", now)
        elif kind == "task.suspend" and res["head"]["status"] == 200:
            life.enter("suspended", now)
        elif kind == "task.halt":
            life.enter("halted", now)

    # --- internal steps -----------------------------------------------------------------------------------------------------

    def _step(self, step: str, now: int, req: Mapping[str, Any], res: Mapping[str, Any]) -> None:
        if step == "schedule":
            self._occurrence(req["id"], req["at"], now, res)
        life = self.lives.get(req["id"])
        if life is None:
            return
        if life.job is not None and not step.endswith("_drain"):
            text = self._jobs.step(step, req["at"], life, res)
            if text is not None:
                life.marks.append(Mark(req["at"], text))
        elif step not in ("callback_drain", "cancel_drain"):
            life.marks.append(Mark(now, step))
        if step == "promise_timeout":
            life.settle(_verdict(life.tags), req["at"])
        elif step == "lease_expiry":
            life.enter("pending", now)
        elif step == "callback_drain":
            awaiter = self.lives.get(res["awaiter"])
            if awaiter is not None and self._reaches(life, awaiter, now):
                self.wakes.append((now, life.id, awaiter.id))
        elif step == "cancel_drain":
            job = self.lives.get(res["job"])
            if job is not None and res["cancelled"]:
                job.settle("cancelled", now)

    def _reaches(self, settled: Life, awaiter: Life, now: int) -> bool:
        """Update the awaiter of a settled promise; return whether it has waited for it until now."""
        if awaiter.job is not None:
            return self._jobs.settled(settled, awaiter, now)
        if awaiter.task is None or awaiter.task.state != "suspended":
            return False
        awaiter.enter("pending", now)
        return True

    def _occurrence(self, schedule_id: str, at: int, now: int, res: Mapping[str, Any]) -> None:
        record = self._schedules.get(schedule_id)
        if record is None or not res["created"]:
            return
        deadline = min(at + record["promiseTimeout"], NEVER)
        tags = record["promiseTags"]
        created = {"id": res["promise_id"], "state": "pending", "createdAt": at, "timeoutAt": deadline, "tags": tags}
        life = self._promise(created, schedule=schedule_id)
        if "job" in record:
            ready = record["job"].get("processIn", 0) == 0 and "group" not in record["job"]
            made = {**record["job"], "id": life.id, "tags": tags, "deadline": deadline, "sentAt": at, "attempts": []}
            goes = {"state": "pending", "enqueuedAt": at} if ready else {"state": "scheduled"}
            self._jobs.see({**made, **goes}, at)
        elif deadline <= at:
            life.settle(_verdict(tags), deadline)
        elif "resonate:target" in tags:
            life.enter("pending", now)


def _receives(life: Life, job: str, topic: str) -> bool:
    """Return whether a promise takes the next message of a topic to a job."""
    is_receive = life.of_workflow is not None and life.of_workflow.kind == "receive"
    return is_receive and life.state == "pending" and (life.parent, life.tags.get(TOPIC_TAG)) == (job, topic)


def _verdict(tags: Mapping[str, str]) -> str:
    """Return the state of a promise after its deadline (PROTOCOL 1.2)."""
    return "resolved" if tags.get(TIMER) == "true" else "rejected_timedout"


def _promise_records(data: Any) -> Iterator[Mapping[str, Any]]:
    """The promise records anywhere in a reply."""
    if isinstance(data, Mapping):
        if {"id", "state", "timeoutAt", "createdAt"} <= data.keys():
            yield data
            return
        data = data.values()
    elif not isinstance(data, list):
        return
    for member in data:
        yield from _promise_records(member)
