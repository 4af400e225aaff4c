"""The scenes of the table of jobs (JOBS 3): how a job comes into each state, and each request on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..job_requests import JOB, JobRequests
from ..requests import ADDRESS, FAR, Reply

__all__ = ["DEADLINE", "INSTANTS", "NOW", "REQUESTS", "STALE", "prepare"]

NOW = 1_000
"""The instant of the request; the job was brought into its state before."""
PAYLOAD = {"data": "eA=="}
DEADLINE = 100_000
READY = 70_000
"""The instant at which scheduled jobs, and those that wait for a retry, become pending, if nothing else is due before."""
BACKOFF = 60_000
_BEFORE_ANY_CLAIM = ("scheduled", "gathering", "waiting")

#: The members with which the row's job is enqueued; "lease" is a member of its claim.
OPTIONS: dict[str, dict[str, Any]] = {
    "step: good_until": {"goodUntil": 5_000},
    "step: lease": {"lease": 2_000},
    "step: last lease": {"lease": 2_000, "maxRetries": 0},
    "step: lease to failed": {"lease": 2_000, "maxRetries": 0, "onExhausted": "failed"},
    "step: attempt timeout": {"timeout": 3_000},
    "step: last timeout": {"timeout": 3_000, "maxRetries": 0},
}
#: The instant of the tick of each step's row: when the step is due, or later.
INSTANTS = {
    "step: ready": READY,
    "step: good_until": 5_000,
    "step: lease": 3_000,
    "step: last lease": 3_000,
    "step: lease to failed": 3_000,
    "step: attempt timeout": 4_000,
    "step: last timeout": 4_000,
    "step: deadline": DEADLINE,
}


def options_of(event: str, state: str) -> dict[str, Any]:
    """The members with which the job is enqueued: those that the row needs, then those that lead to the state."""
    needed: dict[str, dict[str, Any]] = {
        "scheduled": {"processAt": READY},
        "gathering": {"group": "g"},
        "archived": {"onExhausted": "archived"},
        "failed": {"onExhausted": "failed"},
        "expired": {"goodUntil": 950},
        "lapsed": {"goodUntil": 950},
        "overdue": {"deadline": 950},
    }
    usual = {
        "payload": PAYLOAD,
        "deadline": DEADLINE,
        "maxRetries": 3,
        "retryPolicy": {"kind": "fixed", "intervals": [BACKOFF]},
        "lease": 10 * FAR,
    }
    return {**usual, **OPTIONS.get(event, {}), **needed.get(state, {})}


def prepare(client: JobRequests, event: str, state: str, cycles: int, wait: Callable[[int], object]) -> int:
    """Bring the job into a state, all before NOW; return the version that a request should present.

    Args:
        client: Sends the requests.
        event: A row of the table.
        state: A column of the table.
        cycles: How often the job was claimed and released before.
        wait: Waits until an instant, at which the steps that are due are taken.
    """
    for id in ("gate", "child"):
        client.create(id, tags={"resonate:external": "true"}, now=100).must()
    client.create("awaiter", target=ADDRESS, now=101).must()
    if state == "plain":
        client.create(JOB, now=102).must()
    elif state == "workflow":
        client.create(JOB, target=ADDRESS, now=102).must()
    if state in ("absent", "plain", "workflow"):
        return 0
    options = options_of(event, state)
    lease = options.pop("lease")
    used = cycles if state not in _BEFORE_ANY_CLAIM else 0
    if state == "gathering":
        client.queue("set", groups={"grace": READY - 110}, now=105)
    if state == "waiting":
        options["after"] = [client.id("gate")]
    client.enqueue(now=110, **options).must()
    for n in range(used):
        client.claim(lease=lease, now=120 + 2 * n).must()
        client.give_back(JOB, n + 1, now=121 + 2 * n).must()
    if state in (*_BEFORE_ANY_CLAIM, "pending", "lapsed"):
        return used
    if state == "expired":
        wait(950)
        return used
    client.claim(lease=lease, now=200).must()
    version = used + 1
    if state == "claimed":
        return version
    client.start(JOB, version, now=300).must()
    ends: dict[str, Callable[[], Reply]] = {
        "retry": lambda: client.fail(JOB, version, now=400),
        "archived": lambda: client.fail(JOB, version, now=400, retryable=False),
        "failed": lambda: client.fail(JOB, version, now=400, retryable=False),
        "completed": lambda: client.complete(JOB, version, now=400),
        "cancelled": lambda: client.administer("cancel", now=400),
        "suspended": lambda: client.wait_for("gate", version=version, now=400),
    }
    if state in ends:
        ends[state]().must()
    return version


def _fence(client: JobRequests, version: int, now: int) -> Reply:
    return client.fence_create(JOB, version, "new", now=now)


# fmt: off
REQUESTS: dict[str, Callable[[JobRequests, int, int], Reply]] = {
    "job.get": lambda d, v, t: d.send("job.get", {"id": d.id(JOB)}, t),
    "job.search": lambda d, v, t: d.send("job.search", {}, t),
    "job.stats": lambda d, v, t: d.send("job.stats", {}, t),
    "enqueue the same": lambda d, v, t: d.enqueue(now=t, payload=PAYLOAD),
    "enqueue other type": lambda d, v, t: d.enqueue(now=t, payload=PAYLOAD, type="other"),
    "enqueue other queue": lambda d, v, t: d.enqueue(now=t, payload=PAYLOAD, queue=d.id("other")),
    "enqueue other payload": lambda d, v, t: d.enqueue(now=t, payload={"data": "eQ=="}),
    "enqueue after": lambda d, v, t: d.enqueue(now=t, payload=PAYLOAD, after=[d.id("gate")]),
    "job.claim": lambda d, v, t: d.claim(now=t),
    "job.start": lambda d, v, t: d.start(JOB, v, now=t),
    "job.complete": lambda d, v, t: d.complete(JOB, v, now=t, result={"data": "cg=="}),
    "job.fail": lambda d, v, t: d.fail(JOB, v, now=t),
    "job.fail archive": lambda d, v, t: d.fail(JOB, v, now=t, archive=True),
    "job.fail for good": lambda d, v, t: d.fail(JOB, v, now=t, retryable=False),
    "job.release": lambda d, v, t: d.give_back(JOB, v, now=t),
    "job.snooze": lambda d, v, t: d.snooze(JOB, v, now=t),
    "job.suspend": lambda d, v, t: d.wait_for("gate", "child", version=v, now=t),
    "job.suspend all": lambda d, v, t: d.wait_for("gate", "child", version=v, now=t, until="all"),
    "job.record": lambda d, v, t: d.record("a", {"id": "b", "timeoutIn": DEADLINE}, version=v, now=t),
    "job.record settled": lambda d, v, t: d.record({"id": "a", "state": "resolved", "value": PAYLOAD}, version=v, now=t),
    "job.receive": lambda d, v, t: d.receive("a", version=v, now=t),
    "job.send": lambda d, v, t: d.message(now=t, value=PAYLOAD, key="k"),
    "job.history": lambda d, v, t: d.history(now=t),
    "job.start_over": lambda d, v, t: d.start_over(version=v, now=t, args=PAYLOAD),
    "job.fork": lambda d, v, t: d.fork("a", "forked", now=t),
    "enqueue a child": lambda d, v, t: d.child("new", version=v, now=t),
    "job.report": lambda d, v, t: d.report(JOB, v, now=t, progress=0.5, lines=["half"]),
    "job.heartbeat": lambda d, v, t: d.send("job.heartbeat", {"worker": d.id("w1"), "jobs": [{"id": d.id(JOB), "version": v}]}, t),
    "job.cancel": lambda d, v, t: d.administer("cancel", now=t),
    "job.run": lambda d, v, t: d.administer("run", now=t),
    "job.archive": lambda d, v, t: d.administer("archive", now=t),
    "job.delete": lambda d, v, t: d.administer("delete", now=t),
    "promise.get": lambda d, v, t: d.get(JOB, now=t),
    "promise.create": lambda d, v, t: d.create(JOB, DEADLINE, target=ADDRESS, now=t),
    "promise.settle": lambda d, v, t: d.settle(JOB, now=t),
    "settle rejected": lambda d, v, t: d.settle(JOB, "rejected", now=t),
    "settle canceled": lambda d, v, t: d.settle(JOB, "rejected_canceled", now=t),
    "gate resolved": lambda d, v, t: d.settle("gate", now=t),
    "gate rejected": lambda d, v, t: d.settle("gate", "rejected", now=t),
    "gate canceled": lambda d, v, t: d.settle("gate", "rejected_canceled", now=t),
    "register_callback on": lambda d, v, t: d.register(JOB, "awaiter", now=t),
    "register_callback by": lambda d, v, t: d.register("gate", JOB, now=t),
    "register_listener on": lambda d, v, t: d.listen(JOB, now=t),
    "task.get": lambda d, v, t: d.task(JOB, now=t),
    "task.create": lambda d, v, t: d.task_create(JOB, DEADLINE, now=t),
    "task.acquire": lambda d, v, t: d.acquire(JOB, v, now=t),
    "task.release": lambda d, v, t: d.release(JOB, v, now=t),
    "task.suspend": lambda d, v, t: d.suspend(JOB, v, "gate", now=t),
    "task.halt": lambda d, v, t: d.halt(JOB, now=t),
    "task.continue": lambda d, v, t: d.cont(JOB, now=t),
    "task.fulfill": lambda d, v, t: d.fulfill(JOB, v, now=t),
    "task.fence create": _fence,
    "task.heartbeat": lambda d, v, t: d.heartbeat("w1", (JOB, v), now=t),
}
# fmt: on
STALE = {
    "job.start stale": "job.start",
    "job.complete stale": "job.complete",
    "job.fail stale": "job.fail",
    "job.release stale": "job.release",
    "job.snooze stale": "job.snooze",
    "job.suspend stale": "job.suspend",
    "job.record stale": "job.record",
    "job.receive stale": "job.receive",
    "job.start_over stale": "job.start_over",
    "enqueue a child stale": "enqueue a child",
    "job.report stale": "job.report",
    "job.heartbeat stale": "job.heartbeat",
    "task.fulfill stale": "task.fulfill",
    "task.fence stale": "task.fence create",
}
"""Requests with a version that is not the current one."""
