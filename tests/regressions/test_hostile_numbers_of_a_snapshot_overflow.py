"""Numbers of a restored snapshot were counted up and down past the range of int64.

Signed overflow is undefined in C++: UBSan reported `job_invariants.cpp` and `job_moves.cpp`, for counts of a queue and of attempts. Sums now
saturate at the ends of int64, and `check` reports the number.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc

LEAST, MOST = -(2**63), 2**63 - 1


@pytest.fixture
def snapshot() -> dict[str, Any]:
    """A queue with a rate, and three jobs: a running one in its second attempt, a waiting one and a completed one."""
    clock = rc.ManualClock(1_000_000)
    store = rc.Store(clock=clock)
    store.queues.set("default", rate={"limit": 10, "per": 1000})
    for id in ("runs", "ends", "waits"):
        store.jobs.enqueue("t", id=id, max_retries=5, retention=600_000)
    for job in store.jobs.claim(["default"], 2, worker="w", lease=60_000, start=2):
        (store.jobs.complete if job.id == "ends" else store.jobs.fail)(job.id, job.version, "E")
    clock.advance(60_000)
    return dict(store.snapshot())


def job(snapshot: dict[str, Any], id: str) -> dict[str, Any]:
    [row] = [row for row in snapshot["promises"] if row["id"] == id]
    found: dict[str, Any] = row["job"]
    return found


def of_queue(**change: Any) -> Callable[[dict[str, Any]], None]:
    return lambda snapshot: snapshot["queues"][0].update(change)


def of_job(id: str, **change: Any) -> Callable[[dict[str, Any]], None]:
    return lambda snapshot: job(snapshot, id).update(change)


def of_counts(number: int) -> Callable[[dict[str, Any]], None]:
    def change(snapshot: dict[str, Any]) -> None:
        counts = snapshot["queues"][0]["counts"]
        names = ("scheduled", "pending", "claimed", "running", "retry", "archived", "completed", "failed", "cancelled", "expired")
        counts.update(dict.fromkeys(names, number))

    return change


def of_task(id: str, **change: Any) -> Callable[[dict[str, Any]], None]:
    def changed(snapshot: dict[str, Any]) -> None:
        [row] = [row for row in snapshot["promises"] if row["id"] == id]
        row["task"].update(change)

    return changed


def of_days(number: int) -> Callable[[dict[str, Any]], None]:
    return of_queue(days=[{"day": 0, "processed": number, "failed": number}])


OF_NUMBERS: dict[str, Callable[[int], Callable[[dict[str, Any]], None]]] = {
    "counts": of_counts,
    "days": of_days,
    "level": lambda number: of_queue(level=number),
    "current": lambda number: of_queue(current=number),
    "refilledAt": lambda number: of_queue(refilledAt=number),
    "claims at": lambda number: of_queue(claims=[{"at": number, "count": 10}]),
    "claims": lambda number: of_queue(claims=[{"at": 999_500, "count": number}, {"at": 999_600, "count": number}]),
    "weight": lambda number: of_queue(weight=number),
    "rate": lambda number: of_queue(rate={"limit": number, "per": number, "burst": number}),
    "attemptCount": lambda number: of_job("waits", attemptCount=number),
    "retryCount": lambda number: of_job("waits", retryCount=number),
    "acquisitions": lambda number: of_task("waits", acquisitions=number),
    "completedAt": lambda number: of_job("ends", completedAt=number, reclaimAt=1_000_000),
    "reclaimAt": lambda number: of_job("ends", reclaimAt=number),
}
CHANGES = {f"{name} {number}": change(number) for number in (LEAST, MOST) for name, change in OF_NUMBERS.items()} | {
    "no rate": of_queue(rate={"limit": 0, "per": 0, "burst": 0})
}


@pytest.mark.parametrize("case", CHANGES)
def test_it_is_named_and_nothing_else_happens(make_store: Callable[..., Any], snapshot: dict[str, Any], case: str) -> None:
    hostile = copy.deepcopy(snapshot)
    CHANGES[case](hostile)
    store = make_store(check=False)
    store.restore(hostile, check=False)
    store.check()
    store.queues.set("other", weight=3)
    store.jobs.enqueue("t", id="other", queue="other")
    for _ in range(2):
        for found in store.jobs.claim(["default", "other"], 10, worker="w", lease=1000, start=10):
            with contextlib.suppress(rc.Conflict, rc.Invalid):
                store.jobs.fail(found.id, found.version, "E", "m")
        store.clock.advance(100_000)
    store.queues.stats()
    store.queues.list()
    store.check()


@pytest.mark.parametrize("end", [LEAST, MOST])
def test_counts_stay_where_int64_ends(snapshot: dict[str, Any], end: int) -> None:
    of_counts(end)(snapshot)
    store = rc.Store(clock=rc.ManualClock(0))
    store.restore(snapshot, check=False)
    store.jobs.cancel("waits")  # one pending fewer, one cancelled more
    counts = store.snapshot()["queues"][0]["counts"]
    assert (counts["pending"], counts["cancelled"]) == ((LEAST, LEAST + 1) if end == LEAST else (MOST - 1, MOST))
    assert {problem.name for problem in store.check()} >= {"queue_count_mismatch"}


@pytest.mark.parametrize("member", ["generatedJobs", "dropped"])
@pytest.mark.parametrize("number", [LEAST, -1, MOST])
def test_what_is_counted_on_from_is_refused(snapshot: dict[str, Any], member: str, number: int) -> None:
    snapshot[member] = number
    with pytest.raises(rc.Invalid, match=f"{member} must be from 0 to 9007199254740992, got {number}"):
        rc.Store(clock=rc.ManualClock(0)).restore(snapshot, check=False)


def test_a_delay_that_is_no_number(make_store: Callable[..., Any]) -> None:
    """A related defect: a stored `resonate:delay` that is no number raised ValueError in every tick after the lease of its task."""
    store = make_store()
    store.tasks.create("p", pid="w", ttl=1000, timeout=60_000, tags={"resonate:target": "poll://any@workers"})
    snapshot = store.snapshot()
    snapshot["promises"][0]["tags"]["resonate:delay"] = "soon"
    other = make_store()
    other.restore(snapshot)
    assert "lease_expiry" in [step.kind for step in other.tick(1000)]
