"""One of several processes whose threads run the jobs of one store, until a file named "stop" exists or the process is killed.

    worker_process.py STORE FOLDER NAME SEED THREADS

A store in PostgreSQL may be unavailable for a while: a worker then leaves its jobs to their leases, and continues.

Each thread writes a line to FOLDER/NAME for each thing that it does, in one write, before it continues. So a kill loses no line
about work that was done before.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from pathlib import Path

import resonate_core as rc

LEASE = 1_500
QUEUES = {"steps": 3, "quick": 2, "narrow": 1}
"""The queues of the test, and their weights."""


class Log:
    """A log whose lines are in the file when `write` returns."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


class Loop:
    """Claims, starts and ends jobs; some of them fail."""

    def __init__(self, store: rc.Store, log: Log, name: str, seed: int) -> None:
        self.store = store
        self.log = log
        self.name = name
        self.chance = random.Random(seed)

    def run(self, stop: Path, excused: tuple[type[Exception], ...]) -> None:
        while not stop.exists():
            try:
                self.some(self.chance.choice((1, 1, 2, 6)))
            except excused:
                time.sleep(0.05)

    def some(self, count: int) -> None:
        """Claims jobs and runs them."""
        jobs = self.store.jobs.claim(QUEUES, count, worker=self.name, lease=LEASE, strict=self.chance.random() < 0.1)
        for job in jobs:
            self.log.write("claimed", job.id, job.version, self.name)
        held = list(jobs)
        while held:
            job = held.pop(0)
            self.one(job)
            if held and self.chance.random() < 0.5:
                self.store.jobs.heartbeat(self.name, [(other.id, other.version) for other in held])
        if not jobs:
            time.sleep(0.01)

    def one(self, job: rc.Job) -> None:
        """Runs one attempt. If the worker has lost the job meanwhile, its requests are refused and it stops."""
        try:
            if job.state == "claimed":
                if self.chance.random() < 0.05:
                    self.store.jobs.release(job.id, job.version)
                    return
                self.store.jobs.start(job.id, job.version)
            self.log.write("running", job.id, job.version, self.name)
            time.sleep(self.chance.expovariate(1 / 0.004))
            self.end(job)
        except (rc.Conflict, rc.NotFound) as refused:
            self.log.write("refused", job.id, job.version, self.name, type(refused).__name__)

    def end(self, job: rc.Job) -> None:
        luck = self.chance.random()
        if luck < 0.10:
            self.store.jobs.fail(job.id, job.version, "Unlucky", "by chance")
        elif luck < 0.13:
            self.store.jobs.snooze(job.id, job.version, self.chance.randrange(30))
        else:
            self.log.write("completing", job.id, job.version, self.name)
            self.store.jobs.complete(job.id, job.version, self.name)
            self.log.write("completed", job.id, job.version, self.name)


def opened(path: str, excused: tuple[type[Exception], ...]) -> rc.Store:
    """Opens the store, as often as it is unavailable."""
    while True:
        try:
            return rc.Store(path, durability="full" if excused else "normal", busy_timeout=60_000)
        except excused:
            time.sleep(0.05)


def main() -> None:
    path, folder, name, seed, threads = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    excused = (rc.StoreError,) if "--faults" in sys.argv else ()
    store = opened(path, excused)
    log = Log(folder / name)
    loops = [Loop(store, log, f"{name}/{n}", seed * 100 + n) for n in range(threads)]
    failed: list[BaseException] = []

    def run(loop: Loop) -> None:
        try:
            loop.run(folder / "stop", excused)
        except BaseException as error:
            failed.append(error)
            raise

    running = [threading.Thread(target=run, args=(loop,)) for loop in loops]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    store.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
