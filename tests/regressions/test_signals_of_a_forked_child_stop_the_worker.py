"""A child that a handler had forked had the worker's handlers and wrote its signals into the worker's pipe.

A signal to the child stopped the worker, the child did not end, and a signal to the process group counted once for each child: the
worker was ended by force at once. The child of a fork has the handlers of before the worker, and no pipe.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import resonate_core as rc

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

PROGRAM = """
import asyncio, inspect, multiprocessing, os, signal, subprocess, sys, time
from resonate_core.worker import Worker

path, kind = sys.argv[1:3]
fork = multiprocessing.get_context("fork")
worker = Worker(path, poll_interval=20, grace=60_000, lease=600_000, name="w")

def sleep_long():
    time.sleep(600)

def exit_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def process():
    child = fork.Process(target=sleep_long)
    child.start()
    child.terminate()  # at once: it may not have left the fork
    child.join()
    return child.exitcode

def interrupted():
    # Python loses an interrupt that comes while hooks of the fork run, so the child first says that it runs. In the child of a
    # thread, CPython 3.13 notices an interrupt only if it ends a system call, so there may be several.
    runs = fork.Event()

    def sleep_when_seen():
        runs.set()
        sleep_long()

    child = fork.Process(target=sleep_when_seen)
    child.start()
    runs.wait()
    while child.is_alive():
        os.kill(child.pid, signal.SIGINT)
        child.join(0.05)
    return child.exitcode in (1, -signal.SIGINT)  # a KeyboardInterrupt, as in any child


def pool():
    with fork.Pool(3) as pool:
        pool.apply_async(sleep_long)
        children = list(pool._pool)
    pool.join()
    return any(child.is_alive() for child in children)

def forked():
    child = os.fork()
    if not child:
        sleep_long()
        os._exit(0)
    os.kill(child, signal.SIGTERM)
    return exit_of(child)

def command():
    child = subprocess.Popen(["sleep", "600"], preexec_fn=lambda: None)
    child.terminate()
    return child.wait()

def nested():
    def begin():
        child = fork.Process(target=sleep_long)
        child.start()
        child.terminate()
        child.join()
        os._exit(0 if child.exitcode == -signal.SIGTERM else 1)
    child = fork.Process(target=begin)
    child.start()
    child.join()
    return child.exitcode

async def in_loop():
    return process()

def group():
    children = [fork.Process(target=sleep_long, daemon=True) for _ in range(3)]
    for child in children:
        child.start()
    print("began", flush=True)
    for child in children:
        child.join()
    time.sleep(0.5)  # within the grace
    return [child.exitcode for child in children]

@worker.task("last")
def last():
    worker.stop()

handler = globals()[kind]
if kind != "group":  # a stop by the child's signal comes before the last job is enqueued, so that it does not run

    def then_last():
        found = globals()[kind]()
        last.enqueue()
        return found

    async def then_last_in_loop():
        found = await globals()[kind]()
        last.enqueue()
        return found

    handler = then_last_in_loop if inspect.iscoroutinefunction(handler) else then_last
worker.task(kind, max_retries=0)(handler)
worker.enqueue(kind, id="the-job")
worker.run()
print("ran", flush=True)
"""


@contextmanager
def worker(tmp_path: Path, kind: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "jobs.db"), kind]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as program:
        try:
            yield program
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)


def result_of(tmp_path: Path) -> object:
    with rc.Store(tmp_path / "jobs.db") as store:
        job = store.jobs.get("the-job")
        assert job.state == "completed", job.error
        return job.result.json()


TIMEOUT = 120
TERM = -signal.SIGTERM


@pytest.mark.parametrize(
    ("kind", "exits"),
    [
        ("process", TERM),
        ("interrupted", True),
        ("pool", False),
        ("forked", TERM),
        ("command", TERM),
        ("nested", 0),
        ("in_loop", TERM),
    ],
)
def test_a_signal_to_a_child_ends_the_child_alone(tmp_path: Path, kind: str, exits: object) -> None:
    with worker(tmp_path, kind) as program:
        out, err = program.communicate(timeout=TIMEOUT)
    assert (program.returncode, out) == (0, "ran\n"), err
    assert result_of(tmp_path) == exits
    with rc.Store(tmp_path / "jobs.db") as store:
        assert [job.state for job in store.jobs.search(type="last")] == ["completed"]  # nothing else had stopped the worker


def test_a_signal_to_the_group_leaves_the_grace(tmp_path: Path) -> None:
    with worker(tmp_path, "group") as program:
        assert program.stdout is not None and program.stdout.readline() == "began\n"
        os.killpg(program.pid, signal.SIGTERM)
        out, err = program.communicate(timeout=TIMEOUT)
    assert (program.returncode, out) == (0, "ran\n"), err
    assert result_of(tmp_path) == [TERM] * 3


def test_the_worker_still_hears_its_signals_after_a_fork(tmp_path: Path) -> None:
    with worker(tmp_path, "group") as program:
        assert program.stdout is not None and program.stdout.readline() == "began\n"
        program.send_signal(signal.SIGTERM)
        program.send_signal(signal.SIGINT)  # the second one ends the grace; the children still sleep
        out, err = program.communicate(timeout=TIMEOUT)
    assert (program.returncode, out) == (0, "ran\n"), err
    with rc.Store(tmp_path / "jobs.db") as store:
        assert (store.jobs.get("the-job").state, store.jobs.get("the-job").retry_count) == ("pending", 0)


def test_a_fork_without_a_worker_keeps_the_handlers() -> None:
    assert threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, lambda number, frame: os._exit(7))
    try:
        child = os.fork()
        if not child:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    finally:
        signal.signal(signal.SIGTERM, before)
