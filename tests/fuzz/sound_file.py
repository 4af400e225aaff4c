"""A small file with a row of every kind, in every state, which the fuzz of files damages."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import resonate_core as rc

NOW = 1_000_000
FAR = 10**12
HOUR = 3_600_000
TARGET = {"resonate:target": "poll://any@w"}
EXTERNAL = {"resonate:external": "true"}


def make(path: Path) -> None:
    """Makes the file. Its clock is a manual one at `NOW`; some steps are due and have not run."""
    with rc.Store(path, clock=rc.ManualClock(NOW), durability="normal") as store:
        fill(store)
    _submit(path)


def fill(store: rc.Store) -> None:
    """Puts the rows into an empty store whose clock is at `NOW`."""
    _make_tasks(store)
    _make_jobs(store)
    store.schedules.create("s1", "*/5 * * * *", promise_timeout=60_000, tags=EXTERNAL)
    store.schedules.create("s2", "0 * * * *", promise_timeout=60_000, job={"type": "mail", "queue": "q"})
    _leave_steps(store)


def _make_tasks(store: rc.Store) -> None:
    for name in ("pending", "acquired", "suspended", "halted", "fulfilled"):
        store.promises.create(f"t-{name}", FAR, param={"n": name}, tags={**TARGET, "resonate:origin": "t-acquired"})
    store.promises.create("p-timer", NOW + HOUR, tags={"resonate:timer": "true"})
    store.promises.create("p-open", FAR, tags={**EXTERNAL, "resonate:branch": "b"})
    store.promises.create("p-done", FAR, tags=EXTERNAL)
    for name in ("acquired", "suspended", "halted", "fulfilled"):
        store.tasks.acquire(f"t-{name}", 0, pid=f"w-{name}", ttl=HOUR)
    store.tasks.suspend("t-suspended", 1, ["p-open"])
    store.tasks.fulfill("t-fulfilled", 1, value={"v": 1})
    store.tasks.halt("t-halted")
    for number in range(250):  # more than the requests of _leave_steps drain
        store.promises.register_listener("p-done", f"poll://uni@c/{number}")
    store.promises.register_listener("p-open", "poll://uni@c/x")


def _make_jobs(store: rc.Store) -> None:
    store.queues.set("q", rate={"limit": 100, "per": 1000}, concurrency=50, weight=2)
    store.jobs.enqueue("mail", {"to": "ada"}, id="j-completed", queue="q")
    (job,) = store.jobs.claim("q", worker="w", lease=HOUR, start=1)
    store.jobs.report("j-completed", job.version, progress=0.5, lines=["half"])
    store.jobs.complete("j-completed", job.version, {"sent": True})
    for name, options in {
        "archived": {"max_retries": 0},
        "retry": {"retry_policy": {"kind": "exponential", "base": 1000, "factor": 2.0}},
        "failed": {"max_retries": 0, "on_exhausted": "failed"},
        "running": {"timeout": HOUR, "unique_key": "k"},
    }.items():
        store.jobs.enqueue("mail", {"to": name}, id=f"j-{name}", queue="q", **options)
        (job,) = store.jobs.claim("q", worker="w", lease=HOUR, start=1)
        if name != "running":
            store.jobs.fail(job.id, job.version, "Broken", "no paper")
    store.jobs.enqueue("mail", id="j-claimed", queue="q")
    store.jobs.claim("q", worker="w2", lease=HOUR)
    store.jobs.enqueue("mail", id="j-cancelled", queue="q")
    store.jobs.cancel("j-cancelled")
    store.jobs.enqueue("mail", id="j-expired", queue="q", good_until=NOW - 1)
    store.jobs.enqueue("mail", id="j-scheduled", queue="q", process_in=HOUR)
    store.jobs.enqueue("mail", id="j-retained", queue="q", retention=HOUR)
    store.jobs.cancel("j-retained")
    for number in range(3):
        store.jobs.enqueue("mail", id=f"j-group-{number}", queue="q", group="g")
        store.jobs.enqueue("news", id=f"j-pending-{number}", queue="other", priority=number + 1, unique_key=f"u{number}")
    store.promises.create("t-awaits", FAR, tags=TARGET)
    store.tasks.acquire("t-awaits", 0, pid="w", ttl=HOUR)
    store.tasks.suspend("t-awaits", 1, ["j-pending-0", "j-pending-1"])


def _leave_steps(store: rc.Store) -> None:
    """Settles a promise with many listeners, and cancels an awaiter of jobs: the steps of both are due."""
    store.promises.resolve("p-done", {"v": 2})
    store.promises.cancel("t-awaits")


def _submit(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        rc.submit(file, "promise.create", {"id": "submitted", "timeoutAt": FAR})
        file.execute("INSERT INTO resonate_inbox (request, status, error) VALUES ('{}', 409, 'refused before')")
