"""Stores with jobs in every state, for tests of snapshots, forks, traces, files and invariants."""

from __future__ import annotations

from typing import Any

from conformance.job_wire import JobClient
from conformance.wire import LISTENER

X = {"data": "eA==", "headers": {"h": "1"}}
EXPONENTIAL = {"kind": "exponential", "base": 100, "factor": 1.5, "cap": 5_000, "jitter": 0.25, "codes": ["Busy"]}


def populate(client: JobClient) -> None:
    """Creates jobs in each state and with each member set, and queues with each setting, between the instants 0 and 100."""
    client.queue("set", "limited", now=0, concurrency=2, weight=3, rate={"limit": 1, "per": 1_000, "burst": 4})
    client.queue("set", "presets", now=0, lifecycle="asynq", defaults={"maxRetries": 2, "retention": None, "priority": 9})
    client.queue("set", "paused", now=0)
    client.queue("pause", "paused", now=0)
    client.enqueue("in-paused", now=0, queue="paused").must()
    client.enqueue(
        "everything",
        now=1,
        queue="presets",
        payload=X,
        tags={"team": "blue"},
        priority=1,
        processAt=50,
        goodUntil=90_000,
        timeout=70_000,
        deadline=100_000,
        retention=500,
        maxRetries=7,
        retryPolicy=EXPONENTIAL,
        onExhausted="failed",
        lifecycle="horsies",
        uniqueKey="key",
        uniqueFor=80_000,
        sentAt=0,
    ).must()
    for n in range(4):
        client.enqueue(f"limited-{n}", now=2, queue="limited").must()
    client.claim(2, ["limited", "presets"], "w2", now=3).must()
    client.start("limited-0", now=4).must()
    client.fail("limited-0", now=5, code="Busy").must()
    client.create("adopted", 10**9, tags={"a": "b"}, param=X, now=6).must()
    client.task_create("workflow", now=6).must()
    client.suspend("workflow", 1, "adopted", now=6).must()
    for now, (id, ending) in enumerate(ENDINGS.items(), 7):
        data: dict[str, Any] = {"goodUntil": 20} if ending == "lapses" else {}
        client.enqueue(id, now=now, **data).must()
        if ending in ("completes", "fails"):
            client.run_one(id, now=now)
        if ending == "completes":
            client.complete(id, now=now, result=X).must()
        elif ending == "fails":
            client.fail(id, now=now, retryable=False).must()
        elif ending == "cancels":
            client.listen(id, LISTENER, now=now).must()
            client.administer("cancel", id, now=now).must()
    gather(client)
    wait(client)
    flow(client)
    client.store.tick(100)


def gather(client: JobClient) -> None:
    """Creates, in a queue of its own: a batch in state retry, a pending batch, two gathering groups of two jobs each, a job that
    joins a group later, and a schedule of jobs."""
    client.queue("set", "together", now=20, groups={"size": 3, "grace": 500, "maxDelay": 800}, weight=2)
    kinds = {"queue": "together", "type": "t"}
    for n in range(6):
        client.enqueue(f"together-{n}", now=21, group="g", **kinds).must()
    jobs = client.claim(1, ["together"], "w3", now=22).must()["jobs"]
    for job in jobs:
        client.start(job["id"], job["version"], now=23).must()
    for job in jobs:
        client.fail(job["id"], job["version"], now=24, code="Busy").must()
    for n, now in ((6, 30), (7, 40)):
        client.enqueue(f"together-{n}", now=now, group="g", **kinds).must()
    client.enqueue("together-later", now=41, group="h", processAt=60, **kinds).must()
    client.enqueue("together-late", now=41, group="h", processAt=70_000, **kinds).must()
    client.enqueue("together-short", now=42, group="h", goodUntil=300, **kinds).must()
    job = {**kinds, "group": "g", "uniqueKey": "nightly", "retention": None, "retryPolicy": EXPONENTIAL, "goodFor": 90_000}
    client.schedule("plan", template="together-{{.timestamp}}", job=job, now=43).must()


def wait(client: JobClient) -> None:
    """Creates, in a queue of its own: a job that waits by `after`, one that waits by `job.suspend`, one that was woken and has the place
    of its suspended attempt, and a settled job that two of them keep."""
    in_queue = {"queue": "graph", "type": "t"}
    client.create("graph-gate", 10**9, tags={"resonate:external": "true"}, now=50).must()
    client.create("graph-open", 10**9, tags={"resonate:external": "true"}, now=50).must()
    for id in ("graph-done", "graph-suspended", "graph-woken"):
        client.enqueue(id, now=50, **in_queue).must()
    for id in ("graph-done", "graph-suspended", "graph-woken"):
        client.run_one(id, now=51, queues=["graph"])
    client.complete("graph-done", now=52, result=X).must()
    client.enqueue("graph-after", now=53, after=["graph-done", "graph-gate", "graph-woken"], afterFailed="run", **in_queue).must()
    client.wait_for("graph-done", "graph-open", "graph-gate", id="graph-suspended", now=54, until="all").must()
    client.create("graph-short", 10**9, tags={"resonate:external": "true"}, now=55).must()
    client.wait_for("graph-short", "graph-open", id="graph-woken", now=55).must()
    client.settle("graph-short", now=56).must()


