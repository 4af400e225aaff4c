"""Workers as processes: signals, and kills."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import until

import resonate_core as rc

PROGRAM = Path(__file__).parent / "crash_program.py"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[rc.Store]:
    with rc.Store(tmp_path / "jobs.db", durability="normal") as opened:
        yield opened


@pytest.fixture
def start(tmp_path: Path, store: rc.Store) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    running = []

    def started(lease: int = 60_000) -> subprocess.Popen[bytes]:
        running.append(subprocess.Popen([sys.executable, str(PROGRAM), str(tmp_path / "jobs.db"), str(tmp_path), str(lease)]))
        return running[-1]

    yield started
    for process in running:
        process.kill()
        process.wait()


def enqueue(store: rc.Store, n: int, wait: float, first: float = 0, **options: object) -> rc.Job:
    return store.jobs.enqueue("t", {"n": n, "wait": wait, "first": first}, **options)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_it_finish(store: rc.Store, start, tmp_path: Path, number):
    job = enqueue(store, 1, 0.3)
    process = start()
    until(lambda: (tmp_path / "began-1-1").exists())
    process.send_signal(number)
    assert process.wait(60) == 0
    assert (tmp_path / "stopped").exists()
    assert store.jobs.get(job.id).state == "completed"


def test_a_second_signal_puts_back_what_runs(store: rc.Store, start, tmp_path: Path):
    """The process ends, although one of its threads does not."""
    job = enqueue(store, 1, 3600)
    process = start()
    until(lambda: (tmp_path / "began-1-1").exists())
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    put_back = store.jobs.get(job.id)
    assert (put_back.state, put_back.retry_count) == ("pending", 0)


def test_what_a_dead_worker_held_is_done_by_another(store: rc.Store, start, tmp_path: Path):
    policy = {"kind": "fixed", "intervals": [0]}
    jobs = [enqueue(store, n, 1.0, first=3600 if n < 2 else 0, retry_policy=policy) for n in range(4)]
    first = start(lease=4_000)
    until(lambda: (tmp_path / "began-0-1").exists() and (tmp_path / "began-1-1").exists())
    first.kill()
    first.wait()
    start()
    until(lambda: all(store.jobs.get(job.id).state == "completed" for job in jobs))
    attempts = [[(each["outcome"], each.get("error", {}).get("code")) for each in store.jobs.get(job.id).attempts] for job in jobs]
    assert attempts == [[("crashed", "WorkerCrashed"), ("completed", None)]] * 2 + [[("completed", None)]] * 2
