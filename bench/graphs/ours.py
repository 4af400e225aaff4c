"""Chains and a fan with a join, from end to end through `Worker` on a SQLite file with FULL, and as many plain jobs.

All are enqueued, then one worker runs them all in the process that has enqueued them; the time is that of both, until the last
completion. Python's garbage collector stays on, as in the programs of the peers.
"""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import resonate_core as rc
from resonate_core.worker import Worker

from ..jobs.calls import PAYLOAD, TYPE
from ..jobs.timed import CPU, better

LENGTH = 10
#: The most jobs that a request enqueues, of graphs and of plain jobs: a server takes as many.
BATCH = 10_000
#: Jobs that run at once, and jobs that are claimed beside them.
AT_ONCE, AHEAD = 500, 500
_files = itertools.count()

Enqueue = Callable[[rc.Store, Worker], None]


def plain(count: int) -> Enqueue:
    """Jobs that wait for nothing."""

    def enqueue(store: rc.Store, worker: Worker) -> None:
        for begin in range(0, count, BATCH):
            store.jobs.enqueue_many(TYPE, [PAYLOAD] * min(BATCH, count - begin))

    return enqueue


def chains(count: int, together: bool) -> Enqueue:
    """Chains, as many in a graph as a request holds, or each as a graph of its own."""
    in_a_graph = BATCH // LENGTH if together else 1

    def enqueue(store: rc.Store, worker: Worker) -> None:
        for begin in range(0, count, in_a_graph):
            graph = worker.graph(f"g{begin}")
            for chain in range(min(in_a_graph, count - begin)):
                before = None
                for step in range(LENGTH):
                    before = graph.add(f"{chain}-{step}", TYPE, PAYLOAD, after=before)
            graph.enqueue()

    return enqueue


def fan(count: int) -> Enqueue:
    """Jobs, and one that waits for all of them."""

    def enqueue(store: rc.Store, worker: Worker) -> None:
        store.jobs.enqueue_many(TYPE, [PAYLOAD] * count, then=rc.Node(TYPE, PAYLOAD))

    return enqueue


def run(enqueue: Enqueue, jobs: int, folder: Path) -> tuple[float, float]:
    """Enqueue and run so many jobs. Returns jobs a second, and µs of processor time a job."""
    with rc.Store(folder / f"graphs-{next(_files)}.db", durability="full") as store:
        store.queues.set("default", lifecycle="asynq")
        worker = Worker(store, concurrency=AT_ONCE, batch=AHEAD)
        left = jobs

        @worker.task(TYPE)
        async def noop(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                worker.stop()

        gc.collect()
        used, began = time.process_time(), time.perf_counter()
        enqueue(store, worker)
        worker.run(signals=False)
        elapsed, used = time.perf_counter() - began, time.process_time() - used
        if worker.counts.completed != jobs:
            raise RuntimeError(f"{worker.counts} instead of {jobs} completed")
    return jobs / elapsed, 1e6 * used / jobs


def figure(what: str) -> str:
    """The name of a figure."""
    return f"Worker SQLite full, {what}"


def measure(folder: Path, count: int, width: int, fans: int = 3) -> dict[str, float]:
    """Jobs a second and processor time, by the names that `figure` gives; one round.

    Args:
        folder: For files.
        count: Of chains.
        width: Jobs of a fan, beside the last one.
        fans: How often a fan is run, in turn with plain jobs; the best counts.
    """
    jobs = count * LENGTH
    contestants: list[tuple[str, Enqueue, int]] = [
        ("plain", plain(jobs), jobs),
        ("chains", chains(count, together=True), jobs),
        ("chains one by one", chains(count, together=False), jobs),
    ]
    contestants += [("plain beside the fan", plain(width + 1), width + 1), ("fan", fan(width), width + 1)] * fans
    found: dict[str, float] = {}
    for what, enqueue, number in contestants:
        rate, cpu = run(enqueue, number, folder)
        found = better(found, {figure(what): rate, figure(what) + CPU: cpu})
    return found
