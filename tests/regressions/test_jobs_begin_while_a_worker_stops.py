"""A stopping worker began further jobs, if the thread of a handler was faster than its event loop."""

from __future__ import annotations

import threading
import time

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Worker
from resonate_core.worker.executor import Executor


def test_a_stop_with_an_event_loop_that_is_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs that wait for the thread are taken back before a handler can see that the worker stops."""
    put_back = Executor.put_back_ready

    def late(self: Executor) -> None:
        time.sleep(0.2)
        put_back(self)

    monkeypatch.setattr(Executor, "put_back_ready", late)
    store = rc.Store()
    worker = Worker(store, concurrency=1, batch=5, lifecycle="asynq")
    began = threading.Event()
    ran: list[str] = []

    @worker.task("t", retention="kept")
    def body(job: JobContext) -> None:
        ran.append(job.id)
        began.set()
        while not job.stopping:
            time.sleep(0.001)

    jobs = body.enqueue_many([None] * 5)
    with worker:
        assert began.wait(60)
        while len([job for job in jobs if store.jobs.get(job.id).state == "running"]) < 5:
            time.sleep(0.001)
    assert len(ran) == 1
