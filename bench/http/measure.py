"""All figures of the server, by name."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..targets import Target
from . import disk, load, streams
from .servers import SERVED, Server, cores, servers

STORES = [served for served in SERVED if served != "echo"]
#: A server that has its core to itself uses at least this share of it at 64 connections.
_FULL = 0.8
#: The number of idle streams beside the measured one.
IDLE = 1000
_MESSAGES = 500
#: Seconds for which idle servers are measured; they contain a keepalive.
_IDLE_SECONDS = 16.0
SYNC = "fdatasync of a page, HTTP"
GENERATOR = "load generator, share of its core"


def figures(folder: Path, rounds: int = 2, seconds: float = 3.0, stores: Sequence[str] = STORES) -> dict[str, float]:
    """Measures everything; files are made in a folder below `folder`.

    Requests a second have names such as ``uvicorn memory get at 64``, their latencies the same with `` p50 ms`` and `` p99 ms``,
    and what the server's processor spent on each with `` cpu us``.
    """
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="http-", dir=folder) as files:
        found[SYNC] = disk.sync_ms(Path(files))
        with servers(["echo", *stores], Path(files)) as running:
            for (served, work, connections), saw in load.rates(running, rounds, seconds).items():
                name = f"uvicorn echo at {connections}" if served == "echo" else f"uvicorn {served} {work} at {connections}"
                found |= {name: saw.rate, f"{name} p50 ms": saw.p50, f"{name} p99 ms": saw.p99, f"{name} cpu us": saw.cpu}
                found[GENERATOR] = max(found.get(GENERATOR, 0), saw.generator)
            for store in stores:
                found |= _streams(running[store])
    return found


def _streams(server: Server) -> dict[str, float]:
    """Measure the poll streams of one server."""
    in_memory = server.served == "memory"
    alone, among, idle = streams.measure(server, IDLE, _MESSAGES, _IDLE_SECONDS if in_memory else 0.1)
    found: dict[str, float] = {}
    for arrival, which in ((alone, "1 stream"), (among, f"{IDLE:,} idle")):
        name = f"uvicorn {server.served} message, {which}"
        found |= {f"{name}, p50 ms": arrival.p50, f"{name}, p99 ms": arrival.p99, f"{name}, answer p50 ms": arrival.answer}
    if in_memory:
        found["uvicorn bytes an idle stream"] = idle.bytes
        found[f"uvicorn {IDLE:,} idle streams, cpu %"] = 100 * (idle.cpu - idle.cpu_without)
    return found


def targets(found: dict[str, float]) -> list[Target]:
    """What the figures that were measured are held against."""
    echo = "uvicorn echo at 64"
    every = [Target(f"uvicorn {store} get at 64", 0.7, echo) for store in STORES]
    every += [Target(f"uvicorn SQLite full {work} at 64", 0.5, echo) for work in load.WORKS if work != "get"]
    every += [
        Target(f"uvicorn {store} message, {which}, p50 ms", 5, at_most=True, unit="ms")
        for store in STORES
        for which in ("1 stream", f"{IDLE:,} idle")
    ]
    return [target for target in every if target.figure in found]


def tables(found: dict[str, float]) -> str:
    """Requests a second with their latencies, and messages, as people read them."""
    columns = "".join(f"{f'{count} connection' + ('s' if count > 1 else ''):>34}" for count in load.CONNECTIONS)
    lines = [
        f"{'uvicorn: requests/s (p50, p99 ms; cpu µs)':<43}{columns}{'cpu of the echo / its own, 64':>34}",
        _line("echo", "uvicorn echo", found),
    ]
    for store in STORES:
        names = (f"uvicorn {store} {work}" for work in load.WORKS)
        lines += [_line(name.removeprefix("uvicorn "), name, found) for name in names if f"{name} at 1" in found]
    for label in (f"{store} message, {which}" for store in STORES for which in ("1 stream", f"{IDLE:,} idle")):
        name = f"uvicorn {label}"
        if f"{name}, p50 ms" in found:
            p50, p99, answer = (found[f"{name}, {what} ms"] for what in ("p50", "p99", "answer p50"))
            lines.append(f"{label:<43}p50 {p50:.2f} ms, p99 {p99:.2f} ms; the answer that caused it: p50 {answer:.2f} ms")
    if "uvicorn bytes an idle stream" in found:
        cpu = found[f"uvicorn {IDLE:,} idle streams, cpu %"]
        lines.append(
            f"{f'{IDLE:,} idle streams':<43}{found['uvicorn bytes an idle stream']:,.0f} bytes each, {cpu:.1f} % of a core"
        )
    return "\n".join([*lines, ""])


def how(rounds: int, seconds: float, found: dict[str, float]) -> str:
    """Lines about how it was measured."""
    usable = cores()
    pinned = f"servers on core {usable[0]}, wrk on core {usable[-1]}" if len(usable) > 1 else "nothing is pinned to a core"
    share = found["uvicorn echo at 64"] * found["uvicorn echo at 64 cpu us"] / 1e6
    busy = f"the echo was given {share:.0%} of its core: the machine does other work, and ratios of rates say little\n"
    held = "" if found[SYNC] <= 1 else ": the targets of SQLite full are meant for 1 ms at most"
    return (
        f"HTTP: {pinned}; the best of {rounds} rounds of {seconds:g} s; wrk used at most {found[GENERATOR]:.0%} of its core\n"
        f"{busy if share < _FULL else ''}SQLite full: a write and fdatasync of a page takes {found[SYNC]:.2f} ms{held}"
    )


def _line(label: str, name: str, found: dict[str, float]) -> str:
    cells = []
    for count in load.CONNECTIONS:
        at = f"{name} at {count}"
        cells.append(f"{found[at]:,.0f} ({found[f'{at} p50 ms']:.2f}, {found[f'{at} p99 ms']:.2f}; {found[f'{at} cpu us']:.0f})")
    cells.append(f"{found['uvicorn echo at 64 cpu us'] / found[f'{name} at 64 cpu us']:.2f}")
    return f"{label:<43}" + "".join(f"{cell:>34}" for cell in cells)
