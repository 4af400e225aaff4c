"""Envelopes of jobs for tests: a method for each request, and checks of every job that a reply shows."""

from __future__ import annotations

import base64
import json
from typing import Any

from conformance.wire import V26, DialectClient, Reply

JOB = "job"
QUEUE = "mail"
TYPE = "email:send"
MAX = 2**63 - 1
LEASE = 20_000

# fmt: off
MEMBERS = [
    "id", "queue", "type", "state", "payload", "tags", "priority", "version", "maxRetries", "retryCount", "retryPolicy",
    "onExhausted", "claimedBy", "leaseUntil", "group", "batch", "gathering", "processAt", "goodUntil", "timeout", "deadline",
    "retention", "uniqueKey", "uniqueFor", "result", "error", "attempts", "sentAt", "enqueuedAt", "claimedAt", "startedAt",
    "completedAt", "failedAt", "nextRetryAt", "cancelledAt", "expiredAt",
]
# fmt: on
"""The record's members in their order."""

AGREEMENT: dict[str, tuple[set[str], str]] = {
    "scheduled": ({"pending"}, "pending"),
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
    assert {"id", "queue", "type", "state", "payload", "tags", "priority", "version", "attempts", "sentAt"} <= set(job)
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
    if state in ("scheduled", "pending", "retry", "archived"):
        assert not {"claimedAt", "startedAt"} & set(job), job
    if state in ("scheduled", "retry", "archived"):
        assert "enqueuedAt" not in job, job
    if state == "failed":
        assert "failedAt" in job and "error" in job, job
    attempts = job["attempts"]
    assert [a["number"] for a in attempts] == sorted({a["number"] for a in attempts})
    for attempt in attempts:
        assert ("finishedAt" in attempt) == ("outcome" in attempt), attempt
        assert attempt["startedAt"] <= attempt.get("finishedAt", MAX), attempt
    assert [a for a in attempts if "finishedAt" not in a] == ([attempts[-1]] if state == "running" else []), job
    assert job["retryCount"] >= 0 and len(attempts) <= 100
    return job


class JobClient(DialectClient):
    """A client of a store that also sends the requests of jobs and queues."""

    def send(self, kind: str, data: Any, now: int | None = None, **head: Any) -> Reply:
        """Sends one request and checks every job of the reply."""
        reply = super().send(kind, data, now, **head)
        if reply.status == 200 and kind.startswith("job."):
            for job in [reply.data.get("job"), *reply.data.get("jobs", [])]:
                inner = job.get("job") if job is not None and "status" in job else job
                if inner is not None:
                    checked_job(inner)
        return reply

    # --- one job ------------------------------------------------------------------------------------------------
    def enqueue(self, id: str | None = JOB, now: int | None = None, **data: Any) -> Reply:
        """job.enqueue, by default to the queue and with the type that the tests use."""
        named = {} if id is None else {"id": id}
        return self.send("job.enqueue", {**named, "queue": QUEUE, "type": TYPE, **data}, now)

    def job(self, id: str = JOB, now: int | None = None) -> dict[str, Any]:
        """The record of a job that exists."""
        record: dict[str, Any] = self.send("job.get", {"id": id}, now).must()["job"]
        return record

    def state(self, id: str = JOB, now: int | None = None) -> str:
        """The state of a job; "absent" if it does not exist."""
        reply = self.send("job.get", {"id": id}, now)
        return "absent" if reply.status == 404 else str(reply.must()["job"]["state"])

    def claim(
        self, count: int = 1, queues: Any = (QUEUE,), worker: str = "w1", lease: int = LEASE, now: int | None = None, **data: Any
    ) -> Reply:
        """job.claim."""
        return self.send("job.claim", {"queues": list(queues), "count": count, "worker": worker, "lease": lease, **data}, now)

    def claimed(self, count: int = 1, **more: Any) -> list[str]:
        """The ids of the jobs that a claim returned."""
        return [job["id"] for job in self.claim(count, **more).must()["jobs"]]

    def start(self, id: str = JOB, version: int = 1, now: int | None = None, **data: Any) -> Reply:
        """job.start."""
        return self.send("job.start", {"id": id, "version": version, **data}, now)

    def complete(self, id: str = JOB, version: int = 1, now: int | None = None, **data: Any) -> Reply:
        """job.complete."""
        return self.send("job.complete", {"id": id, "version": version, **data}, now)

    def fail(self, id: str = JOB, version: int = 1, now: int | None = None, code: str = "Boom", **data: Any) -> Reply:
        """job.fail."""
        error = {"code": code, "message": "it broke"}
        return self.send("job.fail", {"id": id, "version": version, "error": error, **data}, now)

    def give_back(self, id: str = JOB, version: int = 1, now: int | None = None) -> Reply:
        """job.release."""
        return self.send("job.release", {"id": id, "version": version}, now)

    def snooze(self, id: str = JOB, version: int = 1, delay: int = 500, now: int | None = None) -> Reply:
        """job.snooze."""
        return self.send("job.snooze", {"id": id, "version": version, "delay": delay}, now)

    def beat(self, *jobs: tuple[str, int], worker: str = "w1", now: int | None = None) -> tuple[list[str], list[str]]:
        """job.heartbeat; returns the ids of the cancelled and of the lost jobs."""
        data = {"worker": worker, "jobs": [{"id": id, "version": version} for id, version in jobs]}
        reply = self.send("job.heartbeat", data, now).must()
        return reply["cancelled"], reply["lost"]

    def administer(self, verb: str, id: str = JOB, now: int | None = None) -> Reply:
        """job.cancel, run, archive or delete of one job."""
        return self.send(f"job.{verb}", {"id": id}, now)

    def all_of(self, verb: str, now: int | None = None, **filter: Any) -> int:
        """job.cancel, run, archive or delete of all jobs that a filter finds; returns their number."""
        return int(self.send(f"job.{verb}", filter, now).must()["count"])

    def jobs(self, now: int | None = None, **data: Any) -> list[str]:
        """The ids of one page of job.search."""
        return [job["id"] for job in self.send("job.search", data, now).must()["jobs"]]

    # --- queues -------------------------------------------------------------------------------------------------
    def queue(self, verb: str, name: str = QUEUE, now: int | None = None, **data: Any) -> dict[str, Any]:
        """queue.set, get, pause or resume; returns the queue's record."""
        record: dict[str, Any] = self.send(f"queue.{verb}", {"queue": name, **data}, now).must()["queue"]
        return record

    def stats(self, name: str = QUEUE, now: int | None = None) -> dict[str, Any]:
        """job.stats of one queue."""
        (record,) = self.send("job.stats", {"queue": name}, now).must()["queues"]
        assert isinstance(record, dict) and record["name"] == name
        return record

    # --- ways to a state ----------------------------------------------------------------------------------------
    def run_one(self, id: str = JOB, now: int | None = None, lease: int = LEASE, **claim: Any) -> int:
        """Claims and starts one job, which must have this id; returns its version."""
        (job,) = self.claim(now=now, lease=lease, **claim).must()["jobs"]
        assert job["id"] == id
        if job["state"] == "claimed":
            self.start(id, job["version"], now).must()
        version: int = job["version"]
        return version


def assert_states_agree(client: JobClient, id: str = JOB) -> None:
    """Checks that job, promise and task are in states that JOBS 1 allows together."""
    state = client.state(id)
    promise = client.get(id).must()["promise"]
    promises, task = AGREEMENT[state]
    assert promise["state"] in promises, (state, promise)
    if client.version == V26:
        assert client.task(id).must()["task"]["state"] == task, state


def encoded_error(code: str, message: str, data: str | None = None) -> str:
    """An error as the value of a promise holds it."""
    error = {"__type": "error", "name": code, "message": message, "code": code, **({} if data is None else {"data": data})}
    return base64.b64encode(json.dumps(error, separators=(",", ":")).encode()).decode()
