"""Measure how soon the views answer in a large store: `python -m bench.views [--jobs N] [--store memory|sqlite]`.

The store has jobs of ten queues and twenty types in all states, most of them completed, and as many roots. Printed for each view: the
median and the longest of 20 calls, and how many rows a call examined. Beside them stands the first call, which in memory enters the new
rows into the indexes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import resonate_core as rc

_CALLS = 20
_BATCH = 1000
_QUEUES = 10
_TYPES = 20


def fill(store: rc.Store, jobs: int, seed: int = 1) -> None:
    """Jobs and roots; of a thousand jobs, 850 complete, 10 are archived and 5 run."""
    chance = random.Random(seed)
    clock = store.clock
    assert isinstance(clock, rc.ManualClock)
    for begin in range(0, jobs, _BATCH):
        queue = f"queue{begin // _BATCH % _QUEUES}"
        store.jobs.enqueue_many(
            f"type{chance.randrange(_TYPES)}",
            [{"order": begin + i} for i in range(_BATCH)],
            queue=queue,
            tags={"tenant": str(begin // _BATCH % 7)},
            retention=None,
        )
        held = store.jobs.claim(queue, 865, worker=f"w{chance.randrange(5)}", lease=3_600_000, start=865)
        store.jobs.complete_many([(job.id, job.version, None) for job in held[:850]])
        for job in held[850:860]:
            store.jobs.fail(job.id, job.version, "Refused", "The other side refused", retryable=False)
        store.promises.create_many([f"root{begin + i}" for i in range(_BATCH)], timeout_at=2**53)
        clock.advance(1000)


def views(store: rc.Store, jobs: int) -> dict[str, Callable[[], Any]]:
    """The calls that are measured."""
    look = store.views
    middle = look.jobs(created_until=jobs // 2).cursor
    return {
        "jobs, the newest": lambda: look.jobs(),
        "jobs, a page in the middle": lambda: look.jobs(cursor=middle),
        "jobs of a queue": lambda: look.jobs(queue="queue3"),
        "jobs of a type": lambda: look.jobs(type="type7"),
        "jobs completed": lambda: look.jobs(states=["completed"]),
        "jobs pending": lambda: look.jobs(states=["pending"]),
        "jobs running": lambda: look.jobs(states=["running"]),
        "jobs archived": lambda: look.jobs(states=["archived"]),
        "jobs retrying (none)": lambda: look.jobs(states=["retry"]),
        "jobs of an hour": lambda: look.jobs(created_since=jobs // 4, created_until=jobs // 2),
        "jobs by a tag": lambda: look.jobs(tags={"tenant": "3"}),
        "jobs by an error, a slice": lambda: look.jobs(error="nothing like this"),
        "jobs by a payload, a slice": lambda: look.jobs(payload="nothing like this"),
        "roots, the newest": lambda: look.promises(),
        "roots by a prefix": lambda: look.promises(id="root7777*"),
        "due": lambda: look.due(),
        "leases": lambda: look.leases(),
        "hours": lambda: look.hours(),
        "queues.stats": lambda: store.queues.stats(),
    }


def main() -> None:
    """Fills a store and prints the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--store", choices=["memory", "sqlite"], default="sqlite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "views.db" if given.store == "sqlite" else None
        with rc.Store(place, clock=rc.ManualClock(), durability="normal") as store:
            fill(store, given.jobs)
            begin = time.perf_counter()
            store.views.jobs()
            print(f"{given.jobs} jobs and as many roots, {given.store}; first call {1000 * (time.perf_counter() - begin):.0f} ms")
            for name, call in views(store, given.jobs).items():
                times = []
                for _ in range(_CALLS):
                    begin = time.perf_counter()
                    found = call()
                    times.append(1000 * (time.perf_counter() - begin))
                scanned = f"{found.scanned} rows" if hasattr(found, "scanned") else ""
                print(f"{name:30} median {statistics.median(times):7.1f} ms, longest {max(times):7.1f} ms  {scanned}")


if __name__ == "__main__":
    main()
