"""What a claim costs with a thousand and with a million jobs waiting."""

from __future__ import annotations

from pathlib import Path

import resonate_core as rc

from ..stopwatch import Body
from .calls import LEASE, PAYLOAD, TYPE, fill, open_store
from .timed import CPU, better, timed

FEW, MANY = 1_000, 1_000_000
STORES = ("memory", "SQLite normal")
_CLAIMS = 5_000


def claims(store: rc.Store) -> Body:
    """Claims one and enqueues one, so that as many wait after it as before."""

    def body() -> int:
        claim, complete, enqueue = store.jobs.claim, store.jobs.complete, store.jobs.enqueue
        for _ in range(_CLAIMS):
            (job,) = claim("default", 1, worker="w", lease=LEASE)
            complete(job.id, job.version)
            enqueue(TYPE, PAYLOAD)
        return _CLAIMS

    return body


def figure(stored: str, waiting: int) -> str:
    """The name of a figure."""
    return f"jobs {stored} cycle at {waiting:,} queued{CPU}"


def measure(folder: Path, rounds: int) -> dict[str, float]:
    """µs of processor time of a claim, a completion and an enqueue, by how many wait."""
    found: dict[str, float] = {}
    for stored in STORES:
        stores = {waiting: open_store(stored, folder) for waiting in (FEW, MANY)}
        for waiting, store in stores.items():
            fill(store, waiting)
        contestants = {
            figure(stored, waiting).removesuffix(CPU): lambda store=store: claims(store) for waiting, store in stores.items()
        }
        for _ in range(rounds):
            found = better(found, timed(contestants))
        for store in stores.values():
            store.close()
    return {name: value for name, value in found.items() if name.endswith(CPU)}
