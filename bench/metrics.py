"""Measures what the metrics cost the job bench, in processor time; from the repository's folder.

python -m bench.metrics [--rounds N] [--store memory]

A server counts the commits of its store in a watch, and sums them up for each scrape. So the same jobs are run three times in turn:
without a watch, with a watch, and with a watch and a scrape every second. Prometheus scrapes every 15 seconds or less often.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import resonate_core as rc
from resonate_core.server.metrics import Metrics

from .jobs import calls, workers
from .report import machine

_SECOND = 1.0
_LIMIT = 0.02
#: Jobs of a round: a second or two.
_JOBS = {"memory": 200_000, "SQLite normal": 40_000}


def _cycle(batch: int) -> Callable[[rc.Store, int], None]:
    def run(store: rc.Store, jobs: int) -> None:
        calls.enqueue_all(store, jobs, batch)
        calls.work_off(store, jobs, batch)

    return run


def _worker(store: rc.Store, jobs: int) -> None:
    workers.run_all(store, jobs, "batched", "100 in the loop")()


#: The ways to run the jobs, and how many of `_JOBS` are one round.
WAYS: dict[str, tuple[Callable[[rc.Store, int], None], float]] = {
    "typed calls, 1 in a transaction": (_cycle(1), 1.0),
    "typed calls, 100 in a transaction": (_cycle(100), 2.0),
    "Worker, batched, 100 in the loop": (_worker, 0.5),
}


@contextlib.contextmanager
def unwatched(store: rc.Store) -> Iterator[None]:
    yield


@contextlib.contextmanager
def watched(store: rc.Store) -> Iterator[None]:
    watch = store.watch(-1)
    yield
    watch.close()


@contextlib.contextmanager
def scraped(store: rc.Store) -> Iterator[None]:
    watch, metrics, ended = store.watch(-1), Metrics(), threading.Event()

    def scrape() -> None:
        while not ended.wait(_SECOND):
            metrics.read(store, watch)
            metrics.exposition()

    thread = threading.Thread(target=scrape)
    thread.start()
    yield
    ended.set()
    thread.join()
    watch.close()


LOOKS = {"no watch": unwatched, "a watch": watched, "a watch, scraped each second": scraped}


def _took(stored: str, folder: Path, run: Callable[[rc.Store, int], None], jobs: int, look: str) -> float:
    """Return the processor time of a job, in us."""
    with calls.open_store(stored, folder) as store, LOOKS[look](store):
        gc.collect()
        gc.disable()
        began = time.process_time()
        run(store, jobs)
        took = time.process_time() - began
        gc.enable()
    return took / jobs * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.metrics", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--store", choices=_JOBS, action="append")
    given = parser.parse_args()
    print(
        f"{machine()}\nno-op jobs, 32 characters of payload; {given.rounds} rounds that alternate; target: at most {_LIMIT:.0%} more"
    )
    for stored in given.store or _JOBS:
        for name, (run, part) in WAYS.items():
            jobs = int(_JOBS[stored] * part) // 1000 * 1000
            seen: dict[str, list[float]] = {look: [] for look in LOOKS}
            with tempfile.TemporaryDirectory(prefix="metrics-") as folder:
                for _ in range(given.rounds):
                    for look, times in seen.items():
                        times.append(_took(stored, Path(folder), run, jobs, look))
            bare = seen["no watch"]
            for look, times in seen.items():
                more = statistics.median(one / other for one, other in zip(times, bare, strict=True)) - 1
                best = f"{min(times):8.2f} us/job   {min(times) / min(bare) - 1:+7.2%} best"
                print(f"{stored:<14} {name:<36} {look:<30} {best}   {more:+7.2%} median")


if __name__ == "__main__":
    main()
