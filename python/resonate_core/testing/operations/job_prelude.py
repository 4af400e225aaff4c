"""The first requests of most examples: jobs that wait, gather, form a batch, run or are archived, a workflow, a task that awaits a job."""

from __future__ import annotations

from typing import Any

from .prelude import NEW, OLD, request, task

__all__ = ["REQUESTS"]

LATE = 10**9
FIXED = {"kind": "fixed", "intervals": [50]}
SPREAD = {"kind": "exponential", "base": 1000, "jitter": 0.5}


def job(job_id: str, queue: str, dialect: str = NEW, **more: Any) -> dict[str, Any]:
    """Return the request that enqueues a job."""
    return request("job.enqueue", dialect, id=job_id, queue=queue, deadline=LATE, **{"type": "t", **more})


def gathering(queue: str, **more: Any) -> dict[str, Any]:
    """Return the request that enqueues a job of a group."""
    return request("job.enqueue", NEW, queue=queue, type="t", group="g1", deadline=LATE, retryPolicy=SPREAD, **more)


REQUESTS = [
    job("j1", "q1", timeout=300, retryPolicy=FIXED, retention=0, uniqueKey="u1", uniqueFor=5000, payload={"data": "cA=="}),
    job("j2", "q1", maxRetries=0, priority=1, goodUntil=20_000),
    job("j.3", "q2", OLD, type="u", lifecycle="asynq", goodUntil=20_000),
    job("j:4", "q2", processIn=500, lifecycle="horsies", retryPolicy=SPREAD, maxRetries=3, retention=10),
    request("job.claim", NEW, queues=["q1", {"name": "q2", "weight": 2}], count=2, worker="w1", lease=1000),
    request("queue.set", NEW, queue="q1", rate={"limit": 1, "per": 1000, "burst": 2}, concurrency=3),
    request("queue.set", NEW, queue="q2", concurrency=1),
    request("queue.set", NEW, queue="q1", groups={"size": 4, "grace": 500, "maxDelay": 505}),
    *[gathering("q1", lifecycle=one) for one in ("horsies", "asynq")],
    request("queue.set", NEW, queue="default", groups={"size": 2}),
    *[gathering("default") for _ in range(2)],
    task("a", NEW),
    request(
        "task.suspend",
        NEW,
        id="a",
        version=1,
        actions=[{"kind": "promise.register_callback", "data": {"awaiter": "a", "awaited": one}} for one in ("j1", "j2")],
    ),
    *[request("promise.register_listener", NEW, awaited=one, address="http://h/x") for one in ("j2", "j:4")],
    request("promise.create", NEW, id="b", timeoutAt=LATE, param={"data": "b"}),
    job("s", "default", priority=1, goodUntil=20_000),
    request("job.claim", NEW, queues=["default"], worker="w2", lease=1000, start=1),
    request("job.suspend", NEW, id="s", version=1, awaits=["j:4", "j.3", "j2"], until="all"),
    *[job(one, "q1", after=["j1"], afterFailed="run", priority=1) for one in ("\U0001f600", "t")],
    job("u", "q2", after=["\U0001f600", "j:4"], retention=0),
    job("w", "default", lifecycle="workflow", priority=1, retention=500),
    request("job.claim", NEW, queues=["default"], worker="w1", lease=60_000),
    request("job.record", NEW, id="w", version=1, steps=[{"id": "w:a", "state": "resolved"}, {"id": "w:b"}]),
    job("w:c", "q2", parent={"id": "w", "version": 1}, priority=1),
    job("w:d", "q1", OLD, parent={"id": "w", "version": 1}, retention=10),
    request("job.receive", NEW, id="w", version=1, step="w:r", topic="t"),
    request("job.send", OLD, id="w", topic="u", value={"data": "bQ=="}),
    # Jobs of a queue that the generator does not use: a workflow whose last attempt crashes, a child workflow that has a step, and a
    # job that waits until any of two other jobs ends.
    job("v", "e", lifecycle="workflow", maxRetries=0),
    job("w:e", "e", lifecycle="workflow", parent={"id": "w", "version": 1}),
    job("x", "e"),
    request("job.claim", NEW, queues=["e"], count=3, worker="w3", lease=1000, start=3),
    request("job.record", NEW, id="w:e", version=1, steps=[{"id": "w:e:a"}]),
    request("job.suspend", NEW, id="x", version=1, awaits=["j:4", "w"], until="any"),
    request("job.record", NEW, id="w", version=1, steps=[{"id": "w:f"}]),
    job("w:f", "default"),  # adopts the step
]
