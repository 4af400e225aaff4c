"""Jobs in files and on a clock: files from versions without jobs or groups, read-only stores, the instants of timers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from conformance.job_groups import enqueue_batch
from conformance.job_waits import after, callbacks, complete, kept_by
from conformance.job_wire import JOB, JobClient
from older_files import give_older_schema

OLD = Path(__file__).parents[1] / "data" / "store-0.1.0.db"


def test_a_file_of_before_there_were_jobs(tmp_path: Path) -> None:
    """The file opens, keeps its rows and accepts jobs; the same holds after it is opened again."""
    path = tmp_path / "old.db"
    shutil.copyfile(OLD, path)
    with rc.Store(path, clock=rc.ManualClock(0), durability="normal") as store:
        before = [promise.id for promise in store.promises.search(limit=1000)]
        assert before
        client = JobClient(store)
        assert client.jobs() == [] and client.send("queue.list", {}).must()["queues"] == []
        client.enqueue("new-job", uniqueKey="k").must()
        client.run_one("new-job")
        assert store.check() == []
    with rc.Store(path, clock=rc.ManualClock(0), durability="normal") as store:
        client = JobClient(store)
        assert client.complete("new-job").must()["job"]["state"] == "completed"
        assert sorted([*before, "new-job"]) == sorted(promise.id for promise in store.promises.search(limit=1000))
        assert store.check() == []
    assert rc.check_file(path) == []


def test_a_pending_promise_of_an_old_file_becomes_a_job(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    shutil.copyfile(OLD, path)
    with rc.Store(path, clock=rc.ManualClock(0), durability="normal") as store:
        now = store.now
        adopted = []
        for promise in store.promises.search(limit=1000, state="pending"):
            reply = JobClient(store).enqueue(promise.id, now=now)
            if reply.status == 200:
                adopted.append(promise.id)
        assert JobClient(store).jobs() == sorted(adopted) and store.check() == []


def test_a_file_of_before_there_were_groups(tmp_path: Path) -> None:
    """Its jobs and schedules are unchanged, and new jobs can gather."""
    path = tmp_path / "jobs.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        client = JobClient(store)
        client.enqueue("old", priority=1, uniqueKey="k").must()
        client.enqueue("old-later", processAt=500).must()
        client.schedule("s").must()
        before, schedule = client.send("job.search", {}).data, client.send("schedule.get", {"id": "s"}).data
    give_older_schema(path, 2)
    with pytest.raises(rc.ResonateError, match="read-only"):
        rc.Store(path, clock=rc.ManualClock(0), read_only=True)
    with rc.Store(path, clock=rc.ManualClock(0), check=True) as store:
        client = JobClient(store)
        assert client.send("job.search", {}).data == before and client.send("schedule.get", {"id": "s"}).data == schedule
        assert enqueue_batch(client, "new-a", "new-b") == client.job("new-a")["batch"]
        client.schedule("t", job={"type": "t"}).must()
        assert client.claimed(9) == ["old", "new-a", "new-b"] and store.check() == []
    assert rc.check_file(path) == []


def test_a_file_of_before_jobs_could_wait(tmp_path: Path) -> None:
    """Its awaiters are unchanged, and jobs wait for its promises, keep its jobs, and are there after it is opened again."""
    path = tmp_path / "jobs.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        client = JobClient(store)
        client.enqueue("old", now=0, retention=0, priority=1).must()
        client.enqueue("done", now=0).must()
        client.task_create("workflow", now=0).must()
        client.suspend("workflow", 1, "old", now=0).must()
        before, digest = client.send("job.search", {}).data, store.digest()
    give_older_schema(path, 9)
    with rc.Store(path, clock=rc.ManualClock(0), check=True) as store:
        client = JobClient(store)
        assert client.send("job.search", {}).data == before and store.digest() == digest
        after(client, "old", "done", now=1)
        assert callbacks(client, "old") == ["workflow", "j"]
        complete(client, "old", 2)
        assert kept_by(client, "old") == ["j"] and store.check() == []
    assert rc.check_file(path) == []
    with rc.Store(path, clock=rc.ManualClock(2), check=True) as store:
        client = JobClient(store)
        assert (client.state("j"), kept_by(client, "old")) == ("waiting", ["j"])
        complete(client, "done", 3)
        assert client.claimed(now=4) == ["j"] and store.check() == []


def test_a_read_only_store(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        JobClient(store).enqueue().must()
    with rc.Store(path, clock=rc.ManualClock(0), read_only=True) as store:
        client = JobClient(store)
        assert client.state() == "pending" and client.jobs() == [JOB]
        assert client.stats()["counts"]["pending"] == 1 and client.queue("get")["active"] == 0
        for call in (lambda: client.claim(), lambda: client.enqueue("other"), lambda: client.queue("pause")):
            with pytest.raises(rc.ResonateError, match="read-only"):
                call()


def test_what_is_due(store: Any) -> None:
    """A job that waits only for a worker has no timer; a job that waits for an instant has a timer at that instant."""
    client = JobClient(store)
    client.enqueue(now=0).must()
    assert store.next_due() is None
    assert store.clock.advance_to_next() == [] and store.now == 0
    client.claim(lease=500, now=0).must()
    assert store.next_due() == 500
    client.start(now=10, lease=700).must()
    assert store.next_due() == 710
    client.enqueue("soon", now=10, processAt=100).must()
    assert store.next_due() == 100
    client.enqueue("sooner", now=10, goodUntil=90).must()
    assert store.next_due() == 90
    client.enqueue("soonest", now=10, deadline=80).must()
    assert store.next_due() == 80
    for id in ("soonest", "sooner", "soon"):
        client.administer("delete", id, now=20).must()
    client.fail(now=20, retryAfter=5).must()
    assert store.next_due() == 25
    client.administer("archive", now=20).must()
    assert store.next_due() is None


def test_an_attempts_timeout_is_due(store: Any) -> None:
    client = JobClient(store)
    client.enqueue(now=0, timeout=300).must()
    client.claim(lease=10_000, now=0).must()
    assert store.next_due() == 10_000
    client.start(now=5).must()
    assert store.next_due() == 305


def test_a_claim_leaves_no_timer_of_the_job_behind(store: Any) -> None:
    """A claimed job has a timer for its lease only; a completed job has one for its retention."""
    client = JobClient(store)
    client.enqueue(now=0, processAt=10, goodUntil=1_000, retention=50).must()
    client.run_one(now=10, lease=100)
    assert store.next_due() == 110
    client.complete(now=20).must()
    assert store.next_due() == 70
    store.clock.advance_to(70)
    assert store.next_due() is None and client.state() == "absent"
