"""A worker whose slots were all held by timed-out threads, or by jobs that waited for their children, claimed nothing and said nothing.

It logs that once, naming the jobs, and `why`, the reports of the jobs, the counts and a metric show it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import resonate_core as rc
from resonate_core.base.standstills import HeldSlot, Standstill
from resonate_core.server.metrics import Metrics
from resonate_core.testing import serving
from resonate_core.worker import Worker, session
from resonate_core.worker.executor import Executor
from tiers import chess

Warnings = Callable[[], list[str]]


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Warnings:
    caplog.set_level(logging.INFO, "resonate_core.worker")
    return lambda: [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING and "stands still" in r.getMessage()]


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What each look at the slots has found, often enough for a test."""
    monkeypatch.setattr(session, "_STANDSTILL", 0.02)
    found, held_up = [], Executor.held_up

    def counted(self: Executor) -> Any:
        found.append(held_up(self))
        return found[-1]

    monkeypatch.setattr(Executor, "held_up", counted)
    return found


def until(condition: Callable[[], Any]) -> Any:
    """Waits for a condition; a generous limit guards against hanging."""
    for _ in range(1200):
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen within a minute")


def standing(store: rc.Store) -> float | None:
    metrics = Metrics()
    metrics.read(store, store.watch(-1))
    return metrics.registry.get_sample_value("resonate_workers_standing_still")


def test_timed_out_threads(warnings: Warnings, go_on: threading.Event, looks: list[Any]) -> None:
    store = rc.Store()
    worker = Worker(store, name="w", concurrency=2, poll_interval=20)
    task = worker.task("t", timeout=50, max_retries=0)(lambda: go_on.wait(120))
    for id in "ab":
        task.enqueue(id=id)
    quick = worker.task("quick", retention="kept")(lambda: "ran")
    with worker:
        until(lambda: store.jobs.get("a").state == store.jobs.get("b").state == "archived")
        quick.enqueue(id="waits")
        sentence = until(lambda: worker.standstill)
        for id in "ab":
            assert f"job {id} (t), whose attempt is over (timeout) and whose function has not returned" in sentence
        assert standing(store) == 1
        found = rc.why(store, "waits")
        assert found.stuck and sentence in found.sentence and found.advice
        assert sentence in rc.why(store, "default").sentence and rc.why(store, "default").stuck
        looked = len(looks)
        until(lambda: len(looks) > looked + 3)  # once for each standstill, not at each look
        assert len(warnings()) == 1 and warnings()[0].startswith(sentence)
        go_on.set()
        assert store.result("waits", timeout=60) == "ran"
        until(lambda: worker.standstill is None)
        assert (worker.counts.standstills, standing(store)) == (1, 0)
    assert "stands still" not in rc.why(store, "default").sentence


def parents(worker: Worker, kind: str, store: rc.Store, url: str | None) -> Any:
    def sync(child: str) -> Any:
        if url is None:
            return store.wait(child).state
        with rc.connect(url) as client:
            return client.wait(child).state

    async def in_loop(child: str) -> Any:
        if url is None:
            return (await store.aio.wait(child)).state
        async with rc.connect(url).aio as client:
            return (await client.wait(child)).state

    def own_loop(child: str) -> Any:
        return asyncio.run(in_loop(child))

    return worker.task("parent", retention="kept")({"sync": sync, "async": in_loop, "own loop": own_loop}[kind])


@pytest.mark.parametrize(("place", "kind"), chess(["memory", "file", "url"], ["sync", "async", "own loop"]))
def test_parents_that_wait_for_children(kind: str, place: str, warnings: Warnings, tmp_path: Path) -> None:
    with rc.Store(tmp_path / "a.db" if place == "file" else None) as store, serving(store) as server:
        url = server.url if place == "url" else None
        worker = Worker(url or store, name="w", concurrency=2, poll_interval=20)
        parent = parents(worker, kind, store, url)
        for n in "12":
            parent.enqueue({"child": f"c{n}"}, id=f"p{n}")
        worker.task("child", retention="kept")(lambda: "ran")
        store.jobs.enqueue("child", id="c1", process_in=500)  # they can run when the parents hold the slots
        store.jobs.enqueue("child", id="c2", process_in=500)
        with worker:
            sentence = until(lambda: worker.standstill)
            assert "job p1 (parent), which waits for c1" in sentence and "job p2 (parent), which waits for c2" in sentence
            assert len(warnings()) == 1 and worker.counts.standstills == 1
            # The parents have reported it, so that other processes see it.
            until(lambda: all("stands still" in str(store.jobs.get(id).report) for id in ("p1", "p2")))
            for id in ("p1", "c1", "default"):
                found = rc.why(store, id)
                assert found.stuck and "worker 'w' stands still" in found.sentence, found
            if place != "url":
                assert rc.why(store, "p1").chain[0][0] == "c1" and standing(store) == 1
            other = Worker(store, name="other", poll_interval=20)
            other.task("child", retention="kept")(lambda: "ran")
            with other:
                assert [store.result(id, timeout=60) for id in ("p1", "p2")] == ["resolved"] * 2
            until(lambda: worker.standstill is None)
        worker.close()


