"""A server on a database beside one on a file, and two servers on one database."""

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
    one, two = _processor_time("one server"), _processor_time("two servers")
    return [*made, Target(two, 1.2, one, at_most=True, unit="us")]


def _processor_time(who: str) -> str:
    return f"HTTP PostgreSQL create, {who}, processor time a request"


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
        for name, place in ((FILE, None), ("PostgreSQL", url), ("second", url)):
            running[name] = Server(name, folder, core, place)
            stack.callback(running[name].end)
            running[name].begin()
        for _ in range(rounds):
            for work in WORKS:
                for name in (FILE, "PostgreSQL"):
                    load = run(running[name], work, CONNECTIONS, seconds)
                    keep(f"HTTP {name} {work} at {CONNECTIONS}", load.rate)
            for _ in range(TURNS):
                keep(_processor_time("one server"), run(running["PostgreSQL"], "create", CONNECTIONS, seconds).cpu, min)
                both = _together([running["PostgreSQL"], running["second"]], seconds)
                rate = sum(load.rate for load in both)
                keep(f"HTTP PostgreSQL create, two servers, at 2 x {CONNECTIONS // 2}", rate)
                keep(_processor_time("two servers"), sum(load.rate * load.cpu for load in both) / rate, min)
    return found


def _together(servers: list[Server], seconds: float) -> list[Load]:
    """The loads of servers that are loaded at the same time, with the connections of one shared among them."""
    with ThreadPoolExecutor(len(servers)) as threads:
        asked = [threads.submit(run, server, "create", CONNECTIONS // len(servers), seconds) for server in servers]
        return [one.result() for one in asked]
