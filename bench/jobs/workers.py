"""End to end through `Worker`: jobs are enqueued, then a worker runs them all; the time is that of both, until the last completion."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import resonate_core as rc
from resonate_core.worker import Worker

from ..stopwatch import Body
from .calls import STORES, TYPE, enqueue_all, open_store
from .timed import timed

#: How many jobs are enqueued in a transaction, and how many a worker claims beside those that can run at once.
WAYS = {"single": (1, 0), "batched": (1000, 200)}
#: Who runs them: threads of one worker, so many at once in its event loop, or processes with a worker each.
SETS = ("1 thread", "4 threads", "100 threads", "100 in the loop", "4 processes")
#: Threads of each of the processes.
THREADS = {"single": 1, "batched": 100}
_PATIENCE = 300.0
_ROOT = Path(__file__).parents[2]


def figure(stored: str, way: str, who: str) -> str:
    """The name of a figure."""
    return f"Worker {stored}, {way}, {who}"


def _jobs(stored: str, way: str) -> int:
    """So many that a round takes about a second."""
    if way == "batched":
        return 20_000
    return {"memory": 5_000, "SQLite normal": 3_000, "SQLite full": 500}[stored]


def _handler(worker: Worker, jobs: int, loop: bool) -> None:
    """Gives the worker its no-op, which stops it after so many."""
    left = [jobs]
    lock = threading.Lock()

    def count() -> None:
        with lock:
            left[0] -= 1
            if left[0] == 0:
                worker.stop()

    if loop:

        @worker.task(TYPE)
        async def noop(_: str) -> None:
            count()

    else:

        @worker.task(TYPE)
        def noop(_: str) -> None:
            count()


def in_this_process(stored: str, way: str, who: str, folder: Path) -> Body:
    """One worker, in the process that enqueues, as huey's consumer is in its bench."""
    return run_all(open_store(stored, folder), _jobs(stored, way), way, who)


def run_all(store: rc.Store, jobs: int, way: str, who: str) -> Body:
    """Prepare one worker; the body enqueues so many jobs, and the worker runs them."""
    size, batch = WAYS[way]
    worker = Worker(store, concurrency=int(who.split()[0]), batch=batch)
    _handler(worker, jobs, loop=who.endswith("loop"))

    def body() -> int:
        enqueue_all(store, jobs, size)
        worker.run(signals=False)
        if worker.counts.completed != jobs:
            raise RuntimeError(f"{worker.counts} instead of {jobs} completed")
        return jobs

    return body


def in_processes(stored: str, way: str, count: int, folder: Path) -> float:
    """Jobs a second of workers in processes of their own, on one file; they have started before the time does."""
    store, jobs = open_store(stored, folder), _jobs(stored, way)
    with _running(store, stored, way, count) as begin:
        start = time.perf_counter()
        enqueue_all(store, jobs, WAYS[way][0])
        begin()
        while (left := sum(store.queues.stats("default")[0]["counts"].values())) > 0:
            if time.perf_counter() > start + _PATIENCE:
                raise RuntimeError(f"{left} of {jobs} jobs are left")
            time.sleep(0.005)
        return jobs / (time.perf_counter() - start)


@contextlib.contextmanager
def _running(store: rc.Store, stored: str, way: str, count: int) -> Iterator[Callable[[], None]]:
    """Worker processes that wait for the word to begin, which is what is given."""
    options = [str(store.path), stored.split()[1], str(THREADS[way]), str(WAYS[way][1])]
    command = [sys.executable, "-m", "bench.jobs.worker_program", *options]
    processes = [
        subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]

    def begin() -> None:
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()

    try:
        for process in processes:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError(f"a worker process ended with {process.wait()}")
        yield begin
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.communicate(timeout=_PATIENCE)


def measure(folder: Path) -> dict[str, float]:
    """Jobs a second, by the names that `figure` gives, and processor time of those in this process; one round."""
    found = timed(
        {
            figure(stored, way, who): lambda stored=stored, way=way, who=who: in_this_process(stored, way, who, folder)
            for stored in STORES
            for way in WAYS
            for who in SETS
            if not who.endswith("processes")
        }
    )
    for stored in STORES:
        if stored != "memory":
            found |= {figure(stored, way, "4 processes"): in_processes(stored, way, 4, folder) for way in WAYS}
    for stored in STORES:
        for way in WAYS:
            every = [found[figure(stored, way, who)] for who in SETS if figure(stored, way, who) in found]
            found[figure(stored, way, "best")] = max(every)
    return found
