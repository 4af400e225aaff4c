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
import pgbouncer
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


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have started."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def stand_still(pids: list[int], seconds: float) -> None:
    """Stops processes for so long: longer than a writer may stand still in a transaction."""
    for sent in (signal.SIGSTOP, signal.SIGCONT):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)
        if sent == signal.SIGSTOP:
            time.sleep(seconds)


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", [backends.POSTGRES, backends.PGBOUNCER], ids=lambda way: way.name)
def test_outages_while_servers_and_workers_are_killed(way: backends.BackEnd) -> None:
    """Backends are terminated, the database and the pooler restart, and processes stand still."""
    backends.require(way)
    seed = int(os.environ.get("RESONATE_OUTAGES_SEED", secrets.randbelow(10**6)))
    print(f"seed {seed}")
    chance = random.Random(seed)
    with contextlib.ExitStack() as ends:
        server = ends.enter_context(postgres_server.running(durable=True))
        server.create_database("app")
        pooler = ends.enter_context(contextlib.ExitStack())
        pooler_port = pooler.enter_context(pgbouncer.running(server.port)).port if way is backends.PGBOUNCER else None

        def url(schema: str) -> str:
            plain = server.url("app", schema=schema)
            return pgbouncer.PgBouncer(pooler_port).url(plain) if pooler_port else plain

        words = ["--seconds", "60", "--seed", str(seed)]
        kills = ends.enter_context(started(LOAD, url("served"), "--kills", "15", *words))
        workers = ends.enter_context(started(JOBS, url("jobs"), *words))

        def restart_pooler() -> None:
            pooler.close()
            pooler.enter_context(pgbouncer.running(server.port, pooler_port))

        def stop_some() -> None:
            running = descendants(kills.pid) + descendants(workers.pid)
            stand_still(chance.sample(running, min(2, len(running))), 3)

        faults: dict[str, Callable[[], object]] = {
            "backends terminated": lambda: server.terminate_backends("app"),
            "server restarted": lambda: server.restart("immediate"),
            "processes stood still": stop_some,
        }
        if pooler_port:
            faults["pooler restarted"] = restart_pooler
        times: dict[str, list[float]] = {name: [] for name in faults}
        end = time.monotonic() + 60
        with rc.Store(url("probe")) as probe:
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
