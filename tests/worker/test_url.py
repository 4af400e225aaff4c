"""A worker of a server behaves as a worker of a store, over HTTP."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import jwt
import pytest
from waiting import until

import resonate_core as rc
from free_ports import free_port
from resonate_core.worker import BatchContext, JobContext, JobError, Retry, Skip, Snooze, Worker
from server.live_server import serving

SECRET = "s3cret-" * 10


@pytest.fixture
def store() -> Iterator[rc.Store]:
    with rc.Store() as opened:
        yield opened


@pytest.fixture
def url(store: rc.Store) -> Iterator[str]:
    with serving(store) as live:
        yield f"http://127.0.0.1:{live.port}"


@pytest.fixture
def worker(url: str) -> Iterator[Worker]:
    made = Worker(url, poll_interval=20, name="far")
    yield made
    made.close()


def test_a_job_there_and_back(worker: Worker, store: rc.Store):
    @worker.task("t", max_retries=4, tags={"a": "1"})
    def body(a, b, job: JobContext):
        return {"sum": a + b, "attempt": job.attempt, "retries": job.retry_count, "type": job.type, "queue": job.queue}

    job = body.enqueue({"a": 1, "b": 2}, id="j", headers={"trace": "7"}, deadline=2**52)
    assert (job.id, job.state, job.max_retries, job.tags, job.payload) == (
        "j",
        "pending",
        4,
        {"a": "1"},
        rc.Value({"trace": "7"}, "eyJhIjoxLCJiIjoyfQ=="),
    )
    with worker:
        until(lambda: worker.counts.completed == 1, worker.counts)
    done = store.jobs.get("j")
    assert done.result.json() == {"sum": 3, "attempt": 1, "retries": 0, "type": "t", "queue": "default"}
    assert done.attempts[0]["worker"] == "far"


def test_the_record_is_that_of_the_core(worker: Worker, store: rc.Store):
    there = worker.enqueue(
        "t", [1], id="j", priority=3, process_in=10**9, timeout=5, max_retries=1, retention="kept", good_until=2**51
    )
    here = store.jobs.get("j")
    assert there.to_dict() == here.to_dict()
    for name in [
        "id",
        "queue",
        "type",
        "state",
        "payload",
        "tags",
        "priority",
        "version",
        "max_retries",
        "retry_count",
        "retry_policy",
        "on_exhausted",
        "process_at",
        "good_until",
        "timeout",
        "deadline",
        "retention",
        "unique_key",
        "unique_for",
        "group",
        "batch",
        "gathering",
        "result",
        "error",
        "attempts",
        "sent_at",
        "enqueued_at",
        "claimed_at",
        "started_at",
        "completed_at",
    ]:
        assert getattr(there, name) == getattr(here, name), name
    with pytest.raises(AttributeError):
        _ = there.nothing


@pytest.mark.parametrize("lifecycle", [None, "asynq"])
def test_many(worker: Worker, store: rc.Store, lifecycle):
    task = worker.task("t", lifecycle=lifecycle, retention="kept")(lambda n: n * n)
    jobs = task.enqueue_many(range(100))
    with worker:
        until(lambda: worker.counts.completed == 100, worker.counts)
    assert [store.jobs.get(job.id).result.json() for job in jobs] == [n * n for n in range(100)]


def test_many_of_which_one_is_refused(worker: Worker, store: rc.Store):
    task = worker.task("t")(lambda n: n)
    task.enqueue("other", id="b")
    with pytest.raises(rc.errors.PartlyEnqueued, match="2 of 3 jobs were enqueued; payload 1: ") as raised:
        task.enqueue_many([1, 2, 3], ids=["a", "b", "c"])
    assert isinstance(raised.value.problem, rc.Conflict)
    assert [job.id for job in raised.value.enqueued] == ["a", "c"]
    with pytest.raises(rc.errors.Invalid, match="ids must have as many entries as payloads"):
        task.enqueue_many([1, 2, 3], ids=["a", "b"])


def test_a_batch_there_and_back(worker: Worker, store: rc.Store):
    store.queues.set("default", groups={"size": 3})
    calls: list[object] = []

    @worker.batch_task("t", group="g", retention="kept")
    def body(payloads, batch: BatchContext):
        calls.append((payloads, batch.id, batch.group, [job.attempt for job in batch]))
        return [n * n if n != 1 else Skip("no") for n in payloads]

    first = body.enqueue(0)
    assert (first.group, first.gathering, first.state) == ("g", True, "scheduled")
    assert first.to_dict() == store.jobs.get(first.id).to_dict()
    jobs = [first, *body.enqueue_many([1, 2], good_for=10**6)]
    assert jobs[2].gathering is False and jobs[2].batch == first.batch
    with worker:
        until(lambda: worker.counts.completed == 2 and worker.counts.failed == 1, worker.counts)
    assert calls == [([0, 1, 2], first.batch, "g", [1, 1, 1])]
    found = [store.jobs.get(job.id) for job in jobs]
    assert [job.state for job in found] == ["completed", "archived", "completed"]
    assert (found[2].result.json(), found[2].good_until) == (4, found[2].sent_at + 10**6)


def test_a_batch_that_fails_and_is_put_off(worker: Worker, store: rc.Store):
    store.queues.set("default", groups={"size": 3})

    @worker.batch_task("t", max_retries=0)
    def body(payloads, batch: BatchContext):
        raise ValueError("v") if batch.group == "bad" else Snooze(10**9)

    bad, late = (body.enqueue_many(range(3), group=group) for group in ("bad", "late"))
    with worker:
        until(lambda: worker.counts.failed == worker.counts.snoozed == 3, worker.counts)
    assert [store.jobs.get(job.id).error["message"] for job in bad] == ["ValueError: v"] * 3
    assert [store.jobs.get(job.id).state for job in late] == ["scheduled"] * 3


def test_a_stop_gives_back_a_batch(url: str, store: rc.Store):
    store.queues.set("default", groups={"size": 2})
    worker = Worker(url, concurrency=1, batch=3, grace=10, poll_interval=20)
    began, go_on = threading.Event(), threading.Event()

    @worker.batch_task("t", group="g")
    def body(payloads):
        began.set()
        go_on.wait(60)

    jobs = body.enqueue_many([None] * 4)
    with worker:
        assert began.wait(60)
        until(lambda: store.jobs.get(jobs[3].id).state == "claimed")
    go_on.set()
    worker.close()
    assert [store.jobs.get(job.id).state for job in jobs] == ["pending"] * 4
    assert worker.counts.released == worker.counts.snoozed == 2


def test_every_outcome(worker: Worker, store: rc.Store):
    errors = {
        "retry": Retry(after=10**9),
        "skip": Skip("no"),
        "snooze": Snooze(10**9),
        "own": JobError("Own", "m", "d", retryable=False),
        "body": ValueError("v"),
    }

    @worker.task("t", max_retries=3)
    def body(which):
        raise errors[which]

    @worker.task("u")
    async def unstorable():
        return object()

    jobs = {which: body.enqueue(which).id for which in errors} | {"result": unstorable.enqueue().id}
    with worker:
        until(lambda: worker.counts.failed == 5 and worker.counts.snoozed == 1, worker.counts)
    found = {which: store.jobs.get(id) for which, id in jobs.items()}
    assert {which: (job.state, (job.error or {}).get("code")) for which, job in found.items()} == {
        "retry": ("retry", "Retry"),
        "skip": ("archived", "SkipRetry"),
        "snooze": ("scheduled", None),
        "own": ("archived", "Own"),
        "body": ("retry", "UnhandledError"),
        "result": ("archived", "InvalidResult"),
    }
    assert found["own"].error == {"code": "Own", "message": "m", "data": "d"}


def test_heartbeats_and_cancellation(url: str, store: rc.Store):
    worker = Worker(url, lease=60_000, heartbeat=20, poll_interval=20)
    began = threading.Event()

    @worker.task("t")
    async def body():
        began.set()
        await asyncio.sleep(3600)

    job = body.enqueue()
    with worker:
        assert began.wait(60)
        lease = store.jobs.get(job.id).lease_until
        until(lambda: store.jobs.get(job.id).lease_until > lease)
        store.jobs.cancel(job.id)
        until(lambda: worker.counts.lost == 1, worker.counts)
    worker.close()
    assert len(store.jobs.get(job.id).attempts) == 1


def test_a_stop_gives_back(url: str, store: rc.Store):
    worker = Worker(url, concurrency=1, batch=3, grace=10, poll_interval=20)
    began, go_on = threading.Event(), threading.Event()

    @worker.task("t")
    def body():
        began.set()
        go_on.wait(60)

    jobs = body.enqueue_many([None] * 4)
    with worker:
        assert began.wait(60)
        until(lambda: store.jobs.get(jobs[3].id).state == "claimed")
    go_on.set()
    worker.close()
    assert [store.jobs.get(job.id).state for job in jobs] == ["pending"] * 4


def test_periodic_jobs_of_two_workers(url: str, store: rc.Store):
    workers = [Worker(url, poll_interval=20) for _ in range(2)]
    for worker in workers:
        worker.periodic("* * * * * *", worker.task("t")(lambda: 1))
    with workers[0], workers[1]:
        until(lambda: sum(worker.counts.completed for worker in workers) >= 2)
    for worker in workers:
        worker.close()
    assert all(len(job.attempts) == 1 for job in store.jobs.search("t@*", state="completed"))


def test_refusals_are_the_errors_of_a_store(worker: Worker):
    worker.enqueue("t", id="a")
    with pytest.raises(rc.errors.Conflict):
        worker.enqueue("u", id="a")
    with pytest.raises(rc.errors.Invalid):
        worker.enqueue("t", priority=1000)
    with pytest.raises(rc.errors.NotFound):
        worker.client.get("nobody")
    with pytest.raises(rc.errors.Unsupported):
        worker.run_until_idle()


def test_tokens():
    with rc.Store() as store, serving(store, auth={"secret": SECRET}) as live:
        url = f"http://127.0.0.1:{live.port}"
        admin = Worker(url, token=jwt.encode({"role": "admin", "exp": 2**40}, SECRET, "HS256"), poll_interval=20)
        admin.task("t")(lambda: 1)
        with admin:
            admin.enqueue("t")
            until(lambda: admin.counts.completed == 1, admin.counts)
        admin.close()
        nobody = Worker(url)
        nobody.task("t")(lambda: 1)
        with pytest.raises(rc.errors.ResonateError) as refused:
            nobody.run(signals=False)
        assert refused.value.status == 401


def test_what_is_no_server_of_the_protocol(store: rc.Store, url: str):
    worker = Worker(f"{url}/no/such/path")
    with pytest.raises(rc.errors.ResonateError):
        worker.enqueue("t")
    worker.close()
    unreachable = Worker("http://127.0.0.1:1")
    with pytest.raises(rc.errors.StoreError, match="cannot be reached"):
        unreachable.enqueue("t")
    unreachable.close()


def test_a_password_in_a_url_is_not_shown():
    worker = Worker("http://user:secret@127.0.0.1:1")
    assert "secret" not in repr(worker.client)
    worker.close()


def serve(path: Path, port: int) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-m", "resonate_core", "serve", "--db", str(path), "--port", str(port)]
    server = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        assert server.poll() is None
        try:
            return httpx.get(f"http://127.0.0.1:{port}/health", timeout=5).status_code < 500
        except httpx.HTTPError:
            return False

    until(answers)
    return server


def test_a_server_that_is_killed_and_comes_back(tmp_path: Path):
    """What ended meanwhile is reported when the server is back, and no attempt runs twice."""
    path, port = tmp_path / "jobs.db", free_port()
    server = serve(path, port)
    worker = Worker(f"http://127.0.0.1:{port}", poll_interval=20)
    ran: list[int] = []
    began, go_on = threading.Event(), threading.Event()

    @worker.task("t")
    def body(n):
        ran.append(n)
        began.set()
        go_on.wait(60)
        return n

    try:
        jobs = [job.id for job in body.enqueue_many(range(5))]
        with worker:
            assert began.wait(60)
            server.kill()
            server.wait()
            go_on.set()
            until(lambda: len(ran) == 5)
            server = serve(path, port)
            until(lambda: worker.counts.completed == 5, worker.counts)
    finally:
        server.kill()
        server.wait()
        worker.close()
    assert sorted(ran) == list(range(5))
    with rc.Store(path) as store:
        assert [store.jobs.get(id).result.json() for id in jobs] == list(range(5))
