"""Events of jobs: their kinds and contents, and that a failing listener stops nothing."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import until

import resonate_core as rc
from resonate_core.worker import JobEvent, Skip, Snooze, Worker
from server.live_server import serving

PROGRAM = Path(__file__).parent / "event_program.py"


@pytest.fixture
def seen(worker: Worker) -> list[JobEvent]:
    """Collects all events of the worker."""
    return listen(worker)


def listen(worker: Worker) -> list[JobEvent]:
    events: list[JobEvent] = []
    for on in (worker.on_retry, worker.on_failure, worker.on_cancelled, worker.on_complete):
        on(events.append)
    return events


def facts(events: list[JobEvent]) -> list[tuple[Any, ...]]:
    return [(event.kind, event.job.id, event.reason, event.attempt, event.job.state) for event in events]


def fails() -> None:
    raise ConnectionError("no route")


def test_a_failure_is_told_with_its_exception(worker: Worker, seen: list[JobEvent]):
    worker.task("t", max_retries=1, retry_policy={"kind": "fixed", "intervals": [60_000]})(fails).enqueue(id="j")
    worker.run_until_idle(advance=True)
    assert facts(seen) == [("retry", "j", "error", 1, "retry"), ("failure", "j", "error", 2, "archived")]
    assert [event.next_at for event in seen] == [60_000, None]
    for event in seen:
        assert isinstance(event.exception, ConnectionError) and event.exception.__traceback__ is not None
        assert event.error is not None and event.error["code"] == "UnhandledError" and "Traceback" in event.error["data"]
        assert event.worker == "w1"


def test_a_completion_is_told_also_of_a_job_that_is_deleted_at_once(worker: Worker, seen: list[JobEvent], store: rc.Store):
    worker.task("t", retention=0)(lambda n: n + 1).using(id="j").delay(1)
    worker.run_until_idle()
    assert facts(seen) == [("complete", "j", "completed", 1, "running")] and seen[0].result == 2
    assert not store.jobs.search()


def test_archived_is_a_part_of_failure(worker: Worker):
    archived: list[JobEvent] = []
    failed: list[JobEvent] = []
    worker.on_archived(archived.append)
    worker.on_failure(failed.append)
    task = worker.task("t", max_retries=0)(fails)
    task.enqueue(id="a")
    task.enqueue(id="b", on_exhausted="failed")
    worker.run_until_idle()
    assert [event.job.id for event in archived] == ["a"] and [event.job.id for event in failed] == ["a", "b"]


def test_what_is_no_failure_is_not_told(worker: Worker, seen: list[JobEvent]):
    snoozed = []

    def later() -> None:
        if not snoozed:
            snoozed.append(1)
            raise Snooze(1000)

    worker.task("t")(later).enqueue(id="j")
    worker.run_until_idle(advance=True)
    assert facts(seen) == [("complete", "j", "completed", 2, "running")]


def test_what_middleware_never_sees(worker: Worker, store: rc.Store, clock: rc.ManualClock, seen: list[JobEvent]):
    """Each of these jobs ends in the store, or before its handler is called."""
    worker.task("t")(lambda to, subject: None)
    store.jobs.enqueue("unknown", id="unknown", max_retries=0)
    store.jobs.enqueue("t", {"to": "ada"}, id="unfit")
    store.jobs.enqueue("t", id="expires", good_for=100, process_in=50)
    store.jobs.enqueue("t", id="dies", deadline=300, process_in=1_000_000)
    store.jobs.enqueue("t", id="cancelled", process_in=1_000_000)
    store.queues.pause("default")
    store.jobs.cancel("cancelled")
    clock.advance(400)
    store.queues.resume("default")
    worker.run_until_idle()
    assert sorted(facts(seen)) == sorted(
        [
            ("cancelled", "cancelled", "cancelled", None, "cancelled"),
            ("failure", "dies", "deadline", None, "failed"),
            ("failure", "expires", "expired", None, "expired"),
            ("failure", "unfit", "invalid_payload", 1, "archived"),
            ("retry", "unknown", "unknown_type", 1, "scheduled"),
        ]
    )


def test_a_crash_of_another_worker_is_told_once(worker: Worker, store: rc.Store, clock: rc.ManualClock, seen: list[JobEvent]):
    worker.task("t")(lambda: None)
    policy = {"kind": "fixed", "intervals": [60_000]}
    store.jobs.enqueue("t", id="retried", retry_policy=policy)
    store.jobs.enqueue("t", id="at-once", retry_policy={"kind": "fixed", "intervals": [0]})
    store.jobs.enqueue("t", id="given-up", max_retries=0)
    store.jobs.enqueue("t", id="slow", timeout=500, retry_policy=policy)
    store.jobs.claim("default", 4, worker="other", lease=1000, start=4)
    clock.advance(2000)
    for _ in range(3):
        worker.run_until_idle()
    found = [(event.kind, event.job.id, event.reason, event.attempt, event.worker, event.next_at) for event in seen]
    assert found[:4] == [
        ("retry", "slow", "timeout", 1, "other", 60_500),
        ("retry", "at-once", "crashed", 1, "other", None),
        ("failure", "given-up", "crashed", 1, "other", None),
        ("retry", "retried", "crashed", 1, "other", 61_000),
    ]
    assert [event[:2] for event in found[4:]] == [("complete", "at-once")]


def test_what_happened_before_there_were_listeners_is_not_told(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    store.jobs.enqueue("t", id="old")
    store.jobs.cancel("old")
    clock.advance(1)
    events = listen(worker)
    store.jobs.enqueue("t", id="new")
    store.jobs.cancel("new")
    worker.run_until_idle()
    assert [event.job.id for event in events] == ["new"]


def test_jobs_of_other_queues_are_not_told(worker: Worker, store: rc.Store, seen: list[JobEvent]):
    store.jobs.enqueue("t", id="j", queue="other")
    store.jobs.cancel("j")
    worker.run_until_idle()
    assert seen == []


def test_a_step_that_runs_late_is_told(store: rc.Store, clock: rc.ManualClock, worker: Worker, seen: list[JobEvent]):
    """The job expires as of an instant before the last poll."""
    store.jobs.enqueue("t", id="j", good_for=100, process_in=10)
    store.jobs.enqueue("t", id="other")
    store.jobs.cancel("other")
    worker.task("t")(lambda: None)
    worker.run_until_idle()
    clock.advance(5000)
    worker.run_until_idle()
    assert facts(seen) == [("cancelled", "other", "cancelled", None, "cancelled"), ("failure", "j", "expired", None, "expired")]
    assert seen[1].job.expired_at == 110


@pytest.mark.parametrize("error", [RuntimeError("no such channel"), SystemExit("no such channel")], ids=["error", "exit"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_listener_that_raises_stops_nothing(
    worker: Worker, seen: list[JobEvent], caplog: pytest.LogCaptureFixture, kind: str, error: BaseException
):
    called: list[str] = []

    def sync_listener(event: JobEvent) -> None:
        called.append(event.job.id)
        raise error

    async def async_listener(event: JobEvent) -> None:
        await asyncio.sleep(0)
        sync_listener(event)

    listener = sync_listener if kind == "sync" else async_listener
    assert worker.on_failure(listener) is listener
    task = worker.task("t", max_retries=0)(fails)
    task.enqueue(id="a")
    task.enqueue(id="b")
    assert worker.run_until_idle().outcomes == {"failed": 2}
    assert called == ["a", "b"] and caplog.text.count("on_failure: ") == 2 and "no such channel" in caplog.text


def test_an_asynchronous_listener_of_a_drain_in_a_loop(worker: Worker):
    called: list[str] = []

    @worker.on_complete
    async def listener(event: JobEvent) -> None:
        await asyncio.sleep(0)
        called.append(event.job.id)

    worker.task("t")(lambda: None).enqueue(id="a")
    asyncio.run(worker.run_until_idle_async())
    assert called == ["a"]


def test_what_is_no_function_is_refused(worker: Worker):
    with pytest.raises(TypeError, match="a listener of events must be a function of a JobEvent, got 5"):
        worker.on_failure(5)  # type: ignore[type-var]


def test_a_listener_that_hangs_holds_up_no_job(
    make_worker: Callable[..., Worker], live_store: rc.Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    import resonate_core.worker.events as events

    monkeypatch.setattr(events, "MOST_WAITING", 3)
    monkeypatch.setattr(events, "STOP_TIMEOUT", 0.1)
    worker, hung, free = make_worker(), threading.Event(), threading.Event()

    @worker.on_failure
    def hangs(event: JobEvent) -> None:
        hung.set()
        free.wait(60)

    def skips(n: int) -> None:
        raise Skip("never")

    task = worker.task("t")(skips)
    try:
        with worker:
            task.enqueue_many(range(10))
            assert hung.wait(60)
            until(lambda: worker.counts.failed == 10, "all have failed")
            assert all(job.state == "archived" for job in live_store.jobs.search())
    finally:
        free.set()
    assert "3 events wait for listeners" in caplog.text
    assert "events: they take too long" in caplog.text


def test_a_running_worker_tells_beside_its_jobs(make_worker: Callable[..., Worker], live_store: rc.Store):
    worker = make_worker()
    seen: list[tuple[str, str, str]] = []

    async def tell(event: JobEvent) -> None:
        seen.append((event.kind, event.reason, threading.current_thread().name))

    worker.on_retry(tell)
    worker.on_failure(tell)
    worker.task("fails", max_retries=0)(fails).enqueue()
    live_store.jobs.enqueue("fails", id="crashes")
    live_store.jobs.claim("default", 2, worker="other", lease=1, start=2)
    worker.tasks["fails"].enqueue(id="later", max_retries=0)
    with worker:
        until(lambda: len(seen) == 3, seen)
    assert sorted(each[:2] for each in seen) == [("failure", "crashed"), ("failure", "error"), ("retry", "crashed")]
    assert {name.rsplit("-event")[0] for _, _, name in seen} == {worker.name}


def test_a_worker_on_a_server_tells_how_its_own_attempts_ended(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.ERROR)
    with rc.Store() as store, serving(store) as live:
        worker = Worker(f"http://127.0.0.1:{live.port}", poll_interval=20)
        seen = listen(worker)
        worker.task("fails", max_retries=0)(fails).enqueue(id="a")
        worker.task("double")(lambda n: 2 * n).using(id="b", retention=0).delay(4)
        with worker:
            until(lambda: len(seen) == 2, seen)
        worker.close()
        assert sorted(facts(seen)) == [("complete", "b", "completed", 1, "running"), ("failure", "a", "error", 1, "archived")]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    running = []

    def started(role: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(PROGRAM), str(tmp_path / "jobs.db"), role]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return running[-1]

    yield started
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_the_crash_of_another_process_is_told(tmp_path: Path, start: Callable[[str], subprocess.Popen[str]]):
    with rc.Store(tmp_path / "jobs.db", durability="normal") as store:
        store.jobs.enqueue("t", id="j", max_retries=0)
        victim = start("victim")
        assert victim.stdout is not None and victim.stdout.readline() == "began\n"
        teller = start("teller")
        victim.kill()
        assert teller.stdout is not None
        assert teller.stdout.readline() == "failure j crashed victim archived\n"
