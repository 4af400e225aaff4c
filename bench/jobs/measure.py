"""All figures of jobs by name, what they are held against, and their tables."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..http import disk
from ..targets import Target
from . import calls, growth, others, workers
from .timed import CPU, better

SYNC = "fdatasync of a page, jobs"
#: A process that has its core to itself uses at least this share of it where it waits for nothing.
_FULL = 0.8


def figures(folder: Path, rounds: int, huey_python: Path | None) -> tuple[dict[str, float], list[str]]:
    """Measures everything, of each rate the best round; files are made in a folder below `folder`.

    Returns what could not be measured, too, and why.
    """
    with tempfile.TemporaryDirectory(prefix="jobs-", dir=folder) as made:
        files = Path(made)
        found = {SYNC: disk.sync_ms(files)}
        no_huey, program = others.why_no_huey(huey_python), others.build_asynq(files)
        for turn in range(rounds):
            with tempfile.TemporaryDirectory(dir=files) as fresh:
                seen = _round(Path(fresh), turn, None if no_huey else huey_python, program)
            found = better(found, seen)
        found |= growth.measure(files, rounds)
    return found, [why for why in (no_huey, program) if isinstance(why, str)]


def _round(folder: Path, turn: int, huey_python: Path | None, asynq: Path | str) -> dict[str, float]:
    """Each side once, one after the other."""
    found = calls.measure(folder) | workers.measure(folder)
    if huey_python is not None:
        found |= others.huey(huey_python, folder, turn)
    if isinstance(asynq, Path):
        found |= others.asynq(asynq, folder, turn)
    return found


def targets(found: dict[str, float]) -> list[Target]:
    """What the figures that were measured are held against."""
    every = [Target(calls.batched("memory"), 300_000)]
    for bound in ("huey SQLite normal, best end to end", "huey SQLite full, best end to end"):
        every += [
            Target(calls.figure("SQLite normal", "cycle", 1), 5, bound),
            Target(calls.batched("SQLite normal"), 20, bound),
            Target(workers.figure("SQLite normal", "single", "best"), 5, bound),
            Target(workers.figure("SQLite normal", "batched", "best"), 20, bound),
        ]
    every += [
        Target(workers.figure("memory", "batched", "best"), 2, "asynq Redis no file, best end to end"),
        Target(workers.figure("SQLite normal", "batched", "best"), 2, "asynq Redis everysec, best end to end"),
    ]
    every += [
        Target(growth.figure(stored, growth.MANY), 2, growth.figure(stored, growth.FEW), at_most=True, unit="us")
        for stored in growth.STORES
    ]
    return [target for target in every if target.figure in found and (target.bound is None or target.bound in found)]


def tables(found: dict[str, float]) -> str:
    """Jobs a second and µs of processor time a job, as people read them."""
    lines = []
    for batch in calls.BATCHES:
        lines.append(_head(f"typed calls, {batch} in a transaction: jobs/s (cpu µs)", [*calls.WORKS]))
        lines += [_line(stored, found, [calls.figure(stored, work, batch) for work in calls.WORKS]) for stored in calls.STORES]
    for way in workers.WAYS:
        lines.append(_head(f"enqueued, then run by Worker, {way}: jobs/s (cpu µs)", [*workers.SETS]))
        lines += [_line(stored, found, [workers.figure(stored, way, who) for who in workers.SETS]) for stored in calls.STORES]
    parts = ("enqueue", "drain", "end to end")
    beside = sorted(
        name.removesuffix(" enqueue") for name in found if name.startswith(("huey", "asynq")) and name.endswith(" enqueue")
    )
    if beside:
        lines.append(_head("beside us: jobs/s (cpu µs)", list(parts)))
        lines += [_line(name, found, [f"{name} {part}" for part in parts]) for name in beside]
    return "\n".join(lines) + "\n"


def how(rounds: int, found: dict[str, float], missing: list[str]) -> str:
    """Lines about how it was measured."""
    alone = calls.figure("memory", "cycle", 100)
    share = found[alone] * found[alone + CPU] / 1e6
    busy = [
        f"this process was given {share:.0%} of a core: the machine does other work, and the processor time of a job tells more than rates"
    ]
    return "\n".join(
        [
            f"jobs: no-op, payload of 32 characters, lifecycle asynq (gone when completed); the best of {rounds} rounds; "
            f"a write and fdatasync of a page takes {found[SYNC]:.2f} ms",
            "huey's consumer and Worker have threads in the process that enqueues, asynq has goroutines in one process; nothing is pinned",
            *(busy if share < _FULL else []),
            *missing,
        ]
    )


def _head(label: str, columns: list[str]) -> str:
    return f"{label:<62}" + "".join(f"{column:>20}" for column in columns)


def _line(label: str, found: dict[str, float], names: list[str]) -> str:
    cells = []
    for name in names:
        cpu = f" ({found[name + CPU]:.1f})" if name + CPU in found else ""
        cells.append(f"{found[name]:,.0f}{cpu}" if name in found else "-")
    return f"{label:<62}" + "".join(f"{cell:>20}" for cell in cells)
