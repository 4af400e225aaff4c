"""Envelopes of jobs for tests: a method for each request, and checks of every job that a reply shows."""

from __future__ import annotations

import base64
import json
from typing import Any

from conformance.model_store import Store as ModelStore
from conformance.wire import V26, DialectClient, Reply
from resonate_core.conformance.job_requests import JOB, LEASE, QUEUE, TYPE, JobRequests

__all__ = [
    "AGREEMENT",
    "ASYNQ_STATES",
    "HORSIES_STATES",
    "JOB",
    "LEASE",
    "MAX",
    "MEMBERS",
    "QUEUE",
    "STATES",
    "TERMINAL",
    "TYPE",
    "JobClient",
    "assert_states_agree",
    "assert_typed",
    "checked_job",
    "encoded_error",
]

MAX = 2**63 - 1

# fmt: off
MEMBERS = [
    "id", "queue", "type", "state", "payload", "tags", "priority", "version", "maxRetries", "retryCount", "retryPolicy",
    "onExhausted", "claimedBy", "leaseUntil", "group", "batch", "gathering", "processAt", "goodUntil", "timeout", "deadline",
    "retention", "uniqueKey", "uniqueFor", "result", "error", "attempts", "report", "after", "afterFailed", "awaits", "steps", "args",
    "restarts", "createdAt", "sentAt", "enqueuedAt", "claimedAt", "startedAt", "completedAt", "failedAt", "nextRetryAt", "cancelledAt",
    "expiredAt",
]
# fmt: on
"""The record's members in their order."""

AGREEMENT: dict[str, tuple[set[str], str]] = {
    "scheduled": ({"pending"}, "pending"),
    "waiting": ({"pending"}, "suspended"),
    "pending": ({"pending"}, "pending"),
    "claimed": ({"pending"}, "acquired"),
    "running": ({"pending"}, "acquired"),
    "retry": ({"pending"}, "pending"),
    "archived": ({"pending"}, "halted"),
    "completed": ({"resolved"}, "fulfilled"),
    "failed": ({"rejected", "rejected_timedout"}, "fulfilled"),
    "cancelled": ({"rejected_canceled"}, "fulfilled"),
    "expired": ({"rejected"}, "fulfilled"),
}
"""JOBS 1: for each state of a job, the possible states of its promise and the state of its task."""

STATES = tuple(AGREEMENT)
TERMINAL = ("completed", "failed", "cancelled", "expired")

ASYNQ_STATES = {
    "scheduled": "scheduled",
    "waiting": "scheduled",
    "pending": "pending",
    "claimed": "active",
    "running": "active",
    "retry": "retry",
    "archived": "archived",
    "completed": "completed",
    "failed": "archived",
    "cancelled": "archived",
    "expired": "archived",
}
HORSIES_STATES = {
    "scheduled": "PENDING",
    "waiting": "PENDING",
    "pending": "PENDING",
    "claimed": "CLAIMED",
    "running": "RUNNING",
    "retry": "PENDING",
    "archived": "FAILED",
    "completed": "COMPLETED",
    "failed": "FAILED",
    "cancelled": "CANCELLED",
    "expired": "EXPIRED",
}


def checked_job(job: dict[str, Any]) -> dict[str, Any]:
    """Checks the rules that every job record meets, and returns the record."""
    assert list(job) == [name for name in MEMBERS if name in job], f"members or their order: {list(job)}"
    assert {"id", "queue", "type", "state", "payload", "tags", "priority", "version", "attempts", "createdAt", "sentAt"} <= set(job)
    state = job["state"]
    held = state in ("claimed", "running")
    assert state in AGREEMENT
    assert ("claimedBy" in job) == held and ("leaseUntil" in job) == held, job
    assert ("nextRetryAt" in job) == (state == "retry"), job
    assert ("batch" in job) <= ("group" in job), job
    assert job.get("gathering", True) is True, job
    if state == "scheduled":
        assert "gathering" not in job or "batch" in job, job
        assert "gathering" in job or "processAt" in job, job
    else:
        assert "gathering" not in job, job
    assert ("result" in job) == (state in ("completed", "failed", "cancelled", "expired")), job
    for instant, named in (("completedAt", "completed"), ("cancelledAt", "cancelled"), ("expiredAt", "expired")):
        assert (instant in job) == (state == named), job
    assert ("awaits" in job) == (state == "waiting") and ("after" in job) == ("afterFailed" in job), job
    if state == "waiting":
        assert 1 <= len(job["awaits"]["ids"]) == min(job["awaits"]["count"], 100), job
    if state in ("scheduled", "waiting", "pending", "retry", "archived"):
        assert not {"claimedAt", "startedAt"} & set(job), job
    if state in ("scheduled", "waiting", "retry", "archived"):
        assert "enqueuedAt" not in job, job
    if state == "failed":
        assert "failedAt" in job and "error" in job, job
    report = job.get("report", {"at": 0, "progress": 0})
    assert 0 <= report.get("progress", 0) <= 1 and len(report.get("lines", [])) <= 100, report
    attempts = job["attempts"]
    assert [a["number"] for a in attempts] == sorted({a["number"] for a in attempts})
    for attempt in attempts:
        assert ("finishedAt" in attempt) == ("outcome" in attempt), attempt
        assert attempt["startedAt"] <= attempt.get("finishedAt", MAX), attempt
    assert [a for a in attempts if "finishedAt" not in a] == ([attempts[-1]] if state == "running" else []), job
    assert job["retryCount"] >= 0 and len(attempts) <= 100
    return job


class JobClient(JobRequests, DialectClient):
    """A client of a store that also sends the requests of jobs and queues."""

    def send(self, kind: str, data: Any, now: int | None = None, **head: Any) -> Reply:
        """Sends one request and checks every job of the reply."""
        reply = super().send(kind, data, now, **head)
        if reply.status in (200, 300) and kind.startswith("job."):
            for job in [reply.data.get("job"), *reply.data.get("jobs", [])]:
                inner = job.get("job") if job is not None and "status" in job else job
                if inner is not None:
                    checked_job(inner)
        return reply


def assert_states_agree(client: JobClient, id: str = JOB) -> None:
    """Checks that job, promise and task are in states that JOBS 1 allows together."""
    state = client.state(id)
    promise = client.get(id).must()["promise"]
    promises, task = AGREEMENT[state]
    assert promise["state"] in promises, (state, promise)
    if client.version == V26:
        assert client.task(id).must()["task"]["state"] == task, state


def assert_typed(client: JobClient, id: str, **members: Any) -> None:
    """Checks these members of the job that a typed call returns; the reference model has no typed calls."""
    if isinstance(client.store, ModelStore):
        return
    job = client.store.jobs.get(id)
    assert {name: getattr(job, name) for name in members} == members


def encoded_error(code: str, message: str, data: str | None = None) -> str:
    """An error as the value of a promise holds it."""
    error = {"__type": "error", "name": code, "message": message, "code": code, **({} if data is None else {"data": data})}
    return base64.b64encode(json.dumps(error, separators=(",", ":")).encode()).decode()
