"""A server on a database beside one on a file, and two servers on one database beside one.

Two servers on one core cost more than one even if they share nothing: each has half the connections, so half the requests of a
transaction, and the processor's caches hold two programs. Two servers in memory beside one, in the same turns, show how much.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..http.load import WORKS, Load, run
from ..http.servers import Server, cores
from ..targets import Target
from . import TURNS

FILE = "SQLite full"
CONNECTIONS = 64


def targets() -> list[Target]:
    """The targets of the figures."""
    made = [
        Target(f"HTTP PostgreSQL {work} at {CONNECTIONS}", 0.6 if work == "get" else 0.5, f"HTTP {FILE} {work} at {CONNECTIONS}")
        for work in WORKS
    ]
    one, two = _processor_time("PostgreSQL", "one server"), _processor_time("PostgreSQL", "two servers")
    return [*made, Target(two, 1.2, one, at_most=True, unit="us")]


def _processor_time(served: str, who: str) -> str:
    return f"HTTP {served} create, {who}, processor time a request"


def figures(url: str, folder: Path, rounds: int, seconds: float) -> dict[str, float]:
    """Measure requests a second, and µs of the servers' processor time a request: the best of some rounds.

    Args:
        url: Of an empty store.
        folder: For the file that is measured beside it.
        rounds: In each, every server gets each kind of request once.
        seconds: Of each load.
    """
    usable = cores()
    core = usable[0] if len(usable) > 1 else None
    found: dict[str, float] = {}

    def keep(name: str, value: float, choose: Callable[[float, float], float] = max) -> None:
        found[name] = choose(found.get(name, value), value)

    with contextlib.ExitStack() as stack:
        running = {}
        for name, place in (
            (FILE, None),
            ("PostgreSQL", url),
            ("second PostgreSQL", url),
            ("memory", None),
            ("second memory", None),
        ):
            running[name] = Server(name, folder, core, place)
            stack.callback(running[name].end)
            running[name].begin()
        for _ in range(rounds):
            for work in WORKS:
                for name in (FILE, "PostgreSQL"):
                    load = run(running[name], work, CONNECTIONS, seconds)
                    keep(f"HTTP {name} {work} at {CONNECTIONS}", load.rate)
            for _ in range(TURNS):
                for name in ("PostgreSQL", "memory"):
                    keep(_processor_time(name, "one server"), run(running[name], "create", CONNECTIONS, seconds).cpu, min)
                    both = _together([running[name], running[f"second {name}"]], seconds)
                    rate = sum(load.rate for load in both)
                    keep(f"HTTP {name} create, two servers, at 2 x {CONNECTIONS // 2}", rate)
                    keep(_processor_time(name, "two servers"), sum(load.rate * load.cpu for load in both) / rate, min)
    return found


def _together(servers: list[Server], seconds: float) -> list[Load]:
    """The loads of servers that are loaded at the same time, with the connections of one shared among them."""
    with ThreadPoolExecutor(len(servers)) as threads:
        asked = [threads.submit(run, server, "create", CONNECTIONS // len(servers), seconds) for server in servers]
        return [one.result() for one in asked]
