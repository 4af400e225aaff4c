"""Measures how much several processes write together: beside each other (decision 51), or one commit at a time (decision 18).

    PYTHONPATH=tests python -m bench.postgres.writers [--seconds 5] [--processes 1 2 4 8] [--threads 16] [--latency 0 1] [--writers auto]
        [--stores 1]

Processes with some threads each create promises one by one in one database, through a relay that delays each direction by half of the
latency, as a network does. It prints promises per second of all together, and how long a create took. With --stores the threads of a
process share so many stores, each with a connection of its own (decision 56).
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import statistics
import sys
import threading
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import resonate_core as rc

from ..processors import BusyShare
from .relay import relayed
from .urls import with_writers

sys.path.append(str(Path(__file__).parents[2] / "tests"))

_WARM_UP = 1.0


def write(url: str, name: str, threads: int, stores: int, seconds: float, barrier: Barrier, found: Any) -> None:
    """Creates promises from so many threads; puts the times of the creates, in seconds, into the queue."""
    times: list[list[float]] = [[] for _ in range(threads)]
    with contextlib.ExitStack() as opened:
        of_threads = [opened.enter_context(rc.Store(url, busy_timeout=60_000)) for _ in range(stores)]
        barrier.wait()
        begin = time.perf_counter()

        def create(thread: int) -> None:
            number, before = 0, begin
            store = of_threads[thread % stores]
            while before < begin + _WARM_UP + seconds:
                store.promises.create(f"{name}-{thread}-{number}", timeout=86_400_000, param="x" * 32)
                number, now = number + 1, time.perf_counter()
                if before >= begin + _WARM_UP:
                    times[thread].append(now - before)
                before = now

        running = [threading.Thread(target=create, args=(thread,)) for thread in range(threads)]
        for one in running:
            one.start()
        for one in running:
            one.join()
    found.put([took for each in times for took in each])


def measure(server: Any, database: str, latency: float, processes: int, given: argparse.Namespace) -> list[str]:
    """One row of the table."""
    server.create_database(database)
    url = server.url(database)
    rc.Store(url).close()
    context = multiprocessing.get_context("spawn")
    with relayed(url, latency) if latency else contextlib.nullcontext(url) as relayed_url:
        used = with_writers(relayed_url, given.writers)
        barrier, found = context.Barrier(processes + 1), context.Queue()
        writers = [
            context.Process(target=write, args=(used, f"w{number}", given.threads, given.stores, given.seconds, barrier, found))
            for number in range(processes)
        ]
        for one in writers:
            one.start()
        barrier.wait()
        time.sleep(_WARM_UP)
        processors = BusyShare()
        time.sleep(given.seconds)
        busy = processors.percent()
        times = sorted(took for _ in writers for took in found.get())
        for one in writers:
            one.join()
    p99 = times[int(len(times) * 0.99)]
    return [
        f"{latency:g} ms",
        str(processes),
        f"{len(times) / given.seconds:,.0f}",
        f"{1e3 * statistics.median(times):.1f}",
        f"{1e3 * p99:.1f}",
        f"{busy:.0f} %",
    ]


def main() -> int:
    """Measures each combination and prints a table in Markdown."""
    import postgres_server

    parser = argparse.ArgumentParser(prog="python -m bench.postgres.writers", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement, after a second of warming up (default 5)")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8], help="how many write (default 1 2 4 8)")
    parser.add_argument("--threads", type=int, default=16, help="of each process (default 16)")
    parser.add_argument("--stores", type=int, default=1, help="that the threads of a process share (default 1)")
    parser.add_argument("--latency", type=float, nargs="+", default=[0, 1], help="of a round trip, in ms (default 0 1)")
    parser.add_argument(
        "--writers", default="auto", help="whether they write beside each other: auto, shared, alone (default auto)"
    )
    given = parser.parse_args()
    columns = ["latency of the network", "processes", "creates/s of all", "a create, median ms", "p99 ms", "processors busy"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    with postgres_server.running(durable=True) as server:
        for latency in given.latency:
            for processes in given.processes:
                print(
                    "|",
                    " | ".join(measure(server, f"w{latency:g}x{processes}".replace(".", "_"), latency, processes, given)),
                    "|",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
