"""Measures a fleet of workers on one database: what an enqueued job costs it while it is idle, when the job starts, and jobs/s.

    PYTHONPATH=tests python -m bench.postgres.fleet [--workers 48] [--processes 4] [--rate 20] [--seconds 20] [--latency 1] [--idle 10]
    PYTHONPATH=tests python -m bench.postgres.fleet --busy 1 4 16 48 [--snapshot] [--seconds 20] [--latency 1] [--writers auto]

Each worker has a store of its own, so connections of its own; some processes hold the workers. One more process enqueues jobs one by
one, at a rate. All connections pass a relay that adds the latency of a network. "Idle" is the processor time of the database server
while nothing is enqueued.

With --busy the workers of each fleet have a backlog, which another process fills a hundred jobs at a time. --snapshot measures each
fleet a second time, while another client keeps a snapshot open, as pg_dump does. --peers measures River and procrastinate, too: so many
clients of each run a backlog to which no program adds meanwhile, each with four jobs at once.

Compare two builds on the same machine at the same time of day: other work on it is in all figures.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.worker.store_client import StoreClient

from ..processors import BusyShare
from ..report import machine
from . import workers as peers
from .relay import relayed
from .urls import with_writers

sys.path.append(str(Path(__file__).parents[2] / "tests"))

_TYPE = "fleet"
_FILLED = 100  # jobs that are enqueued together
_BACKLOG = 500
_AT_ONCE = 4  # jobs of a worker
#: Jobs of one client of a peer; four clients and more have four times as many.
PEER_JOBS = {"river": 5_000, "procrastinate": 500}


def work(url: str, workers: int, barrier: Barrier, ended: Event, found: Any, count: Any = None) -> None:
    """Runs workers until the event is set.

    It counts the jobs in the value, and puts two lists: when each job started, in s after it was made; when each exchange with the
    store ended, and how long it took, in s.
    """
    times: list[float] = []
    exchanges: list[tuple[float, float]] = []
    StoreClient.exchange = _timed(StoreClient.exchange, exchanges)  # type: ignore[method-assign]

    async def run() -> None:
        running = []
        for _ in range(workers):
            worker = Worker(rc.Store(url, busy_timeout=60_000), concurrency=_AT_ONCE)

            @worker.task(_TYPE)
            async def start(made: float) -> None:
                times.append(time.time() - made)
                if count is not None:
                    count.value += 1

            running.append(worker)
        tasks = [asyncio.create_task(worker.serve()) for worker in running]
        await asyncio.to_thread(barrier.wait)
        await asyncio.to_thread(ended.wait)
        for worker in running:
            worker.stop()
        await asyncio.gather(*tasks)

    asyncio.run(run())
    found.put((times, exchanges))


def _timed(call: Callable[..., Any], times: list[tuple[float, float]]) -> Callable[..., Any]:
    """The same call, which adds when it ended and how long it took to the list."""

    def timed(*arguments: Any) -> Any:
        begin = time.perf_counter()
        answer = call(*arguments)
        end = time.perf_counter()
        times.append((end, end - begin))
        return answer

    return timed


def _database(server: Any, name: str) -> str:
    """The URL of a new database with a store."""
    server.create_database(name)
    url: str = server.url(name)
    with rc.Store(url) as store:
        store.queues.set("default", lifecycle="asynq")
    return url


def _shares(workers: int, processes: int) -> list[int]:
    """How many of the workers each process has."""
    return [workers // processes + (number < workers % processes) for number in range(processes)]


def _processor_time(server: Any) -> float:
    """Of all processes of the server that run now, in s."""
    leader = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    total = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(folder.name) == leader or int(fields[1]) == leader:
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def _locks(server: Any) -> int:
    """How often a transaction has asked for the write lock, as far as sessions have reported it."""
    reads = "SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'write_lock'"
    return int(server.execute(reads, "fleet")[0][0])


def _quantile(times: list[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(part * len(times)))]


def measure(server: Any, given: argparse.Namespace) -> dict[str, float]:
    """The figures of one fleet."""
    url = _database(server, "fleet")
    context = multiprocessing.get_context("spawn")
    with relayed(url, given.latency) as plain_url:
        relayed_url = with_writers(plain_url, given.writers)
        barrier, ended, found = context.Barrier(given.processes + 1), context.Event(), context.Queue()
        shares = _shares(given.workers, given.processes)
        fleet = [context.Process(target=work, args=(relayed_url, share, barrier, ended, found)) for share in shares]
        for one in fleet:
            one.start()
        barrier.wait()
        time.sleep(given.settle)
        before = _processor_time(server)
        time.sleep(given.idle)
        idle = (_processor_time(server) - before) / given.idle if given.idle else 0.0
        enqueues: list[float] = []
        with rc.Store(relayed_url, busy_timeout=60_000) as store:
            store.jobs.enqueue(_TYPE, time.time())
            begin, jobs = time.perf_counter(), 0
            locks = _locks(server)
            before = _processor_time(server)
            while time.perf_counter() < begin + given.seconds:
                now = time.perf_counter()
                store.jobs.enqueue(_TYPE, time.time())
                enqueues.append(time.perf_counter() - now)
                jobs += 1
                time.sleep(max(0.0, begin + jobs / given.rate - time.perf_counter()))
            took = time.perf_counter() - begin
            busy = (_processor_time(server) - before) / took
            left = time.monotonic() + given.patience
            while store.queues.stats()[0]["counts"]["pending"] and time.monotonic() < left:
                time.sleep(0.2)
            time.sleep(2)  # sessions report once a second
            locks = _locks(server) - locks
        ended.set()
        times = [one for _ in fleet for one in found.get()[0]]
        for one in fleet:
            one.join()
    return {
        "jobs/s enqueued": jobs / took,
        "enqueue p50, ms": 1e3 * statistics.median(enqueues),
        "start p50, ms": 1e3 * statistics.median(times),
        "start p99, ms": 1e3 * _quantile(times, 0.99),
        "jobs started, of all": len(times) / (jobs + 1),
        "locks for a job": locks / jobs,
        "server, cores while jobs come": busy,
        "server, cores idle": idle,
    }


def fill(url: str, counts: list[Any], barrier: Barrier, ended: Event) -> None:
    """Keeps some hundred jobs in the queue until the event is set."""
    with rc.Store(url, busy_timeout=60_000) as store:
        store.jobs.enqueue_many(_TYPE, [time.time()] * _FILLED)
        barrier.wait()
        filled = _FILLED
        while not ended.is_set():
            if filled - sum(count.value for count in counts) < _BACKLOG:
                store.jobs.enqueue_many(_TYPE, [time.time()] * _FILLED)
                filled += _FILLED
            else:
                time.sleep(0.002)


def measure_busy(server: Any, workers: int, given: argparse.Namespace) -> list[str]:
    """Jobs/s of so many workers with a backlog, how busy the processors were, and how long the half of all exchanges took at most.

    With --snapshot, also while a snapshot is open.
    """
    import libpq

    url = _database(server, f"busy{workers}")
    context = multiprocessing.get_context("spawn")
    processes = min(given.processes, workers)
    with relayed(url, given.latency) as plain_url:
        relayed_url = with_writers(plain_url, given.writers)
        barrier, ended, found = context.Barrier(processes + 2), context.Event(), context.Queue()
        counts = [context.RawValue("q", 0) for _ in range(processes)]  # each has one writer, the loop of its process
        fleet = [
            context.Process(target=work, args=(relayed_url, share, barrier, ended, found, count))
            for share, count in zip(_shares(workers, processes), counts, strict=True)
        ]
        filler = context.Process(target=fill, args=(relayed_url, counts, barrier, ended))
        for one in (*fleet, filler):
            one.start()
        barrier.wait()

        def rate() -> tuple[str, float, float]:
            time.sleep(given.settle)
            before, begin, processors = sum(count.value for count in counts), time.perf_counter(), BusyShare()
            time.sleep(given.seconds)
            end = time.perf_counter()
            jobs = float(sum(count.value for count in counts) - before) / (end - begin)
            return f"{jobs:.0f} ({processors.percent():.0f} %", begin, end

        rates = [rate()]
        if given.snapshot:
            with libpq.Connection(url) as other:
                other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
                rates.append(rate())
                other.execute("ROLLBACK")
        ended.set()
        exchanges = [one for _ in fleet for one in found.get()[1]]
        for one in (*fleet, filler):
            one.join()
    return [
        f"{shown}, {1e3 * statistics.median(took for at, took in exchanges if begin <= at <= end):.1f} ms)"
        for shown, begin, end in rates
    ]


def measure_peers(server: Any, clients: int, given: argparse.Namespace, river: Path | str) -> list[str]:
    """Return the jobs/s of River and of procrastinate, each with this number of clients, as cells of a table.

    A peer that cannot be measured has the cell "-".
    """
    cells = []
    for name, program in (("river", river), ("procrastinate", given.procrastinate_python)):
        database = f"{name}{clients}"
        server.create_database(database)
        with relayed(server.url(database), given.latency) as url:
            jobs = PEER_JOBS[name] * min(clients, 4)
            if isinstance(program, str) or program is None:
                cells.append("-")
            elif name == "river":
                cells.append(f"{peers.river(program, url, jobs, _AT_ONCE, clients)['worked']:.0f}")
            else:
                found = peers.procrastinate(program, url, jobs, _AT_ONCE, clients)
                cells.append("-" if isinstance(found, str) else f"{found['worked']:.0f}")
    return cells


def main() -> int:
    """Measures a fleet and prints a table in Markdown."""
    import postgres_server

    parser = argparse.ArgumentParser(prog="python -m bench.postgres.fleet", description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=48, help="idle workers (default 48)")
    parser.add_argument("--processes", type=int, default=4, help="that hold the workers (default 4)")
    parser.add_argument("--rate", type=float, default=20, help="jobs a second that are enqueued one by one (default 20)")
    parser.add_argument("--seconds", type=float, default=20, help="for which jobs are enqueued (default 20)")
    parser.add_argument("--latency", type=float, default=1, help="of a round trip, in ms (default 1)")
    parser.add_argument("--settle", type=float, default=5, help="seconds before the idle fleet is measured (default 5)")
    parser.add_argument("--idle", type=float, default=10, help="seconds for which the idle fleet is measured (default 10)")
    parser.add_argument("--patience", type=float, default=60, help="seconds to wait for the last jobs (default 60)")
    parser.add_argument("--busy", type=int, nargs="+", default=[], help="measure fleets of so many workers with a backlog instead")
    parser.add_argument("--snapshot", action="store_true", help="with --busy: also while another client keeps a snapshot open")
    parser.add_argument(
        "--writers", default="auto", help="whether processes write beside each other: auto, shared, alone (default auto)"
    )
    parser.add_argument("--peers", action="store_true", help="with --busy: River and procrastinate, too")
    parser.add_argument("--procrastinate-python", type=Path, help="a Python that has procrastinate; none: it is not measured")
    given = parser.parse_args()
    settings = {"max_connections": str(20 + 6 * max([given.workers, *given.busy]))}
    with postgres_server.running(durable=True, settings=settings) as server:
        if given.busy:
            print(machine())
            print(
                f"{given.latency:g} ms a round trip, at most {given.processes} processes, load {os.getloadavg()[0]:.1f} at the begin"
            )
            with tempfile.TemporaryDirectory() as folder:
                river = peers.build_river(Path(folder)) if given.peers else "not asked for"
                print("| workers | jobs/s (processors busy, median exchange) | with an open snapshot | River | procrastinate |")
                print("|---|---|---|---|---|")
                for count in given.busy:
                    cells = measure_busy(server, count, given)
                    cells += [] if given.snapshot else ["-"]
                    cells += measure_peers(server, count, given, river) if given.peers else ["-", "-"]
                    print(f"| {count} | {' | '.join(cells)} |", flush=True)
            return 0
        found = measure(server, given)
    print(machine())
    print(f"{given.workers} workers in {given.processes} processes, {given.rate:g} jobs/s, {given.latency:g} ms a round trip")
    print("| figure | value |\n|---|---|")
    for name, value in found.items():
        print(f"| {name} | {value:.3g} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
