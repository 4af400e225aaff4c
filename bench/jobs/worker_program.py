"""A worker in a process of its own: waits for a line, then runs no-op jobs until it is terminated.

python -m bench.jobs.worker_program FILE DURABILITY THREADS BATCH
"""

from __future__ import annotations

import sys

import resonate_core as rc
from resonate_core.worker import Worker

from .calls import TYPE


def main(file: str, durability: str, threads: int, batch: int) -> None:
    with rc.Store(file, durability="full" if durability == "full" else "normal") as store:
        worker = Worker(store, concurrency=threads, batch=batch)

        @worker.task(TYPE)
        def noop(_: str) -> None:
            pass

        print("ready", flush=True)
        sys.stdin.readline()
        worker.run()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
