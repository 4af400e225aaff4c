"""Outages of PostgreSQL under load: no acknowledged change is lost, and each job completes once.

RESONATE_OUTAGES_SEED repeats the faults of a run.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import backends
import postgres_server
import resonate_core as rc

TESTS = Path(__file__).parents[1]
LOAD = TESTS / "server" / "load_and_kill.py"
JOBS = TESTS / "integration" / "jobs" / "kill_workers.py"
FAR = 10**15


@contextlib.contextmanager
def started(program: Path, url: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a program; if the test ends early, the program ends its own processes."""
    command = [sys.executable, str(program), "--store", url, "--faults", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate()


def finished(process: subprocess.Popen[str]) -> dict[str, int]:
    """Waits for a program, prints its output and returns the numbers in it."""
    out, err = process.communicate(timeout=300)
    print(out)
    assert process.returncode == 0, out + err
    return {name: int(count) for name, count in re.findall(r"([a-z][a-z ]*[a-z]) (\d+)", out)}


def recovery(store: rc.Store, fault: Callable[[], object], id: str) -> float:
    """Causes a fault; returns the time in seconds until a commit succeeds."""
    begin = time.monotonic()
    fault()
    while True:
        try:
            store.promises.create(id, FAR)
            return time.monotonic() - begin
        except rc.StoreError:
            time.sleep(0.02)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_terminated_backends_and_restarts_while_servers_and_workers_are_killed() -> None:
    backends.require(backends.POSTGRES)
    seed = int(os.environ.get("RESONATE_OUTAGES_SEED", secrets.randbelow(10**6)))
    print(f"seed {seed}")
    chance = random.Random(seed)
    with contextlib.ExitStack() as ends:
        server = ends.enter_context(postgres_server.running(durable=True))
        server.create_database("app")
        words = ["--seconds", "60", "--seed", str(seed)]
        kills = ends.enter_context(started(LOAD, server.url("app", schema="served"), "--kills", "15", *words))
        workers = ends.enter_context(started(JOBS, server.url("app", schema="jobs"), *words))
        faults: dict[str, Callable[[], object]] = {
            "backends terminated": lambda: server.terminate_backends("app"),
            "server restarted": lambda: server.restart("immediate"),
        }
        times: dict[str, list[float]] = {name: [] for name in faults}
        end = time.monotonic() + 60
        with rc.Store(server.url("app", schema="probe")) as probe:
            while time.monotonic() < end:
                time.sleep(chance.uniform(1, 4))
                name = chance.choice(list(faults))
                times[name].append(recovery(probe, faults[name], f"p{sum(map(len, times.values()))}"))
            assert len(probe.promises.search(limit=1000)) == sum(map(len, times.values()))
        served, done = finished(kills), finished(workers)
    for name, seconds in times.items():
        print(f"{name} {len(seconds)} times, s to recover: {' '.join(f'{one:.2f}' for one in seconds)}")
    assert served["acknowledged"] > 1000 and served["messages"] > 100
    assert served["acknowledged and lost"] == served["messages lost"] == 0
    assert done["jobs"] == done["completions"] > 100 and done["kills"] > 10
    assert done["lost"] == done["completed twice"] == done["claimed twice"] == 0


@pytest.mark.parametrize("seconds", [6, pytest.param(30, marks=pytest.mark.full)])
@pytest.mark.timeout(300)
def test_a_failover_to_a_synchronous_standby(seconds: int) -> None:
    backends.require(backends.POSTGRES)
    with contextlib.ExitStack() as ends:
        primary = ends.enter_context(postgres_server.running())
        ends.enter_context(postgres_server.kept(folder := postgres_server.new_folder()))
        primary.create_database("app")
        standby = postgres_server.PostgresServer(folder)
        primary.copy_to(standby)
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://{postgres_server.USER}@{hosts}/app?target_session_attrs=read-write"
        load = ends.enter_context(started(LOAD, f"{url}&schema=served", "--seconds", str(seconds), "--kills", "0"))
        with rc.Store(f"{url}&schema=probe") as probe:
            probe.promises.create("before", FAR)
            time.sleep(seconds / 2)

            def fail_over() -> None:
                primary.stop("immediate")
                standby.promote()

            print(f"failover: {recovery(probe, fail_over, 'after'):.2f} s to recover")
            assert {promise.id for promise in probe.promises.search()} == {"before", "after"}
        served = finished(load)
    assert served["acknowledged"] > 100 and served["messages"] > 10
    assert served["acknowledged and lost"] == served["messages lost"] == 0
