"""Jobs on a disk that fails at its n-th write, sync or open, for every n. Run with faulty_disk preloaded.

    disk_faults.py LIBRARY FOLDER          prints a JSON line for each way of failing

Afterwards the file has every change that was answered, counts and keys agree with the jobs, and the store works again.
"""

from __future__ import annotations

import ctypes
import errno
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import resonate_core as rc

KINDS = {"write": 0, "sync": 1, "open": 2}
IDS = ("a", "b", "c", "d")


def claim(store: rc.Store, count: int) -> list[rc.Job]:
    return list(store.jobs.claim("q", count, worker="w", lease=60_000))


# For each step: its job, the state of the job that its answer promises, and the call; in the order of a job's life.
STEPS: list[tuple[str, str, Callable[[rc.Store], Any]]] = [
    ("", "", lambda s: s.queues.set("q", concurrency=3, rate={"limit": 5, "per": 1000})),
    *((id, "pending", lambda s, id=id: s.jobs.enqueue("t", "x" * 500, id=id, queue="q", unique_key=id)) for id in IDS[:3]),
    ("d", "scheduled", lambda s: s.jobs.enqueue("t", id="d", queue="q", process_at=5, retention=0)),
    ("a", "claimed", lambda s: claim(s, 1)),
    ("a", "running", lambda s: s.jobs.start("a", 1)),
    ("b", "claimed", lambda s: claim(s, 1)),
    ("a", "completed", lambda s: s.jobs.complete("a", 1, "y" * 5000)),
    ("b", "running", lambda s: s.jobs.start("b", 1)),
    ("b", "retry", lambda s: s.jobs.fail("b", 1, "E", retry_after=10**9)),
    ("b", "archived", lambda s: s.jobs.archive("b")),
    ("c", "cancelled", lambda s: s.jobs.cancel("c")),
    ("d", "pending", lambda s: s.tick(s.now + 5)),
    ("d", "running", lambda s: [s.jobs.start(job.id, job.version) for job in claim(s, 1)]),
    ("d", "gone", lambda s: s.jobs.complete("d", 1)),
]
LIVES = {id: ["none", *(state for name, state, _ in STEPS if name == id)] for id in IDS}


def run(path: Path, answered: dict[str, str]) -> Exception | None:
    """Runs the workload and notes the last answered state of each job; returns the error that ended it, or None."""
    try:
        with rc.Store(path, clock=rc.ManualClock()) as store:
            for id, state, action in STEPS:
                action(store)
                answered[id] = state
    except rc.errors.StoreError as error:
        return error
    return None


def problems_of(path: Path, answered: dict[str, str]) -> list[str]:
    """The problems of a file, given the answered states."""
    if not path.exists():
        return [f"{path.name} is gone"] if answered else []
    problems = list(rc.check_file(path)) if answered else []
    with rc.Store(path, clock=rc.ManualClock()) as store:
        problems += [f"{one.name}: {one.detail}" for one in store.check()]
        for id in set(IDS) & set(answered):
            try:
                found = store.jobs.get(id).state
            except rc.NotFound:
                found = "gone" if answered[id] in ("running", "gone") else "none"
            # A call that failed may have taken effect, but only completely. The start of `d` is two calls, a claim and a start.
            life = LIVES[id]
            at = life.index(answered[id])
            if found not in [*life[at : at + 2], *(["claimed"] if answered[id] == "pending" else [])]:
                problems.append(f"{id} was answered {answered[id]} and is {found}")
        store.queues.set("q", concurrency=None, rate=None)
        store.jobs.enqueue("t", id="afterwards", queue="q", unique_key="afterwards")
        if "afterwards" not in [job.id for job in claim(store, 9)]:
            problems.append("the store does not go on")
        problems += [f"afterwards {one.name}: {one.detail}" for one in store.check()]
    return problems


def main(library: str, folder: Path) -> None:
    disk = ctypes.CDLL(library)
    disk.faulty_disk_calls.restype = ctypes.c_long
    disk.faulty_disk_watch(str(folder).encode(), b"")
    assert run(folder / "warm.db", {}) is None
    for kind, number in KINDS.items():
        disk.faulty_disk_arm(-1, 0, 0, 0)
        assert run(folder / f"count-{kind}.db", {}) is None
        total = disk.faulty_disk_calls(number)
        for go_on in (0, 1):
            errors, broken = 0, []
            for n in range(1, total + 1):
                path = folder / f"{kind}-{go_on}-{n}.db"
                answered: dict[str, str] = {}
                disk.faulty_disk_arm(number, n, errno.EIO, go_on)
                errors += run(path, answered) is not None
                disk.faulty_disk_disarm()
                broken += [f"n = {n}: {problem}" for problem in problems_of(path, answered)]
            print(
                json.dumps({"operation": kind, "goes_on": bool(go_on), "n": total, "errors": errors, "broken": broken}), flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve())
