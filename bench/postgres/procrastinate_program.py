"""Measures procrastinate, alone: run by the Python that has it, which need not have this package.

    python procrastinate_program.py URL JOBS AT_ONCE PAYLOAD [WORKERS]

So many no-op jobs are deferred in batches of 1,000, then its own workers run them all, each in a process of its own if there are several.
Prints a line of JSON: jobs a second of both parts together, and of the second one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import sys
import time
from multiprocessing.synchronize import Barrier
from typing import Any

from procrastinate import App, PsycopgConnector  # type: ignore[import-not-found, unused-ignore]


def _app(url: str, ran: list[int]) -> tuple[Any, Any]:
    """The app and its task, which counts its runs."""
    app = App(connector=PsycopgConnector(conninfo=url))

    @app.task(name="noop")
    async def noop(text: str) -> None:
        ran[0] += 1

    return app, noop


async def defer(url: str, jobs: int, payload: str) -> None:
    """Make the schema and the jobs."""
    app, noop = _app(url, [0])
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for begin in range(0, jobs, 1000):
            await noop.batch_defer_async(*[{"text": payload}] * min(1000, jobs - begin))


async def work(url: str, at_once: int, ready: Barrier | None = None) -> int:
    """Run jobs until there are none; return how many it ran."""
    ran = [0]
    app, _ = _app(url, ran)
    async with app.open_async():
        if ready is not None:
            await asyncio.to_thread(ready.wait)
        await app.run_worker_async(wait=False, concurrency=at_once, install_signal_handlers=False, delete_jobs="always")
    return ran[0]


def one_of_several(url: str, at_once: int, ready: Barrier, counts: Any) -> None:
    """A worker in its own process."""
    logging.disable()
    counts.put(asyncio.run(work(url, at_once, ready)))


def main(url: str, jobs: int, at_once: int, payload: str, workers: int) -> dict[str, float]:
    """The rates."""
    logging.disable()
    began = time.perf_counter()
    asyncio.run(defer(url, jobs, payload))
    deferred = time.perf_counter() - began
    if workers == 1:
        began = time.perf_counter()
        ran = asyncio.run(work(url, at_once))
    else:
        context = multiprocessing.get_context("spawn")
        ready, counts = context.Barrier(workers + 1), context.Queue()
        running = [context.Process(target=one_of_several, args=(url, at_once, ready, counts)) for _ in range(workers)]
        for one in running:
            one.start()
        ready.wait()
        began = time.perf_counter()
        ran = sum(counts.get() for _ in running)
    worked = time.perf_counter() - began
    if ran != jobs:
        raise RuntimeError(f"{ran} of {jobs} jobs ran")
    return {"rate": jobs / (deferred + worked), "worked": jobs / worked}


if __name__ == "__main__":
    print(
        json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]) if len(sys.argv) > 5 else 1))
    )
