"""What a claim, a start and a completion cost with and without a million jobs that wait in the same queue."""

from __future__ import annotations

from pathlib import Path

import resonate_core as rc

from ..jobs.calls import LEASE, PAYLOAD, TYPE, open_store
from ..jobs.timed import CPU, better, timed
from ..stopwatch import Body

STORES = ("memory", "SQLite normal")
_GATE = "gate"
_SIZE = 10_000
#: Jobs that are pending, with and without those that wait, and how many run in a round.
PENDING = 1_000
_CYCLES = {"memory": 5_000, "SQLite normal": 500}
_FAR = 10**10  # ms


def figure(stored: str, waiting: int) -> str:
    """The name of a figure."""
    return f"jobs {stored} cycle beside {waiting:,} waiting{CPU}"


def fill(store: rc.Store, waiting: int) -> None:
    """Let so many jobs wait for one promise, and a few be pending."""
    store.queues.set("default", lifecycle="horsies", defaults={"retention": 0})
    store.promises.create(_GATE, timeout=_FAR)
    for begin in range(0, waiting, _SIZE):
        store.jobs.enqueue_many(TYPE, [PAYLOAD] * min(_SIZE, waiting - begin), after=_GATE)
    store.jobs.enqueue_many(TYPE, [PAYLOAD] * PENDING)


def cycles(store: rc.Store, count: int) -> Body:
    """Runs one and enqueues one, so that as many are pending after it as before."""

    def body() -> int:
        claim, start, complete, enqueue = store.jobs.claim, store.jobs.start, store.jobs.complete, store.jobs.enqueue
        for _ in range(count):
            (job,) = claim("default", 1, worker="w", lease=LEASE)
            start(job.id, job.version)
            complete(job.id, job.version)
            enqueue(TYPE, PAYLOAD)
        return count

    return body


def measure(folder: Path, rounds: int, waiting: int, stores: tuple[str, ...] = STORES) -> dict[str, float]:
    """µs of processor time of a job, by how many wait."""
    found: dict[str, float] = {}
    for stored in stores:
        opened = {number: open_store(stored, folder) for number in (0, waiting)}
        for number, store in opened.items():
            fill(store, number)
        count = _CYCLES[stored]
        contestants = {
            figure(stored, number).removesuffix(CPU): lambda store=store, count=count: cycles(store, count)
            for number, store in opened.items()
        }
        for _ in range(rounds):
            found = better(found, timed(contestants))
        for store in opened.values():
            store.close()
    return {name: value for name, value in found.items() if name.endswith(CPU)}