def test_slots_that_do_something_are_no_standstill(warnings: Warnings, go_on: threading.Event, looks: list[Any]) -> None:
    """Long jobs, jobs that wait for a promise that a client settles, and jobs whose children another worker runs."""
    store = rc.Store()
    store.promises.create("from outside", timeout=600_000)
    worker = Worker(store, concurrency=3, poll_interval=20)
    worker.task("long")(lambda: go_on.wait(60)).enqueue()
    worker.task("outside", retention="kept")(lambda: store.wait("from outside").state).enqueue(id="outside")
    worker.task("elsewhere", retention="kept")(lambda: store.wait("child").state).enqueue(id="elsewhere")
    store.jobs.enqueue("child", id="child", queue="of another worker")
    with worker:
        until(lambda: all(job.state == "running" for job in store.jobs.search(queue="default")))
        looked = len(looks)
        until(lambda: len(looks) > looked + 3)
        assert worker.standstill is None and warnings() == [] and standing(store) == 0
        go_on.set()  # the others alone are none either, since a slot is free
        store.promises.resolve("from outside")
        assert store.result("outside", timeout=60) == "resolved"
        store.promises.resolve("child")
        assert store.result("elsewhere", timeout=60) == "resolved"


def test_a_batch_and_a_wait_of_a_batch_stand_still_as_well(warnings: Warnings, go_on: threading.Event) -> None:
    store = rc.Store()
    worker = Worker(store, concurrency=1, poll_interval=20)
    worker.batch_task("t", timeout=50, max_retries=0)(lambda payloads: go_on.wait(120) and None).enqueue(id="a")
    with worker:
        assert "job a (t), whose attempt is over (timeout)" in until(lambda: worker.standstill)
        go_on.set()
        until(lambda: worker.standstill is None)


def test_a_reader_of_some_ids_sees_no_others() -> None:
    still = Standstill("w", ("q",), 0, (HeldSlot("a.1", "t", None, ("b.2", "a.3")), HeldSlot("b.1", "t", "timeout", ())))
    sentence = still.sentence(lambda id: id.startswith("a."))
    assert "job a.1 (t), which waits for another job, a.3; another job, whose attempt is over (timeout)" in sentence


def test_who_sees_a_standstill_sees_it_everywhere(
    monkeypatch: pytest.MonkeyPatch, go_on: threading.Event, looks: list[Any]
) -> None:
    """The worker had it first, so that for a moment its log, its counts and the metrics did not have it."""
    store, seen = rc.Store(), []
    worker = Worker(store, concurrency=1, poll_interval=20)
    worker.task("t", timeout=50, max_retries=0)(lambda: go_on.wait(120)).enqueue()
    noted = session.note

    def note(store: rc.Store, name: str, found: Any) -> None:
        seen.append((found is not None, worker.standstill is not None, worker.counts.standstills))
        noted(store, name, found)

    monkeypatch.setattr(session, "note", note)
    with worker:
        until(lambda: worker.standstill)
        go_on.set()
        until(lambda: worker.standstill is None)
    assert (seen[0], seen[-1]) == ((True, False, 1), (False, True, 1))


def test_a_standstill_that_ends_while_it_is_read() -> None:
    """It was read twice: AttributeError if it had ended in between."""

    class Ending:
        found: ClassVar[list[Any]] = [None, Standstill("w", ("q",), 0, ())]

        @property
        def standstill(self) -> Standstill | None:
            return self.found.pop()

    worker = Worker(rc.Store())
    runner: Any = worker._runner
    runner.session = Ending()
    assert worker.standstill == "worker 'w' stands still, its slots are held by: "
    assert worker.standstill is None


@pytest.mark.parametrize("text", ["the conveyor stands still", "worker 'other' stands still: all of its slots are held by jobs"])
def test_a_report_of_a_handler_is_no_standstill(text: str) -> None:
    """Any report with these words made `why` say that the worker was stuck."""
    store = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("t", id="a")
    store.jobs.enqueue("t", id="waits")
    (job,) = store.jobs.claim("default", worker="w", lease=60_000, start=1)
    store.jobs.report(job.id, job.version, lines=[text])
    for id in ("a", "waits", "default"):
        found = rc.why(store, id)
        assert not found.stuck and "stands still" not in found.sentence, found
