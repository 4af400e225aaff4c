"""A worker in a process of its own: `event_program.py <file> <role>`. The `victim` hangs in its job; the `teller` prints events."""

from __future__ import annotations

import sys
import time

import resonate_core as rc
from resonate_core.worker import JobEvent, Worker

path, role = sys.argv[1:]
worker = Worker(rc.Store(path, durability="normal"), name=role, lease=1_000, poll_interval=50)


@worker.task("t")
def body() -> None:
    if role == "victim":
        print("began", flush=True)
        time.sleep(600)


if role == "teller":

    def tell(event: JobEvent) -> None:
        print(event.kind, event.job.id, event.reason, event.worker, event.job.state, flush=True)

    worker.on_retry(tell)
    worker.on_failure(tell)

if __name__ == "__main__":
    worker.run()