def flow(client: JobClient) -> None:
    """Creates, in a queue of its own: a running workflow that started over, with steps of each kind, messages that are read and unread, a
    child job with a step and a message; a fork of it; and a finished workflow whose removal waits for a child job."""
    in_queue = {"queue": "flows", "type": "t", "lifecycle": "workflow"}
    for id in ("flow", "flow-over"):
        client.enqueue(id, now=60, priority=1, payload=X, **in_queue).must()
        client.run_one(id, now=60, queues=["flows"], lease=10**9)
    client.message("news", "flow", 61, key="k", value=X).must()
    client.record("old", id="flow", now=61).must()
    client.start_over("flow", now=62, args=X).must()
    client.run_one("flow", now=62, queues=["flows"], lease=10**9)
    steps = [
        {"id": "a", "state": "resolved", "value": X},
        {"id": "b", "timeoutIn": 30},
        {"id": "c", "param": X, "tags": {"team": "blue"}},
    ]
    client.record(*steps, id="flow", version=2, now=63).must()
    client.receive("read", "news", "flow", 2, 64).must()
    client.receive("open", "news", "flow", 2, 64, timeoutIn=10**9).must()
    for n, topic in enumerate(("other", "other", "news")):
        client.message(topic, "flow", 65 + n, value=X).must()
    client.child("flow:child", "flow", 2, 68, **in_queue).must()
    client.run_one("flow:child", now=68, queues=["flows"], lease=10**9)
    client.record({"id": "a", "state": "rejected", "value": X}, "b", id="flow:child", now=69).must()
    client.message("t", "flow:child", 69).must()
    client.fork("b", "flow-fork", "flow", 70).must()
    client.record("a", id="flow-over", now=71).must()
    client.child("flow-kept", "flow-over", now=71, **in_queue).must()
    client.complete("flow-over", now=72).must()
    client.administer("delete", "flow-over", now=73).must()


ENDINGS = {"completed": "completes", "archived": "fails", "cancelled": "cancels", "expired": "lapses", "adopted": "waits"}


def send_more_requests(client: JobClient, now: int = 1_000) -> list[Any]:
    """Sends a fixed series of requests to a populated store; returns every reply."""
    replies = [
        client.claim(10, ["limited", "presets", "mail", "paused"], "w9", 5_000, now=now),
        client.beat(("limited-1", 1), ("everything", 1), worker="w9", now=now + 1),
        client.start("everything", now=now + 2),
        client.fail("everything", now=now + 3, code="Busy"),
        client.enqueue("new", now=now + 4, queue="presets", uniqueKey="key"),
        client.enqueue(None, now=now + 5),
        client.administer("run", "archived", now=now + 6),
        client.administer("delete", "cancelled", now=now + 7),
        client.settle("adopted", now=now + 8),
        client.send("job.search", {}, now + 9),
        client.send("job.stats", {}, now + 10),
        client.send("queue.list", {}, now + 11),
        client.claim(1, ["together"], "w9", now=now + 12, start=2),
        client.send("queue.set", {"queue": "together", "groups": {"size": 9, "grace": 50}}, now + 13),
        client.enqueue("together-8", now=now + 13, queue="together", type="t", group="g", goodFor=90_000),
        client.send("job.search", {"group": "g", "state": "scheduled"}, now + 13),
        client.send("job.archive", {"group": "h", "state": "scheduled"}, now + 14),
        client.send("schedule.get", {"id": "plan"}, now + 15),
        client.send("job.search", {"state": "waiting"}, now + 16),
        client.settle("graph-gate", "rejected", now=now + 17),
        client.claim(5, ["graph"], "w9", now=now + 18, start=5),
        client.wait_for("graph-open", id="graph-woken", version=2, now=now + 19, until="all"),
        client.administer("delete", "graph-done", now=now + 20),
        client.settle("graph-open", now=now + 21),
    ]
    replies += go_with_the_flow(client, now + 30)
    steps = client.store.tick(now + 200_000)
    replies.append([(s.kind, s.id, s.at, s.now) for s in steps])
    replies.append(client.send("job.search", {}, now + 200_000))
    replies.append(client.claim(1, ["together"], "w9", now=now + 200_000))
    replies.append(client.send("job.stats", {}, now + 200_001))
    return replies


def go_with_the_flow(client: JobClient, now: int) -> list[Any]:
    """Sends requests on what `flow` left; returns every reply."""
    replies = [
        client.history("flow", now, limit=3),
        client.message("news", "flow", now + 1, key="k"),
        client.message("other", "flow", now + 1),
        client.receive("more", "other", "flow", 2, now + 2),
        client.record("a", {"id": "c", "state": "rejected"}, "d", id="flow", version=2, now=now + 3),
        client.start_over("flow", 2, now=now + 4),
        client.complete("flow:child", now=now + 5),
        client.fork("read", "flow-fork-2", "flow", now + 6),
        client.start_over("flow", 2, now=now + 7, args=X),
        client.history("flow-fork", now + 8),
        client.history("flow-fork-2", now + 8),
        client.claim(3, ["flows"], "w9", 10**9, now=now + 9),
        client.administer("cancel", "flow-kept", now=now + 10),
        client.administer("cancel", "flow", now=now + 11),
        client.administer("delete", "flow", now=now + 12),
    ]
    return replies + [client.get(id, now + 13) for id in ("flow", "flow:a", "flow:@news:k", "flow-over", "flow-fork:a")]
