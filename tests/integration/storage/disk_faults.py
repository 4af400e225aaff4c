"""A workload on a disk that fails at its n-th write, sync or open, for every n. Run with faulty_disk preloaded.

    disk_faults.py LIBRARY FOLDER          prints the table of faults, a JSON line for each
    disk_faults.py LIBRARY FOLDER --power  a loss of power after every answer

Afterwards every change that was answered must be in the file, every invariant must hold, and the store must work again when the
disk does.
"""

from __future__ import annotations

import ctypes
import errno
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import resonate_core as rc

KINDS = {"write": 0, "sync": 1, "open": 2}
Steps = list[tuple[str, Callable[[rc.Store], Any]]]


def expected_states(answered: list[str]) -> dict[str, str]:
    """The state that each promise must have, by the answers."""
    states: dict[str, str] = {}
    for action in answered:
        what, _, name = action.partition(" ")
        if what in ("create", "task"):
            states[name] = "pending"
        elif what in ("settle", "fulfill"):
            states[name] = "resolved"
    return states


def steps() -> Steps:
    """The calls of the workload; the name of each says what its answer promises."""
    worker = {"resonate:target": "poll://any@workers"}
    made: Steps = []
    for i in range(3):
        made.append((f"create p{i}", lambda s, i=i: s.promises.create(f"p{i}", 10**9, param="x" * 500)))
    made += [
        ("listen", lambda s: s.promises.register_listener("p0", "poll://uni@listeners/1")),
        ("settle p0", lambda s: s.promises.resolve("p0", "done")),
        ("task t", lambda s: s.promises.create("t", 10**9, tags=worker)),
        ("acquire t", lambda s: s.tasks.acquire("t", 0, pid="w", ttl=60_000)),
        ("fulfill t", lambda s: s.tasks.fulfill("t", 1, "done")),
        ("tick", lambda s: s.tick(s.now + 1000)),
        ("settle p1", lambda s: s.promises.resolve("p1", "y" * 5000)),
    ]
    return made


def run(path: Path, answered: list[str], after: Callable[[], None] = lambda: None) -> Exception | None:
    """Runs the workload and notes the answered calls; returns the error that ended it, or None."""
    try:
        with rc.Store(path, clock=rc.ManualClock()) as store:
            for name, action in steps():
                action(store)
                answered.append(name)
                after()
    except rc.errors.StoreError as error:
        return error
    return None


def problems_of(path: Path, answered: list[str]) -> list[str]:
    """The problems of a file, given the answered calls."""
    if not path.exists():
        return [f"{path.name} is gone"] if answered else []
    problems = list(rc.check_file(path)) if answered else []  # before the first answer there may be no tables yet
    with rc.Store(path, clock=rc.ManualClock()) as store:
        problems += [f"{one.name}: {one.detail}" for one in store.check()]
        for name, state in expected_states(answered).items():
            try:
                found = store.promises.get(name).state
            except rc.errors.NotFound:
                found = "absent"
            # A call that failed may have taken effect, if it did so completely.
            if found != state and not (state == "pending" and found == "resolved"):
                problems.append(f"{name} was answered {state} and is {found}")
        if (
            "settle p0" in answered
            and "listen" in answered
            and not any(m.address.endswith("listeners/1") for m in store.messages())
        ):
            problems.append("the unblock of p0 is lost")
        store.promises.create("afterwards", 10**9)  # the store works again
    return problems


def fault_table(disk: ctypes.CDLL, folder: Path) -> None:
    run(folder / "warm.db", [])
    for kind, number in KINDS.items():
        disk.faulty_disk_arm(-1, 0, 0, 0)
        run(folder / f"count-{kind}.db", [])
        total = disk.faulty_disk_calls(number)
        for code in (errno.EIO, errno.ENOSPC):
            for go_on in (0, 1):
                row = {
                    "operation": kind,
                    "errno": errno.errorcode[code],
                    "goes_on": bool(go_on),
                    "n": total,
                    "errors": 0,
                    "intact": 0,
                }
                broken = []
                for n in range(1, total + 1):
                    path = folder / f"{kind}-{code}-{go_on}-{n}.db"
                    answered: list[str] = []
                    disk.faulty_disk_arm(number, n, code, go_on)
                    error = run(path, answered)
                    disk.faulty_disk_disarm()
                    row["errors"] += error is not None
                    if error is not None and path.name not in str(error):
                        broken.append(f"n = {n}: the error does not name the file: {error}")
                    found = problems_of(path, answered)
                    row["intact"] += not found
                    broken += [f"n = {n}: {problem}" for problem in found]
                print(json.dumps({**row, "broken": broken[:5]}), flush=True)


def power_losses(disk: ctypes.CDLL, folder: Path) -> None:
    """After each answer, opens and checks the files that the disk would have if the power failed at that instant."""
    synced = folder / "synced"
    synced.mkdir()
    disk.faulty_disk_watch(str(folder / "live").encode(), str(synced).encode())
    (folder / "live").mkdir()
    answered: list[str] = []
    lost: list[str] = []
    losses = 0

    def lose_power() -> None:
        nonlocal losses
        losses += 1
        left = folder / f"left-{losses}"
        shutil.copytree(synced, left)
        for shared_memory in left.glob("*-shm"):
            shared_memory.unlink()
        lost.extend(f"after {answered[-1]}: {problem}" for problem in problems_of(left / "app.db", answered))

    error = run(folder / "live" / "app.db", answered, lose_power)
    print(json.dumps({"losses": losses, "error": str(error) if error else None, "broken": lost}), flush=True)


def main() -> None:
    disk = ctypes.CDLL(sys.argv[1])
    disk.faulty_disk_calls.restype = ctypes.c_long
    folder = Path(sys.argv[2]).resolve()
    if "--power" in sys.argv:
        power_losses(disk, folder)
    else:
        disk.faulty_disk_watch(str(folder).encode(), b"")
        fault_table(disk, folder)


if __name__ == "__main__":
    main()
