"""Measures Celery canvas on Redis, alone: run by the Python that has Celery, which need not have this package.

    python celery_program.py REDIS PROCESS POOL CONCURRENCY CHAINS LENGTH WIDTH PAYLOAD

REDIS is an address, and PROCESS the process of that Redis. A worker is started and warmed up. Then chains are sent one after the other
(Celery has no other way), and the worker runs them meanwhile; then a chord. Prints a line of JSON: jobs a second of both, and µs of
processor time a job of this program, the worker and Redis together.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def _family(pid: int) -> list[int]:
    """A process and those that it has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in _family(int(child)))]


def _used(pids: list[int]) -> float:
    """Seconds of processor time."""
    rows = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids]
    return sum(int(row[11]) + int(row[12]) for row in rows) / os.sysconf("SC_CLK_TCK")


def main(
    address: str, redis: int, pool: str, concurrency: str, count: int, length: int, width: int, payload: str
) -> dict[str, float]:
    os.environ["BENCH_REDIS"] = address
    import celery_app  # type: ignore[import-not-found, unused-ignore]
    from celery import chain, chord  # type: ignore[import-not-found, unused-ignore]

    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "CRITICAL"]
    command = [sys.executable, "-m", "celery", "-A", "celery_app", "worker", "--pool", pool, "--concurrency", concurrency, *quiet]
    worker = subprocess.Popen(
        command, cwd=Path(__file__).parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    found: dict[str, float] = {}

    def chains(number: int) -> None:
        for _ in range(number):
            steps = [celery_app.step.si(payload) for _ in range(length - 1)]
            chain(*steps, celery_app.last.si(payload)).apply_async()

    def fan(_: int) -> None:
        chord([celery_app.part.si(payload) for _ in range(width)])(celery_app.last.si(payload))

    def measured(what: str, send: Callable[[int], None], number: int, jobs: int) -> None:
        pids = [*_family(worker.pid), redis, os.getpid()]
        used, began = _used(pids), time.perf_counter()
        send(number)
        for _ in range(number):
            if celery_app.ended.blpop("ended", timeout=300) is None:
                raise RuntimeError(f"Celery has not ended its {what}")
        found[what], used = jobs / (time.perf_counter() - began), _used(pids) - used
        found[f"{what} cpu us"] = 1e6 * used / jobs

    try:
        measured("warm-up", chains, 5, 5 * length)
        measured("chains", chains, count, count * length)
        if width:
            measured("fan", fan, 1, width + 1)
    finally:
        worker.terminate()
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
    return found


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[5:8]]
    print(
        json.dumps(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], numbers[0], numbers[1], numbers[2], sys.argv[8]))
    )
