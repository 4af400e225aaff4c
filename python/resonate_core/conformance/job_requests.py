"""Requests of jobs and queues: a method for each, with defaults that succeed."""

from __future__ import annotations

from typing import Any

from .requests import Reply, Requests

__all__ = ["JOB", "LEASE", "QUEUE", "TYPE", "JobRequests"]

JOB = "job"
QUEUE = "mail"
TYPE = "email:send"
LEASE = 20_000
_INSTANTS = ("processAt", "goodUntil", "deadline")


class JobRequests(Requests):
    """Requests in one dialect, those of jobs and queues too.

    Attributes:
        longest_lease: The longest lease that the other side permits, in ms.
    """

    longest_lease = 2**63 - 1

    # --- one job ------------------------------------------------------------------------------------------------
    def enqueue(self, id: str | None = JOB, now: int | None = None, **data: Any) -> Reply:
        """job.enqueue, by default to the queue and with the type that the tests use."""
        named = {} if id is None else {"id": self.id(id)}
        given = {member: self.instant(at) if member in _INSTANTS and type(at) is int else at for member, at in data.items()}
        return self.send("job.enqueue", {**named, "queue": self.id(QUEUE), "type": TYPE, **given}, now)

    def job(self, id: str = JOB, now: int | None = None) -> dict[str, Any]:
        """The record of a job that exists."""
        record: dict[str, Any] = self.send("job.get", {"id": self.id(id)}, now).must()["job"]
        return record

    def state(self, id: str = JOB, now: int | None = None) -> str:
        """The state of a job; "absent" if it does not exist."""
        reply = self.send("job.get", {"id": self.id(id)}, now)
        return "absent" if reply.status == 404 else str(reply.must()["job"]["state"])

    def claim(
        self, count: int = 1, queues: Any = (QUEUE,), worker: str = "w1", lease: int = LEASE, now: int | None = None, **data: Any
    ) -> Reply:
        """job.claim."""
        found = {"queues": [self.id(queue) for queue in queues], "count": count, "worker": self.id(worker)}
        return self.send("job.claim", {**found, "lease": min(lease, self.longest_lease), **data}, now)

    def claimed(self, count: int = 1, **more: Any) -> list[str]:
        """The ids of the jobs that a claim returned."""
        return [job["id"] for job in self.claim(count, **more).must()["jobs"]]

    def start(self, id: str = JOB, version: int = 1, now: int | None = None, **data: Any) -> Reply:
        """job.start."""
        return self.send("job.start", {"id": self.id(id), "version": version, **data}, now)

    def complete(self, id: str = JOB, version: int = 1, now: int | None = None, **data: Any) -> Reply:
        """job.complete."""
        return self.send("job.complete", {"id": self.id(id), "version": version, **data}, now)

    def fail(self, id: str = JOB, version: int = 1, now: int | None = None, code: str = "Boom", **data: Any) -> Reply:
        """job.fail."""
        error = {"code": code, "message": "it broke"}
        return self.send("job.fail", {"id": self.id(id), "version": version, "error": error, **data}, now)

    def give_back(self, id: str = JOB, version: int = 1, now: int | None = None) -> Reply:
        """job.release."""
        return self.send("job.release", {"id": self.id(id), "version": version}, now)

    def snooze(self, id: str = JOB, version: int = 1, delay: int = 500, now: int | None = None) -> Reply:
        """job.snooze."""
        return self.send("job.snooze", {"id": self.id(id), "version": version, "delay": delay}, now)

    def wait_for(self, *awaits: str, id: str = JOB, version: int = 1, now: int | None = None, **data: Any) -> Reply:
        """job.suspend."""
        return self.send(
            "job.suspend", {"id": self.id(id), "version": version, "awaits": [self.id(one) for one in awaits], **data}, now
        )

    def report(self, id: str = JOB, version: int = 1, now: int | None = None, **data: Any) -> Reply:
        """job.report."""
        return self.send("job.report", {"id": self.id(id), "version": version, **data}, now)

    # --- its steps, messages and children -------------------------------------------------------------------------
    def record(self, *steps: Any, id: str = JOB, version: int = 1, now: int | None = None) -> Reply:
        """job.record; each step is an id after the job's id, or an object with such an id."""
        named = [one if isinstance(one, dict) else {"id": one} for one in steps]
        whole = [{**one, "id": self.step_id(one["id"], id)} for one in named]
        return self.send("job.record", {"id": self.id(id), "version": version, "steps": whole}, now)

    def step_id(self, step: str, id: str = JOB) -> str:
        """The id of a step of a job."""
        return f"{self.id(id)}:{step}"

    def message(self, topic: str = "t", id: str = JOB, now: int | None = None, **data: Any) -> Reply:
        """job.send."""
        return self.send("job.send", {"id": self.id(id), "topic": topic, **data}, now)

    def receive(self, step: str, topic: str = "t", id: str = JOB, version: int = 1, now: int | None = None, **data: Any) -> Reply:
        """job.receive; the step is an id after the job's id."""
        whole = {"id": self.id(id), "version": version, "step": self.step_id(step, id), "topic": topic, **data}
        return self.send("job.receive", whole, now)

    def history(self, id: str = JOB, now: int | None = None, **data: Any) -> Reply:
        """job.history."""
        return self.send("job.history", {"id": self.id(id), **data}, now)

    def start_over(self, id: str = JOB, version: int = 1, now: int | None = None, **data: Any) -> Reply:
        """job.start_over."""
        return self.send("job.start_over", {"id": self.id(id), "version": version, **data}, now)

    def fork(self, step: str, new_id: str, id: str = JOB, now: int | None = None) -> Reply:
        """job.fork; the step is an id after the job's id."""
        return self.send("job.fork", {"id": self.id(id), "from": self.step_id(step, id), "newId": self.id(new_id)}, now)

    def child(self, child: str, id: str = JOB, version: int = 1, now: int | None = None, **data: Any) -> Reply:
        """job.enqueue of a child of a job."""
        return self.enqueue(child, now, parent={"id": self.id(id), "version": version}, **data)

    def beat(self, *jobs: tuple[str, int], worker: str = "w1", now: int | None = None) -> tuple[list[str], list[str]]:
        """job.heartbeat; returns the ids of the cancelled and of the lost jobs."""
        data = {"worker": self.id(worker), "jobs": [{"id": self.id(id), "version": version} for id, version in jobs]}
        reply = self.send("job.heartbeat", data, now).must()
        return reply["cancelled"], reply["lost"]

    def administer(self, verb: str, id: str = JOB, now: int | None = None) -> Reply:
        """job.cancel, run, archive or delete of one job."""
        return self.send(f"job.{verb}", {"id": self.id(id)}, now)

    def all_of(self, verb: str, now: int | None = None, **filter: Any) -> int:
        """job.cancel, run, archive or delete of all jobs that a filter finds; returns their number."""
        return int(self.send(f"job.{verb}", filter, now).must()["count"])

    def jobs(self, now: int | None = None, **data: Any) -> list[str]:
        """The ids of one page of job.search."""
        return [job["id"] for job in self.send("job.search", data, now).must()["jobs"]]

    # --- queues -------------------------------------------------------------------------------------------------
    def queue(self, verb: str, name: str = QUEUE, now: int | None = None, **data: Any) -> dict[str, Any]:
        """queue.set, get, pause or resume; returns the queue's record."""
        record: dict[str, Any] = self.send(f"queue.{verb}", {"queue": self.id(name), **data}, now).must()["queue"]
        return record

    def stats(self, name: str = QUEUE, now: int | None = None) -> dict[str, Any]:
        """job.stats of one queue."""
        (record,) = self.send("job.stats", {"queue": self.id(name)}, now).must()["queues"]
        assert isinstance(record, dict) and record["name"] == self.id(name)
        return record

    # --- ways to a state ----------------------------------------------------------------------------------------
    def run_one(self, id: str = JOB, now: int | None = None, lease: int = LEASE, **claim: Any) -> int:
        """Claims and starts one job, which must have this id; returns its version."""
        (job,) = self.claim(now=now, lease=lease, **claim).must()["jobs"]
        assert job["id"] == self.id(id)
        if job["state"] == "claimed":
            self.start(id, job["version"], now).must()
        version: int = job["version"]
        return version
