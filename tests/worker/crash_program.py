"""A worker in a process of its own: `crash_program.py <file> <folder>` writes to the folder which attempts it began and ended."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import resonate_core as rc
from resonate_core.worker import JobContext, Worker

store = rc.Store(sys.argv[1], durability="normal")
folder = Path(sys.argv[2])
worker = Worker(store, lease=4_000, poll_interval=20, concurrency=2, grace=60_000)


@worker.task("t")
def body(n: int, wait: float, job: JobContext) -> str:
    """Takes a while."""
    (folder / f"began-{n}-{job.attempt}").touch()
    time.sleep(wait)
    (folder / f"ended-{n}-{job.attempt}").touch()
    return job.worker


if __name__ == "__main__":
    worker.run()
    (folder / "stopped").touch()
