"""Requests a second and their latency, by wrk (https://github.com/wg/wrk; Debian's package ``wrk``)."""

from __future__ import annotations

import itertools
import json
import os
import resource
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .servers import Server, cores, on_core

WORKS = {"get": "get", "create": "create", "create + settle": "settle", "task cycle": "cycle"}
CONNECTIONS = (1, 16, 64)

_SCRIPT = Path(__file__).with_name("requests.lua")
_tags = itertools.count()


@dataclass(frozen=True)
class Load:
    """What one run of wrk saw.

    Attributes:
        rate: Requests a second.
        p50: Half of the answers came within so many ms.
        p99: 99 of 100 did.
        cpu: µs of processor time that the server used for a request. Other work on the machine moves it less than the rate.
        generator: The share of a core that wrk itself used.
    """

    rate: float
    p50: float
    p99: float
    cpu: float
    generator: float


def why_not() -> str | None:
    """Why the server cannot be measured here; None: it can."""
    if not Path("/proc/self/smaps_rollup").exists():
        return "requests over HTTP are measured on Linux only: what a server uses is read from /proc"
    if shutil.which("wrk") is None:
        return "wrk is not installed (apt-get install wrk): requests over HTTP are not measured"
    return None


def run(server: Server, work: str, connections: int, seconds: float) -> Load:
    """Loads a server.

    Raises:
        RuntimeError: An answer was an error, or a connection broke.
    """
    usable = cores()
    command = on_core(usable[-1] if len(usable) > 1 else None)
    command += ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "-s", str(_SCRIPT), server.url, "--"]
    command += [WORKS[work], str(connections), f"{os.getpid()}-{next(_tags)}"]
    before, started, cpu = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), server.cpu_seconds()
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after, elapsed = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
    cpu = server.cpu_seconds() - cpu
    saw = json.loads(said.splitlines()[-1])
    if saw["refused"] or saw["broken"]:
        raise RuntimeError(f"{work} at {connections} on {server.served}: {saw}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    each = 1e6 * cpu / saw["requests"]
    return Load(saw["requests"] / saw["us"] * 1e6, saw["p50"] / 1e3, saw["p99"] / 1e3, each, used / elapsed)


def rates(running: dict[str, Server], rounds: int, seconds: float) -> dict[tuple[str, str, int], Load]:
    """By what is served, work and connections: the best of some rounds.

    In each round every server is asked once; an echo is measured right before what it is held against.
    """
    best: dict[tuple[str, str, int], Load] = {}
    for _ in range(rounds):
        for connections in CONNECTIONS:
            for served, server in running.items():
                for work in ("get",) if served == "echo" else WORKS:
                    load = run(server, work, connections, seconds)
                    key = (served, work, connections)
                    if key not in best or load.rate > best[key].rate:
                        best[key] = load
    return best
