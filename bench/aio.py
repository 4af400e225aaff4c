"""Measures the awaited typed calls beside `apply_async`, and how soon a wait ends; from the repository's folder.

python -m bench.aio [--creates N] [--in-flight N] [--rounds N] [--waits N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import resonate_core as rc

from .report import also_measured, machine, table, verdict
from .targets import Target

FAR = 4_000_000_000_000
PARAM = {"sku": "tea", "count": 2}
TAGS = {"resonate:external": "true"}
_PAUSE = 0.001  # s between two looks at how late the loop is
#: Resolves the ids that it reads, each with the instant just before.
_OTHER = """
import sys, time
import resonate_core as rc
with rc.Store(sys.argv[1], durability="normal") as store:
    print("ready", flush=True)
    for line in sys.stdin:
        time.sleep(0.02)
        store.promises.resolve(line.strip(), time.clock_gettime(time.CLOCK_MONOTONIC))
"""

Create = Callable[[rc.Store, str], Awaitable[Any]]


def encoded(value: Any) -> str:
    return base64.b64encode(json.dumps(value, separators=(",", ":")).encode()).decode("ascii")


def plain(store: rc.Store, name: str) -> Awaitable[Any]:
    """What a program writes without the typed calls."""
    data = {"id": name, "timeoutAt": FAR, "param": {"data": encoded(PARAM)}, "tags": TAGS}
    return store.apply_async({"kind": "promise.create", "head": {"corrId": name, "version": "2026-04-01"}, "data": data})


def typed(store: rc.Store, name: str) -> Awaitable[Any]:
    return store.aio.promises.create(name, FAR, param=PARAM, tags=TAGS)


async def creates(store: rc.Store, create: Create, count: int, in_flight: int) -> tuple[float, float, list[float]]:
    """Create promises, so many at once; return creates/s, the processor time of each in us, and how late the loop was, in ms."""
    numbers = iter(range(count))
    late: list[float] = []

    async def one() -> None:
        for number in numbers:
            await create(store, f"p{number}")

    async def look() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_PAUSE)
            late.append((time.perf_counter() - began - _PAUSE) * 1000)

    looking = asyncio.create_task(look())
    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one() for _ in range(in_flight)))
    rate, processor = count / (time.perf_counter() - began), (time.process_time() - used) / count * 1e6
    looking.cancel()
    return rate, processor, late


def share(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


def rates(folder: Path, rounds: int, count: int, in_flight: int) -> dict[str, float]:
    """The two ways in turn, so that a busy moment of the machine hits both; the best round of each counts."""
    found: dict[str, list[float]] = {}
    used: dict[str, list[float]] = {}
    delays: dict[str, list[float]] = {}
    files = itertools.count()
    for _ in range(rounds):
        for name, create in (("apply_async", plain), ("aio", typed)):
            for place in ("memory", "SQLite NORMAL"):
                path = None if place == "memory" else folder / f"rates-{next(files)}.db"
                with rc.Store(path, durability="normal") as store:
                    rate, processor, late = asyncio.run(creates(store, create, count, in_flight))
                key = f"{name} create, {in_flight} in flight, {place}"
                found.setdefault(key, []).append(rate)
                used.setdefault(key, []).append(processor)
                delays.setdefault(key, []).extend(late)
    made = {key: max(values) for key, values in found.items()}
    made |= {f"processor time, {key} (us)": min(values) for key, values in used.items()}
    for key, late in delays.items():
        made |= {f"loop late p50, {key} (ms)": share(late, 0.5), f"loop late p99, {key} (ms)": share(late, 0.99)}
    return made


def spread(name: str, values: list[float]) -> dict[str, float]:
    return {f"{name} p50 (ms)": statistics.median(values), f"{name} p99 (ms)": share(values, 0.99)}


async def wakes_of_tasks(store: rc.Store, count: int) -> list[float]:
    """From the return of the commit in another thread until the waiting task runs, in ms."""
    found = []
    for number in range(count):
        name = f"w{number}"
        await store.aio.promises.create(name, FAR)
        waiting = asyncio.create_task(store.aio.wait(name))
        await asyncio.sleep(0.01)
        committed = await asyncio.to_thread(_resolve, store, name)
        await waiting
        found.append((time.perf_counter() - committed) * 1000)
    return found


def _resolve(store: rc.Store, name: str) -> float:
    store.promises.resolve(name)
    return time.perf_counter()


def wakes_of_threads(store: rc.Store, count: int) -> list[float]:
    from threading import Timer

    found = []
    for number in range(count):
        name, committed = f"t{number}", []
        store.promises.create(name, FAR)
        timer = Timer(0.01, lambda: committed.append(_resolve(store, name)))  # noqa: B023
        timer.start()
        store.wait(name)
        now = time.perf_counter()
        timer.join()
        found.append(max(now - committed[0], 0) * 1000)
    return found


def wakes_of_other_process(path: Path, count: int) -> list[float]:
    """From just before the commit in another process until the waiting task runs, in ms."""
    with rc.Store(path, durability="normal") as store:
        program = subprocess.Popen(
            [sys.executable, "-c", _OTHER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdout.readline()
        found = []

        async def main() -> None:
            assert program.stdin is not None
            for number in range(count):
                name = f"o{number}"
                await store.aio.promises.create(name, FAR)
                waiting = asyncio.create_task(store.aio.wait(name))
                await asyncio.sleep(0.005 * (number % 10))  # at every phase of the reads
                program.stdin.write(f"{name}\n")
                program.stdin.flush()
                promise = await waiting
                found.append((time.clock_gettime(time.CLOCK_MONOTONIC) - promise.value.json()) * 1000)

        asyncio.run(main())
        program.communicate()
        return found


def wakes(folder: Path, count: int) -> dict[str, float]:
    made: dict[str, float] = {}
    for place in ("memory", "SQLite NORMAL"):
        path = None if place == "memory" else folder / "wakes.db"
        with rc.Store(path, durability="normal") as store:
            made |= spread(f"wait of a task wakes, {place}", asyncio.run(wakes_of_tasks(store, count)))
            made |= spread(f"wait of a thread wakes, {place}", wakes_of_threads(store, count))
    made |= spread("wait for another process, SQLite NORMAL", wakes_of_other_process(folder / "other.db", min(count, 100)))
    return made


def targets(in_flight: int) -> list[Target]:
    create = f"create, {in_flight} in flight"
    places = ("memory", "SQLite NORMAL")
    made = [Target(f"aio {create}, {place}", 0.7, f"apply_async {create}, {place}") for place in places]
    made.append(Target(f"aio {create}, SQLite NORMAL", 15_000))
    made.append(Target(f"loop late p99, aio {create}, SQLite NORMAL (ms)", 5, at_most=True, unit="ms"))
    return made + [Target(f"wait of a task wakes, {place} p50 (ms)", 1, at_most=True, unit="ms") for place in places]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.aio", description=__doc__)
    parser.add_argument("--creates", type=int, default=30_000, help="promises of each round (default 30000)")
    parser.add_argument("--in-flight", type=int, default=64, help="calls at once (default 64)")
    parser.add_argument("--rounds", type=int, default=5, help="the best counts (default 5)")
    parser.add_argument("--waits", type=int, default=300, help="of each kind (default 300)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures-aio.json goes")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {arguments.rounds}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="files-", dir=arguments.out) as folder:
        figures = rates(Path(folder), arguments.rounds, arguments.creates, arguments.in_flight)
        figures |= wakes(Path(folder), arguments.waits)
    (arguments.out / "figures-aio.json").write_text(json.dumps(figures, indent=1))
    held = targets(arguments.in_flight)
    print(machine(), table(figures, held), also_measured(figures, held), verdict(figures, held), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
