"""Measure how soon the views answer in a large store: `python -m bench.views [--jobs N] [--store memory|sqlite|postgres]`.

The store has jobs of ten queues and twenty types in all states, most of them completed, and as many roots. Printed for each view: the
median and the longest of 20 calls, and how many rows a call examined; and the same for the answers of the dashboard, as JSON, through its
ASGI app. Beside them stands the time in which the indexes are made, which in memory is that of the first call. PostgreSQL is a server
of its own that flushes each commit.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

import resonate_core as rc
from resonate_core.ui import create_ui

sys.path.append(str(Path(__file__).parents[1] / "tests"))

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


#: What the dashboard is asked for.
_ADDRESSES = [
    "overview",
    "queues",
    "queue?name=queue3",
    "jobs",
    "jobs?queue=queue3&state=pending",
    "jobs?state=archived",
    "jobs?state=completed&type=type7",
    "jobs?id=nothing-like-this",
    "jobs?arg=order%3D77777",
    "job?id={job}",
    "workflows",
    "workflows?state=pending&id=root7777*",
    "workflow?id={root}",
    "why?id={root}",
    "why?id={job}",
    "find?q=root777",
    "groups",
    "schedules",
    "workers",
    "messages",
    "due",
]


def _print(name: str, times: list[float], more: str = "") -> None:
    print(f"{name:36} median {statistics.median(times):7.1f} ms, longest {max(times):7.1f} ms  {more}", flush=True)


async def answers(store: rc.Store) -> None:
    """Print how soon the dashboard answers."""
    job = next(iter(store.views.jobs(limit=1))).id
    root = next(iter(store.views.promises(limit=1))).id
    app: Any = create_ui(store, role="operate")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://ui/api/", timeout=None) as client:
        for address in _ADDRESSES:
            times = []
            for _ in range(_CALLS):
                begin = time.perf_counter()
                reply = await client.get(address.format(job=job, root=root))
                times.append(1000 * (time.perf_counter() - begin))
                reply.raise_for_status()
            _print(f"GET api/{address}", times, f"{len(reply.content)} bytes")
    await app.aclose()


@contextlib.contextmanager
def place(store: str) -> Iterator[str | Path | None]:
    """Where the store is: nowhere, a new file, or a database of a new server."""
    if store == "postgres":
        import postgres_server

        with postgres_server.running(durable=True) as server:
            server.create_database("views")
            yield server.url("views")
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / "views.db" if store == "sqlite" else None


def main() -> None:
    """Fills a store and prints the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--store", choices=["memory", "sqlite", "postgres"], default="sqlite")
    given = parser.parse_args()
    with place(given.store) as where, rc.Store(where, clock=rc.ManualClock(), durability="normal") as store:
        begin = time.perf_counter()
        fill(store, given.jobs)
        print(f"{given.jobs} jobs and as many roots in {given.store}, made in {time.perf_counter() - begin:.0f} s", flush=True)
        begin = time.perf_counter()
        store.views.index()
        store.views.jobs()
        print(f"indexes and first call: {time.perf_counter() - begin:.1f} s", flush=True)
        for name, call in views(store, given.jobs).items():
            times = []
            for _ in range(_CALLS):
                begin = time.perf_counter()
                found = call()
                times.append(1000 * (time.perf_counter() - begin))
            _print(name, times, f"{found.scanned} rows" if hasattr(found, "scanned") else "")
        asyncio.run(answers(store))


if __name__ == "__main__":
    main()
