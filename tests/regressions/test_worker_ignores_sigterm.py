"""A worker whose handler blocked the event loop, or swallowed its cancellation, ignored SIGTERM for as long as the handler ran."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import resonate_core as rc
from tiers import chess

PROGRAM = """
import asyncio, sys, threading, time
from resonate_core.worker import Worker

path, kind, grace = sys.argv[1:4]
worker = Worker(path, grace=int(grace), poll_interval=20, lease=600_000, name="w")

@worker.task("blocks")
async def blocks():
    print("began", flush=True)
    time.sleep(600)

@worker.task("spins")
async def spins():
    print("began", flush=True)
    while True:
        pass

@worker.task("blocks-in-c")
async def blocks_in_c():
    import ctypes, os
    print("began", flush=True)
    ctypes.CDLL(None).sleep(600)
    ctypes.CDLL(None).sleep(600)  # a signal ends the first one
    ctypes.CDLL(None).sleep(600)

@worker.task("blocks-briefly")
async def blocks_briefly():
    print("began", flush=True)
    time.sleep(0.3)
    await asyncio.sleep(600)

@worker.task("swallows")
async def swallows():
    print("began", flush=True)
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass

@worker.task("waits")
async def waits():
    print("began", flush=True)
    await asyncio.sleep(600)

@worker.task("ends")
def ends():
    print("began", flush=True)
    time.sleep(0.2)

if len(sys.argv) > 4:
    import uvloop
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
worker.enqueue(kind, id="the-job")
worker.run()
print("ran", flush=True)
"""


@contextmanager
def worker(tmp_path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Starts the program, and waits until its handler has begun."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "jobs.db"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None and program.stdout.readline() == "began\n"
            yield program
        finally:
            program.kill()


def ended(program: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Returns its exit code and its output. It may take a minute; its handlers take ten."""
    out, err = program.communicate(timeout=60)
    return program.returncode, out, err


def in_store(tmp_path: Path, look: Callable[[rc.Job], object]) -> object:
    with rc.Store(tmp_path / "jobs.db") as store:
        return look(store.jobs.get("the-job"))


@pytest.mark.parametrize(("kind", "number"), chess(["blocks", "spins", "blocks-in-c"], [signal.SIGTERM, signal.SIGINT]))
def test_a_handler_that_blocks_the_loop(tmp_path: Path, kind: str, number: signal.Signals) -> None:
    with worker(tmp_path, kind, "100") as program:
        program.send_signal(number)
        code, out, err = ended(program)
    assert (code, out) == (1, "")
    assert f"worker 'w' is ended by force: job 'the-job' ({kind}): it blocks the event loop" in err
    assert in_store(tmp_path, lambda job: job.state) == "running"


def test_a_handler_that_swallows_its_cancellation(tmp_path: Path) -> None:
    with worker(tmp_path, "swallows", "100") as program:
        program.send_signal(signal.SIGTERM)
        code, out, err = ended(program)
    assert (code, out) == (1, "")
    assert "worker 'w' is ended by force: job 'the-job' (swallows): its handler did not end when it was cancelled" in err
    assert in_store(tmp_path, lambda job: (job.state, job.retry_count)) == ("pending", 0)  # it was put back all the same


def test_two_signals_in_a_row_put_back_what_runs(tmp_path: Path) -> None:
    """The event loop had no time to begin its stop before the second signal, and so was taken for a blocked one."""
    with worker(tmp_path, "blocks-briefly", "3600000") as program:
        program.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        program.send_signal(signal.SIGINT)
        code, out, err = ended(program)
    assert (code, out) == (0, "ran\n"), err
    assert in_store(tmp_path, lambda job: (job.state, job.retry_count)) == ("pending", 0)


def test_a_second_signal_ends_a_blocked_worker_at_once(tmp_path: Path) -> None:
    with worker(tmp_path, "blocks", "3600000") as program:
        program.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(0.5)  # the first one leaves it its hour
        program.send_signal(signal.SIGTERM)
        code, _, err = ended(program)
    assert code == 1 and "job 'the-job' (blocks): the event loop has been blocked" in err


def test_a_second_signal_cuts_the_grace(tmp_path: Path) -> None:
    with worker(tmp_path, "waits", "3600000") as program:
        program.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(0.5)
        program.send_signal(signal.SIGINT)
        assert ended(program) == (0, "ran\n", "")
    assert in_store(tmp_path, lambda job: (job.state, job.retry_count)) == ("pending", 0)


@pytest.mark.parametrize("loop", [(), ("uvloop",)], ids=["asyncio", "uvloop"])
def test_a_stop_in_order_is_none_by_force(tmp_path: Path, loop: tuple[str, ...]) -> None:
    with worker(tmp_path, "ends", "60000", *loop) as program:
        program.send_signal(signal.SIGTERM)
        assert ended(program) == (0, "ran\n", "")
    assert in_store(tmp_path, lambda job: job.state) == "completed"


def test_under_uvloop_too(tmp_path: Path) -> None:
    with worker(tmp_path, "blocks", "100", "uvloop") as program:
        program.send_signal(signal.SIGTERM)
        code, _, err = ended(program)
    assert code == 1 and "job 'the-job' (blocks): it blocks the event loop" in err
