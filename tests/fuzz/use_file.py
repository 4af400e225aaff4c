"""Uses a store's file in every way: views, searches, claims, ticks, requests on each id, snapshot, fork, backup, check, commands.

`python -m fuzz.use_file SOUND FOLDER FIRST COUNT SECONDS` damages copies of a sound file, each by its own seed, and uses them: COUNT files, or
as many as it can in this time. It prints each seed and its damage before it uses the file, so that its reader knows which file ended it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import random
import re
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import resonate_core as rc
from fuzz import file_damage
from fuzz.sound_file import FAR, HOUR, NOW
from resonate_core.cli import main

HANG_S = int(os.environ.get("RESONATE_FUZZ_HANG_S", "120"))
"""A file that is in use for longer counts as a hang."""

MEMORY = 2 << 30
"""The most address space, in bytes; a request for more fails."""

COMMANDS = (
    ("check",),
    ("workers",),
    ("stats",),
    ("why", "j-running"),
    ("tree", "t-suspended"),
    ("jobs", "list"),
    ("jobs", "get", "j-running"),
    ("queues", "list"),
    ("schedules", "search"),
    ("tasks", "search"),
    ("promises", "search", "--json"),
)


def reads(store: rc.Store) -> Iterator[Callable[[], Any]]:
    """Calls that change nothing."""
    views = store.views
    yield from (store.check, store.snapshot, store.digest, store.counts, store.outbox_counts, store.problems, store.next_due)
    yield from (
        lambda: views.leases(limit=100),
        lambda: views.due(limit=1000),
        lambda: views.late_schedules(limit=100),
        views.hours,
    )
    yield from (
        lambda: list(views.jobs(limit=100)),
        lambda: list(views.promises(limit=100)),
        lambda: list(views.jobs(payload="ada")),
    )
    yield from (lambda: repr(list(store.jobs.search())), lambda: repr(list(store.promises.search())), store.queues.list)
    yield from (
        lambda: repr(list(store.tasks.search())),
        lambda: repr(list(store.schedules.search())),
        lambda: list(store.messages()),
    )
    yield from (
        lambda: [store.queues.stats(name) for name in ("q", "other", "default")],
        store.fork,
        lambda: store.submissions_waiting,
    )
    for state in ("scheduled", "running", "archived", "failed", "expired"):
        yield lambda state=state: repr([job.error for job in store.jobs.search(state=state)])
    yield lambda: [job.claimed_by for job in store.jobs.search()]
    yield lambda: views.rows([*_ids(store), "s1", "s2"])
    yield lambda: rc.Store(clock=rc.ManualClock(0)).restore(store.snapshot())


def writes(store: rc.Store) -> Iterator[Callable[[], Any]]:
    """Calls that run requests and steps on every row."""
    yield lambda: store.tick(
        limit=10_000
    )  # where the file's clock is millennia ahead, a schedule has missed billions of occurrences
    for queue in ("q", "other", "default"):
        yield lambda queue=queue: store.jobs.claim(queue, worker="v", lease=HOUR, count=3)
    yield lambda: store.jobs.heartbeat("w", [("j-running", 1)])
    yield lambda: store.tasks.heartbeat("w-acquired", [("t-acquired", 1)])
    for id in _ids(store):
        yield from _on(store, id)
    for id in ("s1", "s2"):
        yield from (lambda id=id: store.schedules.pause(id), lambda id=id: store.schedules.resume(id))
    yield lambda: store.purge(settled_before=FAR)
    yield lambda: store.clock.advance(HOUR + 1)
    yield lambda: store.clock.advance(30 * HOUR)
    yield store.take_messages
    yield lambda: store.jobs.cancel_all()
    yield lambda: [store.jobs.delete_all(state=state) for state in ("completed", "archived", "failed", "cancelled")]
    yield store.vacuum


def _on(store: rc.Store, id: str) -> Iterator[Callable[[], Any]]:
    jobs, promises, tasks = store.jobs, store.promises, store.tasks
    yield from (lambda: repr(promises.get(id)), lambda: repr(tasks.get(id)), lambda: repr(jobs.get(id)))
    for version in (0, 1):
        yield from (lambda v=version: tasks.acquire(id, v, pid="v", ttl=HOUR), lambda v=version: jobs.start(id, v))
        yield from (lambda v=version: jobs.report(id, v, lines=["x"]), lambda v=version: tasks.release(id, v))
        yield from (lambda v=version: jobs.fail(id, v, "Broken"), lambda v=version: jobs.complete(id, v))
    yield from (lambda: jobs.run(id), lambda: jobs.cancel(id), lambda: promises.resolve(id), lambda: jobs.delete(id))


def _ids(store: rc.Store) -> list[str]:
    states = ("pending", "acquired", "suspended", "halted", "fulfilled", "awaits")
    jobs = ("completed", "archived", "retry", "failed", "running", "claimed", "cancelled", "expired", "scheduled", "retained")
    groups = [f"j-{kind}-{number}" for kind in ("group", "pending") for number in range(3)]
    return [f"t-{one}" for one in states] + [f"j-{one}" for one in jobs] + groups + ["p-open", "p-done", "p-timer", "another"]


def attempt(call: Callable[[], Any]) -> bool:
    """Whether the call ended well; an error of the store counts as such, and any other one is raised."""
    try:
        call()
    except (rc.ResonateError, rc.Invalid):
        return False
    return True


def use_store(open_store: Callable[[], rc.Store]) -> None:
    """Makes all calls, first those that change nothing."""
    for each in (reads, writes):
        with contextlib.suppress(rc.ResonateError), open_store() as store:
            for call in each(store):
                attempt(call)


def use(path: Path, commands: bool) -> list[str]:
    """Uses the file; returns the findings of `check_file`."""
    problems: list[str] = []
    attempt(lambda: problems.extend(rc.check_file(path)))
    if commands:
        for command in COMMANDS:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
                arguments = [*command, str(path)] if command == ("check",) else [*command, "--db", str(path)]
                code = main(arguments)
            assert "Traceback" not in said.getvalue() and code < 128, f"{command}: {said.getvalue()}"
    use_store(lambda: rc.Store(path, clock=rc.ManualClock(NOW), durability="normal"))
    attempt(lambda: rc.Store(path, clock=rc.ManualClock(NOW), read_only=True).backup(path.with_suffix(".backup")))
    path.with_suffix(".backup").unlink(missing_ok=True)
    return problems


def _copy(sound: Path, path: Path) -> None:
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    shutil.copy(sound, path)


def _most_kib() -> int:
    """The most memory of this process so far. `getrusage` would count that of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]


def run(sound: Path, folder: Path, first: int, count: int, seconds: float) -> None:
    """Damages and uses copies, of the seeds from `first` on."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    began = monotonic()
    used = 0
    path = folder / "damaged.db"
    while used < count and monotonic() - began < seconds:
        seed = first + used
        _copy(sound, path)
        print(seed, file_damage.damage(path, random.Random(seed)), flush=True)
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        use(path, commands=seed % 10 == 0)
        faulthandler.cancel_dump_traceback_later()
        used += 1
    print("used", used, "at most", _most_kib(), "KiB", flush=True)


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
