"""The lives of jobs, for `History`: replies contain whole records, and steps say what changed between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from resonate_core.base.instants import NEVER
from resonate_core.base.states import ENDED_AT, expires_at
from resonate_core.explain.lifespans import Life

__all__ = ["JobLives", "of_snapshot"]

_WAITING = ("scheduled", "waiting", "retry", "archived")
#: What a request about all jobs that match does to each.
_STATES_AFTER = {"job.cancel": "cancelled", "job.run": "pending", "job.archive": "archived", "job.delete": "deleted"}


def of_snapshot(promise: Mapping[str, Any]) -> dict[str, Any]:
    """The job's record, made from the row of its promise in a snapshot."""
    task = promise["task"]
    held = {"claimedBy": task["pid"], "leaseUntil": task["expiresAt"]} if task["state"] == "acquired" else {}
    return {"tags": promise["tags"], "deadline": promise["timeoutAt"], **promise["job"], **held, "id": promise["id"]}


@dataclass
class _Wait:
    """What a waiting job lacks, and how many of these must be settled; `until` is None if it waits by `after` (JOBS 8)."""

    lacks: set[str]
    until: str | None


class JobLives:
    """Reads the jobs of a trace into lives.

    Args:
        lives: All lives, by id.
        create: Makes a life: of an id, from an instant, up to a deadline, with tags.
    """

    def __init__(self, lives: dict[str, Life], create: Any) -> None:
        self._lives = lives
        self._create = create
        self._waits: dict[str, _Wait] = {}  # by the id of the waiting job

    # --- records ------------------------------------------------------------------------------------------------------------

    def see(self, record: Mapping[str, Any], now: int) -> None:
        """Update the job's life from a record.

        Raises:
            KeyError: It lacks a member that every job has. The type counts, too: it is read later, from the life.
        """
        if "type" not in record:
            raise KeyError("type")
        state, enqueued_at = record["state"], record.get("enqueuedAt")
        life = self._lives.get(record["id"])
        if life is None:
            life = self._create(record["id"], now, record.get("deadline", NEVER), record.get("tags", {}))
        elif life.state != "pending" and state not in ENDED_AT:
            life.begin_again(now)
        since = now if life.job is not None else life.created_at
        life.job = dict(record)
        begun_at = min((one["startedAt"] for one in record.get("attempts", ())), default=NEVER)
        if not life.spans and "after" in record and "processAt" not in record and life.created_at < (enqueued_at or 0) <= begun_at:
            life.enter("waiting", life.created_at)  # records do not tell when it was woken, except by this
        queued = life.task is None or life.task.state in _WAITING
        if queued and enqueued_at is not None and state in ("pending", "claimed", "running"):
            begun = record.get("attempts", [])
            if not begun or enqueued_at >= begun[-1].get("finishedAt", enqueued_at):
                life.enter("pending", enqueued_at)
        for attempt in record.get("attempts", []):
            self._attempt(life, attempt)
        if state == "claimed":
            life.enter("claimed", record["claimedAt"], record["claimedBy"])
        elif state in ENDED_AT:
            life.settle(state, record[ENDED_AT[state]])
        elif state != "running":
            over = [attempt["finishedAt"] for attempt in record.get("attempts", [])[-1:] if "finishedAt" in attempt]
            life.enter(state, max(enqueued_at or 0, since, *over))
            if state == "waiting":
                self._wait(record, record.get("until"), record.get("after", ()))

    def _attempt(self, life: Life, attempt: Mapping[str, Any]) -> None:
        span = next((span for span in life.spans if span.number == attempt["number"]), None)
        if span is None:
            life.enter("running", attempt["startedAt"], attempt["worker"])
            span = life.spans[-1]
            span.number = attempt["number"]
        if "finishedAt" in attempt and span.end is None:
            span.end = attempt["finishedAt"]
        span.outcome = attempt.get("outcome", span.outcome)
        span.code = attempt.get("error", {}).get("code", span.code)

    # --- waits --------------------------------------------------------------------------------------------------------------

    def _wait(self, record: Mapping[str, Any], until: str | None, awaits: Iterable[str]) -> None:
        """Note what a waiting job lacks.

        Args:
            record: Of the job.
            until: Of its `job.suspend`; None if it waits by `after`.
            awaits: The ids that were given. A record names only the first 100 that are missing.
        """
        shown = record["awaits"]
        if isinstance(shown, list):  # of a snapshot, which has all
            missing = set(shown)
        elif shown["count"] == len(shown["ids"]):
            missing = set(shown["ids"])
        else:
            missing = {id for id in awaits if id not in self._lives or self._lives[id].state == "pending"}
        self._waits[record["id"]] = _Wait(missing, until)

    def waits_over(self) -> Iterator[tuple[int, str, str]]:
        """Yield what the records of jobs tell about `after`: the instant, the settled promise, and the job that had waited for it."""
        for life in self._lives.values():
            job: Mapping[str, Any] = life.job or {}
            starts = [one["startedAt"] for one in job.get("attempts", ())]
            woken = min([*starts, *([job["enqueuedAt"]] if "enqueuedAt" in job else [])], default=NEVER)
            for id in job.get("after", ()):
                at = self._lives[id].settled_at if id in self._lives else None
                if at is not None and life.created_at <= at <= woken and (life.settled_at is None or at <= life.settled_at):
                    yield at, id, life.id

    def settled(self, settled: Life, waiting: Life, now: int) -> bool:
        """Update a job that may wait for a promise which was settled; return whether it lacked it."""
        wait, job, span = self._waits.get(waiting.id), waiting.job, waiting.task
        if wait is None or job is None or span is None or span.state != "waiting" or settled.id not in wait.lacks:
            return False
        if min(job.get("deadline", NEVER), expires_at(job, "waiting")) <= now:
            return False
        wait.lacks.discard(settled.id)
        has_failed = settled.state not in ("resolved", "completed")
        if has_failed and wait.until is None and job.get("afterFailed") == "cancel":
            waiting.settle("cancelled", now)
        elif not wait.lacks or wait.until == "any" or (has_failed and wait.until == "all"):
            is_early = wait.until is None and job.get("processAt", 0) > now
            waiting.enter("scheduled" if is_early else "pending", now)
        return True

    # --- requests -----------------------------------------------------------------------------------------------------------

    def request(self, kind: str, now: int, data: Mapping[str, Any], res: Mapping[str, Any]) -> Iterator[tuple[Life, str]]:
        """Update lives from an answered request; return the lives that get a mark, and its name."""
        answer = res["data"]
        if kind == "job.heartbeat":
            gone = {*answer["cancelled"], *answer["lost"]}
            named = (self._lives.get(one["id"]) for one in data["jobs"] if one["id"] not in gone)
            yield from ((life, "heartbeat") for life in named if life is not None)
            return
        for place, item in enumerate([answer["job"]] if "job" in answer else answer.get("jobs", [])):
            if item.get("status", 200) < 300:
                self.see(item.get("job", item), now)
                if kind == "job.suspend" and answer["job"]["state"] == "waiting":
                    self._wait(answer["job"], data.get("until", "any"), data["awaits"])
            elif kind != "job.enqueue_many":
                life = self._lives.get(data["jobs"][place]["id"])
                if life is not None:
                    yield life, f"refused {item['status']}"
        if kind in _STATES_AFTER and "job" not in answer:
            for life in self._chosen(kind, data, answer):
                self._do(life, _STATES_AFTER[kind], now)

    def _chosen(self, kind: str, data: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Life]:
        """The jobs of a request: the one with its id, or the first that match its filters."""
        if "id" in data:
            life = self._lives.get(data["id"])
            return [] if life is None else [life]
        found = []
        for life in sorted(self._lives.values(), key=lambda life: life.id):
            job = life.job
            if job is None or (kind == "job.cancel" and life.state != "pending"):
                continue
            same = all(data.get(name) in (None, job.get(name)) for name in ("queue", "type", "group"))
            state = life.task.state if life.state == "pending" and life.task is not None else life.state
            if same and data.get("state") in (None, state) and (data.get("tags") or {}).items() <= life.tags.items():
                found.append(life)
        return found[: answer.get("count", len(found))]

    def _do(self, life: Life, state: str, now: int) -> None:
        if state in ("cancelled", "deleted"):
            life.settle(state, now)
        else:
            life.enter(state, now)

    # --- what happens by itself ---------------------------------------------------------------------------------------------

    def step(self, step: str, at: int, life: Life, res: Mapping[str, Any]) -> str | None:
        """Update a life from a step; return the mark that it gets."""
        if step == "promise_timeout":
            return step
        if step == "job_expiry":
            life.settle("expired", at)
            return None
        span = life.task
        if step in ("job_lease", "job_timeout") and span is not None:
            if span.state == "claimed":
                life.enter("pending", at)
                return "lease_expiry"
            span.end = at
            span.outcome, span.code = ("crashed", "WorkerCrashed") if step == "job_lease" else ("timed_out", "TaskTimeout")
            self._failed(life, at, span.code)
        elif step == "job_ready" and not self._gathers(life):
            life.enter("pending", at)
        elif step == "job_batch":
            for member in self._lives.values():
                if self._same_batch(member, life, res.get("batch")):
                    member.enter("pending", at)
        return None

    def _failed(self, life: Life, at: int, code: str) -> None:
        """Fail an attempt as the engine does: the record says whether there is another one."""
        job: dict[str, Any] = life.job or {}
        codes = job.get("retryPolicy", {}).get("codes")
        if job["retryCount"] < job["maxRetries"] and (codes is None or code in codes):
            job["retryCount"] += 1
            life.enter("retry", at)
        elif job["onExhausted"] == "archived":
            life.enter("archived", at)
        else:
            life.settle("failed", at)

    def _gathers(self, life: Life) -> bool:
        return life.job is not None and "group" in life.job and not any(span.state != "scheduled" for span in life.spans)

    def _same_batch(self, member: Life, first: Life, batch: str | None) -> bool:
        mine, its = member.job, first.job
        if mine is None or its is None or member.task is None or member.task.state != "scheduled":
            return False
        if any(mine.get(name) != its.get(name) for name in ("queue", "type", "group")):
            return False
        return self._gathers(member) and mine.get("batch", batch) == batch

    def end(self, now: int) -> None:
        """End the jobs that have expired by the end of the trace, although no step has run."""
        for life in self._lives.values():
            if life.job is None or life.task is None:
                continue
            at = expires_at(life.job, life.task.state)
            if at <= now and at != NEVER:
                life.settle("expired", at)
