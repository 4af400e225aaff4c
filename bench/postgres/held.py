"""The cost of a claim while another client keeps a transaction open, so that autovacuum cannot remove dead rows."""

from __future__ import annotations

import statistics
import time

import resonate_core as rc

from ..jobs.calls import PAYLOAD, TYPE
from ..targets import Target

WITHOUT = "PostgreSQL claim after as many jobs"
_CLAIMED = 10
_WAITING = 1000
_MEASURED = 200


def figure(seconds: float) -> str:
    """The name of the figure."""
    return f"PostgreSQL claim, transaction open for {seconds:g} s"


def targets(seconds: float) -> list[Target]:
    """The target: at most twice the cost without the open transaction."""
    return [Target(figure(seconds), 2.0, WITHOUT, at_most=True, unit="us")]


def figures(url: str, plain_url: str, seconds: float) -> dict[str, float]:
    """Measure µs of a claim of ten, with 1,000 jobs in the queue: after some seconds of claims and completions, with and without.

    Args:
        url: Of an empty store.
        plain_url: Of its database, for libpq.
        seconds: How long jobs come and go before the claims are measured.
    """
    import libpq

    with rc.Store(url) as store:
        store.queues.set("default", lifecycle="asynq")
        store.jobs.enqueue_many(TYPE, [PAYLOAD] * _WAITING)
        without = _cost(store, seconds)
        with libpq.Connection(plain_url) as other:
            other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current_snapshot()")
            with_open = _cost(store, seconds)
            other.execute("ROLLBACK")
    return {WITHOUT: without, figure(seconds): with_open}


def _cost(store: rc.Store, seconds: float) -> float:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        _cycle(store)
    return statistics.median(_cycle(store) for _ in range(_MEASURED))


def _cycle(store: rc.Store) -> float:
    """Puts ten jobs into the queue, claims ten and completes them; returns the µs of the claim."""
    store.jobs.enqueue_many(TYPE, [PAYLOAD] * _CLAIMED)
    began = time.perf_counter()
    claimed = store.jobs.claim("default", _CLAIMED, worker="w", lease=60_000)
    took = time.perf_counter() - began
    if len(claimed) != _CLAIMED:
        raise RuntimeError(f"{len(claimed)} instead of {_CLAIMED} claimed")
    store.jobs.complete_many([(job.id, job.version, None) for job in claimed])
    return 1e6 * took
