"""A worker in a process of its own: `crash_program.py FILE FOLDER LEASE` writes to the folder which attempts it began and ended."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import resonate_core as rc
from resonate_core.worker import JobContext, Worker

store = rc.Store(sys.argv[1], durability="normal")
folder = Path(sys.argv[2])
worker = Worker(store, lease=int(sys.argv[3]), poll_interval=20, concurrency=2, grace=60_000)


@worker.task("t")
def body(n: int, wait: float, job: JobContext, first: float = 0) -> str:
    """Takes a while, and the first attempt some seconds more."""
    (folder / f"began-{n}-{job.attempt}").touch()
    time.sleep(wait + first * (job.attempt == 1))
    (folder / f"ended-{n}-{job.attempt}").touch()
    return job.worker


if __name__ == "__main__":
    worker.run()
    (folder / "stopped").touch()
