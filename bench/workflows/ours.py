"""Workflows of five steps through `Worker`, and as many plain jobs as steps; the time from the first enqueue to the last completion."""

from __future__ import annotations

import gc
import os
import resource
import threading
import time
from datetime import timedelta

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import History, replay as workflow_replay, run, sleep, step

STEPS = 5
#: Workflows that run at once.
AT_ONCE = 16
_MOST = 1000


@step
async def add(number: int) -> int:
    """One step."""
    return number + 1


def _add(number: int) -> int:
    return number + 1


def _worker(store: rc.Store, jobs: int, threads: bool) -> Worker:
    worker = Worker(store, concurrency=AT_ONCE, batch=200)
    left, lock = [jobs], threading.Lock()

    def count() -> None:
        with lock:
            left[0] -= 1
            if left[0] == 0:
                worker.stop()

    if threads:

        @worker.workflow("steps")
        def steps(number: int) -> int:
            for _ in range(STEPS):
                number = _threaded(number)
            count()
            return number

        @worker.task("plain")
        def plain(number: int) -> int:
            count()
            return number + 1

    else:

        @worker.workflow("steps")
        async def steps_in_the_loop(number: int) -> int:
            for _ in range(STEPS):
                number = await add(number)
            count()
            return number

        @worker.task("plain")
        async def plain_in_the_loop(number: int) -> int:
            count()
            return number + 1

    return worker


_threaded = step(_add)


def rate(store: rc.Store, kind: str, jobs: int, threads: bool) -> tuple[float, float]:
    """Enqueue and run so many jobs of a kind. Returns jobs a second, and µs of processor time a job."""
    worker = _worker(store, jobs, threads)
    gc.collect()
    used, began = time.process_time(), time.perf_counter()
    for begin in range(0, jobs, _MOST):
        worker.tasks[kind].enqueue_many([{"number": each} for each in range(min(_MOST, jobs - begin))])
    worker.run(signals=False)
    elapsed, used = time.perf_counter() - began, time.process_time() - used
    if worker.counts.completed != jobs:
        raise RuntimeError(f"{worker.counts} instead of {jobs} completed")
    return jobs / elapsed, 1e6 * used / jobs


def replay(store: rc.Store, records: int) -> tuple[float, float]:
    """Returns the seconds of a replay of so many records, which it reads first, and those of reading and decoding them.

    A claim and a suspension around it would cost two commits, however many records there are.
    """
    worker = Worker(store)

    @worker.workflow("long")
    async def long() -> int:
        number = 0
        for _ in range(records):
            number = await add(number)
        await sleep(timedelta(days=1))
        return number

    long.using(id="long").delay()
    worker.run_until_idle()
    spent: list[float] = []
    read: list[float] = []
    for _ in range(9):  # in turn
        began = time.process_time()
        found = sum(record.value.json() is not None for record in History.of(store, "long").records if record.state == "resolved")
        read.append(time.process_time() - began)
        if found != records:
            raise RuntimeError(f"{found} instead of {records} records")
        began = time.process_time()
        replayed = workflow_replay(long, History.of(store, "long"))
        spent.append(time.process_time() - began)
        if replayed.outcome != "waits":
            raise RuntimeError(f"the replay {replayed}")
    store.jobs.cancel("long")
    return min(spent), min(read)


def sleeping(store: rc.Store, workflows: int, seconds: float) -> tuple[float, float, float]:
    """Returns what sleeping workflows cost their worker.

    Returns:
        Bytes of the process for each of the last half, when as many are parked and as many rows cached as ever will be; MB of the whole
        process at the end; and the part of a core that the worker takes beside all of them.
    """
    worker = Worker(store, concurrency=100, batch=200)

    @worker.workflow("sleeper")
    async def sleeper() -> None:
        await run(int)
        await sleep(timedelta(days=1))

    for begin in range(0, workflows, _MOST):
        sleeper.enqueue_many([None] * min(_MOST, workflows - begin))
    with worker:

        def size_behind(suspended: int) -> int:
            # A heartbeat that overtakes the answer to a suspension finds that the worker does not hold the job any more: counted as lost.
            while worker.counts.suspended + worker.counts.lost < suspended:
                time.sleep(0.05)
            return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        before, after = size_behind(workflows // 2), size_behind(workflows)
        used = time.process_time()
        time.sleep(seconds)
        used = time.process_time() - used
    return (after - before) / (workflows - workflows // 2), after / 1e6, used / seconds


def cores() -> int:
    """The number of processors."""
    return os.cpu_count() or 1
