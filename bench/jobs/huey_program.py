"""Measures huey on SQLite, alone: run by the Python that has huey, which need not have this package.

    python huey_program.py FILE JOBS THREADS SYNCHRONOUS PAYLOAD

So many no-op tasks are enqueued one by one (huey has no other way), then its own consumer runs them all with threads. Prints a line
of JSON: tasks a second of both, and µs of processor time a task. SYNCHRONOUS is SQLite's own word, normal or full: huey itself only
knows full and off.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time

from huey import SqliteHuey  # type: ignore[import-not-found, unused-ignore]


def main(file: str, jobs: int, threads: int, synchronous: str, payload: str) -> dict[str, float]:
    logging.disable()
    # immediate=True would run a task where it is enqueued
    huey = SqliteHuey(filename=file, immediate=False)
    huey.storage.conn.execute(f"pragma synchronous={synchronous}")  # the one connection that all its threads share
    done = threading.Event()
    left = [jobs]
    lock = threading.Lock()

    @huey.task()
    def noop(_: str) -> None:
        with lock:
            left[0] -= 1
            if left[0] == 0:
                done.set()

    used = time.process_time()
    began = time.perf_counter()
    for _ in range(jobs):
        noop(payload)
    enqueued = time.perf_counter() - began

    consumer = huey.create_consumer(workers=threads, worker_type="thread", periodic=False)
    began = time.perf_counter()
    consumer.start()
    done.wait()
    drained = time.perf_counter() - began
    used = time.process_time() - used
    consumer.stop(graceful=True)
    return {"enqueue": jobs / enqueued, "drain": jobs / drained, "cpu us": 1e6 * used / jobs}


if __name__ == "__main__":
    found = main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
    print(json.dumps(found))
