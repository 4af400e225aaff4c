"""Compares the model's queues with JOBS: order of claims, weights, rates, limits and statistics."""

from __future__ import annotations

from reference.client import Client


def filled(**queues):
    """A client whose queues have these numbers of jobs."""
    send = Client()
    for name, count in queues.items():
        for number in range(count):
            send.enqueue(f"{name}{number}", queue=name)
    return send


def test_the_order_in_a_queue(send):
    send.enqueue("late", 5)
    send.enqueue("b", 5)
    send.enqueue("first", 6, priority=1)
    send.enqueue("a", 6)
    send.enqueue("ahead", 6, processAt=7)
    assert [job["id"] for job in send.claim(now=8, count=9)] == ["first", "b", "late", "a", "ahead"]


def test_weights_take_turns_smoothly():
    send = filled(a=9, b=9, c=9)
    queues = [{"name": "a", "weight": 5}, "b", "c"]
    first = send.claim(*queues, count=3)
    then = send.claim(*queues, count=4)
    assert "".join(job["queue"] for job in first + then) == "aabacaa"


def test_a_queue_without_jobs_has_no_turn():
    send = filled(a=2, b=1)
    assert [job["id"] for job in send.claim("b", "a", "none", count=9)] == ["b0", "a0", "a1"]
    assert send.claim("a") == []


def test_strict_order():
    send = filled(a=1, b=2)
    assert [job["id"] for job in send.claim("b", {"name": "a", "weight": 9}, count=9, strict=True)] == ["b0", "b1", "a0"]


def test_a_paused_queue_and_a_full_one():
    send = filled(a=2, b=2)
    send("queue.pause", queue="a")
    send("queue.set", queue="b", concurrency=1)
    assert [job["id"] for job in send.claim("a", "b", count=9)] == ["b0"]
    send("queue.resume", queue="a")
    send("job.cancel", id="b0")
    assert [job["id"] for job in send.claim("b", "a", count=2)] == ["b1", "a0"]


def test_a_rate_is_a_bucket_and_a_window():
    send = filled(a=9)
    send("queue.set", queue="a", rate={"limit": 2, "per": 1000, "burst": 3})
    status, data = send("job.claim", 100, queues=["a"], worker="w", lease=9000, count=9)
    assert (len(data["jobs"]), data["nextAt"]) == (3, 1100)
    assert send.claim("a", now=1099, count=9) == []
    assert len(send.claim("a", now=1100, count=9)) == 2
    assert len(send.claim("a", now=2000, count=9)) == 1, "1.8 tokens"
    status, data = send("job.claim", queues=["a"], worker="w", lease=9000)
    assert data == {"jobs": [], "nextAt": 2100}


def test_records_of_queues(send):
    assert send("queue.get", queue="q")[0] == 404
    status, data = send("queue.set", queue="q", weight=3, rate={"limit": 1, "per": 5}, concurrency=2, defaults={"timeout": 7})
    assert data["queue"] == {
        "name": "q",
        "paused": False,
        "weight": 3,
        "rate": {"limit": 1, "per": 5, "burst": 1},
        "concurrency": 2,
        "defaults": {"timeout": 7},
        "active": 0,
    }
    status, data = send("queue.set", queue="q", concurrency=None, rate=None)
    assert data["queue"] == {"name": "q", "paused": False, "weight": 3, "defaults": {"timeout": 7}, "active": 0}
    assert send("queue.pause", queue="a")[0] == send("queue.resume", queue="a")[0] == 404
    assert send("queue.pause", queue="default")[1]["queue"]["paused"] is True
    send("queue.set", queue="a")
    assert send("queue.pause", queue="a")[1]["queue"]["paused"] is True
    assert [queue["name"] for queue in send("queue.list")[1]["queues"]] == ["a", "default", "q"]


def test_statistics(send):
    day = 86_400_000
    for one in ("a", "b", "c", "d"):
        send.enqueue(one, onExhausted="failed", maxRetries=0)
    send.enqueue("e", priority=1, processAt=day + 5)
    send.claim(count=3, lease=10 * day)
    for one in ("a", "b", "c"):
        send("job.start", id=one, version=1, lease=10 * day)
    send("job.complete", day - 1, id="a", version=1)
    send.fail(1, now=day, job_id="b")
    send("job.cancel", id="c")
    send.model.tick(day + 7)
    status, data = send("job.stats", day + 10)
    [queue] = data["queues"]
    assert queue["days"] == [
        {"day": "1970-01-01", "processed": 1, "failed": 0},
        {"day": "1970-01-02", "processed": 1, "failed": 1},
    ]
    assert (queue["oldestPendingAt"], queue["latency"], queue["active"]) == (0, day + 10, 0)
    named = {state: count for state, count in queue["counts"].items() if count}
    assert named == {"pending": 2, "completed": 1, "failed": 1, "cancelled": 1}
    assert send("job.stats", queue="none")[0] == 404
