"""Sends requests to a model, for the model's own tests."""

from __future__ import annotations

from resonate_core.conformance.reference import Model

NEW, OLD = "2026-04-01", "2025-01-15"
TARGET = {"resonate:target": "poll://any@g"}


class Client:
    """Sends requests to a model and returns (status, data)."""

    def __init__(self, dialect=NEW, **options):
        self.model = Model(**options)
        self.dialect = dialect

    def __call__(self, kind, now=None, dialect=None, **data):
        head = {"corrId": "c", "version": dialect or self.dialect}
        reply = self.model.apply({"kind": kind, "head": head, "data": data}, now)
        assert reply["kind"] == kind
        return reply["head"]["status"], reply["data"]

    def row(self, promise_id):
        return next(row for row in self.model.snapshot()["promises"] if row["id"] == promise_id)

    def task(self, promise_id):
        return self.row(promise_id)["task"]

    def promise(self, promise_id, timeout_at=1000, now=None, **tags):
        return self("promise.create", now, id=promise_id, timeoutAt=timeout_at, tags=names(tags))

    def acquired(self, promise_id, timeout_at=1000, ttl=100, now=None, pid="w", **tags):
        action = {"kind": "promise.create", "data": {"id": promise_id, "timeoutAt": timeout_at, "tags": TARGET | names(tags)}}
        return self("task.create", now, pid=pid, ttl=ttl, action=action)

    def suspend(self, task_id, version, *awaited, now=None, dialect=None):
        kind = "promise.register" if (dialect or self.dialect) == OLD else "promise.register_callback"
        actions = [{"kind": kind, "data": {"awaiter": task_id, "awaited": one}} for one in awaited]
        return self("task.suspend", now, dialect, id=task_id, version=version, actions=actions)

    def settle(self, promise_id, now=None, state="resolved", **more):
        return self("promise.settle", now, id=promise_id, state=state, **more)

    def enqueue(self, job_id="j", now=None, **more):
        return self("job.enqueue", now, id=job_id, **{"type": "t", **more})

    def claim(self, *queues, now=None, **more):
        """Claims jobs for a worker; returns them."""
        data = {"queues": list(queues) or ["default"], "worker": "w", "lease": 100, **more}
        status, data = self("job.claim", now, **data)
        assert status == 200
        return data["jobs"]

    def running(self, job_id="j", now=None, lease=100, **more):
        """Enqueues, claims and starts a job; returns it."""
        self.enqueue(job_id, now, **more)
        [job] = self.claim(now=now, lease=lease)
        if job["state"] == "claimed":
            _, data = self("job.start", now, id=job_id, version=job["version"])
            job = data["job"]
        return job

    def fail(self, version, code="E", now=None, job_id="j", **more):
        return self("job.fail", now, id=job_id, version=version, error={"code": code}, **more)

    def job(self, job_id="j", now=None):
        return self("job.get", now, id=job_id)[1]["job"]

    def sent(self):
        return [(one["key"], one["message"]["kind"], one["message"]["data"]) for one in self.model.take_messages()]


def names(tags):
    return {f"resonate:{name}": text for name, text in tags.items()}


def settle_action(promise_id, state="resolved", **more):
    return {"kind": "promise.settle", "data": {"id": promise_id, "state": state, **more}}
