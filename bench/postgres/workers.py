"""Jobs from end to end: ours, River's and procrastinate's, all on one database server.

Each enqueues its jobs in batches of 1,000 and then runs them all; the time covers both, until the last one is completed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import resonate_core as rc
from resonate_core.worker import Worker

from .. import go_program
from ..jobs.calls import PAYLOAD, TYPE, enqueue_all
from ..targets import Target

JOBS = {"Worker": 20_000, "River": 20_000, "procrastinate": 3_000}
#: Jobs that run at once.
AT_ONCE = 100
_HERE = Path(__file__).parent
_PATIENCE = 600.0


def targets(found: dict[str, float]) -> list[Target]:
    """The targets of the figures that could be measured."""
    reaches = {"River": 1.5, "procrastinate": 10.0}
    return [
        Target("PostgreSQL Worker", reach, f"PostgreSQL {name}") for name, reach in reaches.items() if f"PostgreSQL {name}" in found
    ]


def ours(url: str) -> float:
    """Jobs a second of our worker.

    Args:
        url: Of an empty store.
    """
    jobs = JOBS["Worker"]
    with rc.Store(url) as store:
        store.queues.set("default", lifecycle="asynq")
        worker = Worker(store, concurrency=AT_ONCE, batch=200)
        left = jobs

        @worker.task(TYPE)
        async def noop(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                worker.stop()

        began = time.perf_counter()
        enqueue_all(store, jobs, 1000)
        worker.run(signals=False)
        elapsed = time.perf_counter() - began
        if worker.counts.completed != jobs:
            raise RuntimeError(f"{worker.counts} instead of {jobs} completed")
    return jobs / elapsed


def build_river(folder: Path) -> Path | str:
    """Return the built program, or why there is none."""
    if shutil.which("go") is None:
        return "River is not measured: this machine has no go"
    return go_program.build("River", _HERE / "river", folder)


def river(program: Path, url: str, jobs: int = JOBS["River"], at_once: int = AT_ONCE, clients: int = 1) -> dict[str, float]:
    """Jobs a second of River, in a database of its own: `rate` of both parts, `worked` of the second one."""
    counts = ["-count", str(jobs), "-workers", str(at_once), "-clients", str(clients)]
    return _rates([str(program), "-url", url, *counts, "-payload", PAYLOAD])


def procrastinate(
    python: Path, url: str, jobs: int = JOBS["procrastinate"], at_once: int = AT_ONCE, clients: int = 1
) -> dict[str, float] | str:
    """Jobs a second of procrastinate, in a database of its own, as of `river`; or why it is not measured."""
    asked = subprocess.run([python, "-c", "import procrastinate"], capture_output=True, check=False)
    if asked.returncode != 0:
        return f"procrastinate is not measured: {python} has none (scripts/bench installs it)"
    program = str(_HERE / "procrastinate_program.py")
    return _rates([str(python), program, url, str(jobs), str(at_once), PAYLOAD, str(clients)])


def _rates(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PATIENCE)
    rates: dict[str, float] = json.loads(done.stdout)
    return rates
