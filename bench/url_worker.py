"""Measures how soon a worker of a server's URL starts a job; from the repository's folder.

python -m bench.url_worker [--jobs N] [--pause MS] [--store NAME] [--out FOLDER]

The server, the worker and this program, which enqueues over HTTP, are processes of their own. A time is from just before the
request that enqueues until the handler runs; jobs are enqueued one at a time, so that each finds an idle worker.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import resonate_core as rc
from resonate_core.worker import Worker

from .aio import share
from .http.servers import SERVED, servers
from .report import also_measured, machine, table, verdict
from .targets import Target

_TYPE = "bench:start"
_STORES = [name for name in SERVED if name != "echo"]
_WARM = 20  # jobs before those that count
_ROOT = Path(__file__).parents[1]
_PATIENCE = 60.0


def now() -> float:
    """Seconds of a clock that all processes of a machine share."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def work(url: str) -> None:
    """A worker's process: prints for each job how many ms after its payload the handler ran."""
    logging.basicConfig(level=logging.WARNING)
    worker = Worker(url)  # with its defaults

    @worker.task(_TYPE)
    def start(sent: float) -> None:
        print((now() - sent) * 1000, flush=True)

    worker.run()


@contextlib.contextmanager
def worker(url: str) -> Iterator[subprocess.Popen[str]]:
    """The worker's process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.url_worker", "--work", url], cwd=_ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(_PATIENCE)


def delays(url: str, jobs: int, pause: float) -> list[float]:
    """How many ms after it was enqueued each job has started."""
    found = []
    with rc.connect(url) as client, worker(url) as process:
        assert process.stdout is not None
        for number in range(jobs + _WARM):
            client.jobs.enqueue(_TYPE, {"sent": now()})
            delay = float(process.stdout.readline())
            if number >= _WARM:
                found.append(delay)
            time.sleep(pause)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.url_worker", description=__doc__)
    parser.add_argument("--jobs", type=int, default=300, help="that are measured (default 300)")
    parser.add_argument("--pause", type=int, default=50, help="between two jobs, in ms (default 50)")
    parser.add_argument("--store", choices=_STORES, action="append", help="may be repeated (default: all)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where figures-url-worker.json goes")
    parser.add_argument("--work", metavar="URL", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work)
        return 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    figures: dict[str, float] = {}
    targets = []
    for store in arguments.store or _STORES:
        with tempfile.TemporaryDirectory(prefix="files-", dir=arguments.out) as folder, servers([store], Path(folder)) as running:
            found = delays(running[store].url, arguments.jobs, arguments.pause / 1000)
        name = f"URL worker starts a job, {store}"
        figures |= {f"{name}, p50 (ms)": statistics.median(found), f"{name}, p99 (ms)": share(found, 0.99)}
        targets.append(Target(f"{name}, p50 (ms)", 10, at_most=True, unit="ms"))
    (arguments.out / "figures-url-worker.json").write_text(json.dumps(figures, indent=1))
    print(machine(), table(figures, targets), also_measured(figures, targets), verdict(figures, targets), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
