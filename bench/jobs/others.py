"""Those beside us, each a program of its own: huey with its own Python, asynq with a Redis that is started for it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from .. import go_program, redis_server
from .calls import PAYLOAD
from .timed import CPU, cpu_seconds

_HERE = Path(__file__).parent
_PATIENCE = 300.0
_HUEY_JOBS = {"normal": 5_000, "full": 1_000}
_HUEY_THREADS = (1, 4)
_ASYNQ_JOBS = 20_000
#: Tasks at once, and goroutines that enqueue: one, four, and more than bring anything.
_ASYNQ_SIZES = (1, 4, 64)
#: How asynq's Redis keeps its data.
_ASYNQ_KEPT = ("no file", "everysec")


def end_to_end(enqueue: float, drain: float) -> float:
    """Jobs a second where all are enqueued and then all are worked off."""
    return 1 / (1 / enqueue + 1 / drain)


def _figures(command: list[str]) -> dict[str, float]:
    """What a program prints as JSON (enqueue and drain a second, µs of processor time a job), and the rate of both parts together."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PATIENCE)
    found: dict[str, float] = json.loads(done.stdout)
    return found | {"end to end": end_to_end(found["enqueue"], found["drain"])}


def _named(seen: dict[str, dict[str, float]], group: str) -> dict[str, float]:
    """Figures of a group by name, and the best of them."""
    found = {}
    for size, rates in seen.items():
        found |= {f"{group}, {size} {what}": rates[what] for what in ("enqueue", "drain", "end to end")}
        found[f"{group}, {size} end to end{CPU}"] = rates["cpu us"]
    return found | {f"{group}, best end to end": max(rates["end to end"] for rates in seen.values())}


def why_no_huey(python: Path | None) -> str | None:
    """Why huey cannot be measured, or None."""
    if python is None:
        return "huey is not measured: --huey-python names no Python that has it (scripts/bench makes one)"
    asked = subprocess.run([python, "-c", "import huey"], capture_output=True, text=True, check=False)
    return None if asked.returncode == 0 else f"huey is not measured: {python} has none: {asked.stderr.strip().splitlines()[-1]}"


def huey(python: Path, folder: Path, turn: int) -> dict[str, float]:
    """Jobs a second of huey, with the synchronous settings that our files have; full is its own."""
    found: dict[str, float] = {}
    for synchronous, jobs in _HUEY_JOBS.items():
        seen = {}
        for threads in _HUEY_THREADS:
            file = folder / f"huey-{turn}-{synchronous}-{threads}.db"
            command = [str(python), str(_HERE / "huey_program.py"), str(file), str(jobs), str(threads), synchronous, PAYLOAD]
            seen["1 thread" if threads == 1 else f"{threads} threads"] = _figures(command)
        found |= _named(seen, f"huey SQLite {synchronous}")
    return found


def build_asynq(folder: Path) -> Path | str:
    """The built program, or why there is none."""
    if not Path("/proc/self/stat").exists():
        return "asynq is not measured: the processor time of its Redis is read from /proc, which is Linux's"
    missing = [name for name in ("go", "redis-server") if shutil.which(name) is None]
    if missing:
        return f"asynq is not measured: this machine has no {' and no '.join(missing)}"
    return go_program.build("asynq", _HERE / "asynq", folder)


def asynq(program: Path, folder: Path, turn: int) -> dict[str, float]:
    """Jobs a second of asynq, and µs of processor time a job of its program and of Redis together."""
    found: dict[str, float] = {}
    for kept in _ASYNQ_KEPT:
        seen = {}
        with redis_server.running(folder / f"redis-{turn}-{kept.replace(' ', '-')}", redis_server.KEPT[kept]) as (address, server):
            command = [str(program), "-address", address, "-count", str(_ASYNQ_JOBS), "-payload", PAYLOAD]
            for size in _ASYNQ_SIZES:
                used = cpu_seconds(server)
                rates = _figures([*command, "-producers", str(size), "-concurrency", str(size)])
                rates["cpu us"] += 1e6 * (cpu_seconds(server) - used) / _ASYNQ_JOBS
                seen[f"{size} at once"] = rates
        found |= _named(seen, f"asynq Redis {kept}")
    return found
