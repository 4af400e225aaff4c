"""The ways in which a worker runs the jobs of a store: live, and in a drain, which is synchronous or awaited."""

from __future__ import annotations

import asyncio
from typing import Any

import resonate_core as rc
from resonate_core.worker import Worker

WAYS = ("live", "drain", "drain_async")


def worker_of(way: str) -> Worker:
    """A worker of a new store in memory; a drain moves its clock by hand."""
    return Worker(rc.Store() if way == "live" else rc.Store(clock=rc.ManualClock()), poll_interval=20)


def run_one(worker: Worker, id: str, way: str) -> Any:
    """Runs an enqueued job; returns it."""
    store = worker.client.store  # type: ignore[attr-defined]
    if way == "live":
        with worker:
            store.wait(id, timeout=30)
    elif way == "drain":
        worker.run_until_idle()
    else:
        asyncio.run(worker.run_until_idle_async())
    return store.jobs.get(id)
