"""The typed calls: enqueue, claim and complete, one by one and in batches, in memory and in SQLite files.

Queues have the lifecycle `asynq`: a job runs from its claim on and is gone when it is completed, as in huey and asynq.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import resonate_core as rc

from ..stopwatch import Body
from .timed import better, timed

PAYLOAD = "eyJza3UiOiJ0ZWEiLCJjb3VudCI6Mn0="  # 32 characters, here and on every other side
TYPE = "noop"
LEASE = 60_000
BATCHES = (1, 100, 1000)
STORES = ("memory", "SQLite normal", "SQLite full")
#: In memory a round consists of this many short ones: on a shared machine no process has a core for long.
BURSTS = 15
_files = itertools.count()


def jobs_of_a_round(stored: str, batch: int) -> int:
    """So many that a round takes about a second, and a burst some ms; a commit of SQLite full takes most of a ms."""
    if stored == "memory":
        return 2_000 if batch == 1 else 5_000
    if stored == "SQLite normal":
        return 4_000 if batch == 1 else 50_000
    return 1_000 if batch == 1 else 20_000


def open_store(stored: str, folder: Path) -> rc.Store:
    """A fresh store with a queue that is worked off as asynq does."""
    if stored == "memory":
        store = rc.Store()
    else:
        store = rc.Store(folder / f"jobs-{next(_files)}.db", durability="full" if stored == "SQLite full" else "normal")
    store.queues.set("default", lifecycle="asynq")
    return store


def fill(store: rc.Store, count: int, size: int = 10_000) -> None:
    """Puts jobs into the queue, quickly."""
    for begin in range(0, count, size):
        store.jobs.enqueue_many(TYPE, [PAYLOAD] * min(size, count - begin))


def enqueue_all(store: rc.Store, count: int, batch: int) -> None:
    """Enqueues so many, so many in a transaction."""
    if batch == 1:
        enqueue = store.jobs.enqueue
        for _ in range(count):
            enqueue(TYPE, PAYLOAD)
        return
    enqueue_many, payloads = store.jobs.enqueue_many, [PAYLOAD] * batch
    for _ in range(count // batch):
        enqueue_many(TYPE, payloads)


def work_off(store: rc.Store, count: int, batch: int) -> int:
    """Claims and completes so many, so many at once. Returns how many those were."""
    claim, done = store.jobs.claim, 0
    if batch == 1:
        complete = store.jobs.complete
        while done < count:
            for job in claim("default", 1, worker="w", lease=LEASE):
                complete(job.id, job.version)
            done += 1
        return done
    complete_many = store.jobs.complete_many
    while done < count:
        claimed = claim("default", batch, worker="w", lease=LEASE)
        done += len(complete_many([(job.id, job.version, None) for job in claimed]))
    return done


def enqueues(stored: str, batch: int, folder: Path) -> Body:
    store, count = open_store(stored, folder), jobs_of_a_round(stored, batch)

    def body() -> int:
        enqueue_all(store, count, batch)
        return count

    return body


def workings(stored: str, batch: int, folder: Path) -> Body:
    store, count = open_store(stored, folder), jobs_of_a_round(stored, batch)
    fill(store, count)
    return lambda: work_off(store, count, batch)


def cycles(stored: str, batch: int, folder: Path) -> Body:
    """Enqueue, claim and complete in turn: the queue never holds more than a batch."""
    store, count = open_store(stored, folder), jobs_of_a_round(stored, batch)

    def body() -> int:
        done = 0
        while done < count:
            enqueue_all(store, batch, batch)
            done += work_off(store, batch, batch)
        return done

    return body


WORKS: dict[str, Callable[[str, int, Path], Body]] = {
    "enqueue": enqueues,
    "claim + complete": workings,
    "cycle": cycles,
}


def figure(stored: str, work: str, batch: int) -> str:
    """The name of a figure."""
    return f"jobs {stored} {work} by {batch}"


def batched(stored: str) -> str:
    """The name of the better of the cycles in batches."""
    return f"jobs {stored} cycle, batched"


def measure(folder: Path) -> dict[str, float]:
    """Jobs a second, by the names that `figure` gives, and processor time; one round."""
    found: dict[str, float] = {}
    for stored in STORES:
        contestants = {
            figure(stored, work, batch): lambda stored=stored, make=make, batch=batch: make(stored, batch, folder)
            for batch in BATCHES
            for work, make in WORKS.items()
        }
        for _ in range(BURSTS if stored == "memory" else 1):
            found = better(found, timed(contestants))
        found[batched(stored)] = max(found[figure(stored, "cycle", batch)] for batch in BATCHES if batch > 1)
    return found
