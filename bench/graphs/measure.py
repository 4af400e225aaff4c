"""All figures of jobs that wait by name, what they are held against, and their tables."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ..http import disk
from ..jobs.timed import CPU, better
from ..targets import Target
from . import ours, peers, waiting

SYNC = "fdatasync of a page, graphs"
_PLAIN = {"chains": "plain", "chains one by one": "plain", "fan": "plain beside the fan"}


def figures(
    folder: Path, rounds: int, celery_python: Path | None, count: int, width: int, waiters: int
) -> tuple[dict[str, float], list[str]]:
    """Measures everything, of each the best round; files are made in a folder below `folder`.

    Returns what else is to be said, too: how each peer ran, and what could not be measured.
    """
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="graphs-", dir=folder) as made:
        files = Path(made)
        found = {SYNC: disk.sync_ms(files)}
        flows = files / "bullmq"
        flows.mkdir()
        there, missing = peers.install([lambda: peers.celery(celery_python), lambda: peers.bullmq(flows)])
        ways = {}
        for peer in there:
            ways[peer], tried = peers.fastest(peer, files)
            found |= tried
            notes.append(f"{peer} ran in its fastest way of those that were tried: {' '.join(ways[peer])}")
        for turn in range(rounds):
            with tempfile.TemporaryDirectory(dir=files) as fresh:
                seen = ours.measure(Path(fresh), count, width)
                for peer in there:
                    seen |= peers.measure(peer, ways[peer], Path(fresh) / f"{peer}-{turn}", count, width)
            found = better(found, seen)
        if waiters:
            found |= waiting.measure(files, rounds, waiters)
    return found, notes + missing


def targets(found: dict[str, float], waiters: int) -> list[Target]:
    """What the figures that were measured are held against."""
    every = [Target(ours.figure(what), 0.6, ours.figure(_PLAIN[what])) for what in ("chains", "fan")]
    every += [Target(ours.figure(what), 3, peers.figure(*peer, what)) for peer in peers.MEASURED for what in ("chains", "fan")]
    every += [
        Target(waiting.figure(stored, waiters), 1.5, waiting.figure(stored, 0), at_most=True, unit="us")
        for stored in waiting.STORES
    ]
    return [target for target in every if target.figure in found and target.bound in found]


def tables(found: dict[str, float]) -> str:
    """Jobs a second and µs of processor time a job, as people read them."""
    lines = [f"{'from end to end':<44}{'jobs/s':>10}{'cpu µs':>10}"]
    names = [name.removesuffix(CPU) for name in found if name.endswith(CPU)]
    lines += [f"  {name:<42}{found[name]:>10,.0f}{found[name + CPU]:>10,.0f}" for name in names if name in found]
    tried = [name for name in found if "chains, " in name]
    if tried:
        lines.append("ways to run a peer")
        lines += [f"  {name:<42}{found[name]:>10,.0f}" for name in tried]
    lines.append("ratios of rates, and of processor time")
    for what, plain in _PLAIN.items():
        bounds = [ours.figure(plain), *(peers.figure(*peer, what.split(" ")[0]) for peer in peers.MEASURED)]
        lines += [_ratio(found, ours.figure(what), bound) for bound in bounds if bound in found]
    return "\n".join(lines) + "\n"


def _ratio(found: dict[str, float], figure: str, bound: str) -> str:
    rate = found[figure] / found[bound]
    cpu = found[bound + CPU] / found[figure + CPU]
    return f"  {figure + ' : ' + bound:<80}{rate:>8.2f}{cpu:>8.2f}"


def how(rounds: int, found: dict[str, float], count: int, width: int, notes: list[str]) -> str:
    """Lines about how it was measured."""
    load = f"load average {os.getloadavg()[0]:.0f} at the end" if hasattr(os, "getloadavg") else "load average unknown"
    return "\n".join(
        [
            f"{count:,} chains of {ours.LENGTH} and a fan of {width:,} with a join: no-op, payload of 32 characters, lifecycle asynq; "
            f"ours on SQLite FULL, {ours.BATCH:,} jobs a request, {ours.AT_ONCE} at once in the event loop, {ours.AHEAD} claimed ahead; "
            f"live: those jobs; the best of {rounds} rounds",
            f"a write and fdatasync of a page takes {found[SYNC]:.2f} ms; {load}",
            *notes,
        ]
    )
