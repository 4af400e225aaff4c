"""Many workers on one database: a commit that brings a job wakes a few of them, and who finds nothing takes no lock."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import libpq
import resonate_core as rc
from postgres_urls import plain, schema_of
from resonate_core.calls.wakeup import Wakeup
from resonate_core.worker import JobContext, Worker
from resonate_core.worker.store_client import StoreClient

PATIENCE = 60.0
WORKERS = 8
JOBS = 40

pytestmark = pytest.mark.timeout(240)


def locks_taken(url: str) -> int:
    """How often a transaction has asked for the write lock of the store, as far as the sessions have reported it."""
    reads = f"SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE schemaname = '{schema_of(url)}' AND relname = 'write_lock'"
    with libpq.Connection(plain(url)) as server:
        return int(str(server.execute(reads)[0][0]))


def wait_until(true: object, why: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, why
        time.sleep(0.02)


def enqueue_elsewhere(url: str, *ids: str, queue: str = "default", pause: float = 0.0) -> None:
    make = (
        "import sys, time, resonate_core as rc\n"
        "with rc.Store(sys.argv[1]) as store:\n"
        "    for id in sys.argv[4:]: store.jobs.enqueue('t', id=id, queue=sys.argv[2]); time.sleep(float(sys.argv[3]))"
    )
    subprocess.run([sys.executable, "-c", make, url, queue, str(pause), *ids], check=True)


def test_a_fleet_of_idle_workers_takes_few_locks(postgres_url: str) -> None:
    """Each enqueue, claim and completion takes the lock at most once; seven idle workers took it after each enqueue, and again when they polled."""
    ran: list[str] = []

    async def fleet() -> None:
        stores = [rc.Store(postgres_url) for _ in range(WORKERS)]
        workers = [Worker(store, concurrency=1) for store in stores]
        for worker in workers:

            @worker.task("t")
            async def run(context: JobContext) -> None:
                ran.append(context.id)

        serving = [asyncio.create_task(worker.serve()) for worker in workers]
        end = time.monotonic() + PATIENCE
        while rc.database_counts()["listening_workers"] < WORKERS:  # each counts the others when it begins
            assert time.monotonic() < end, "the workers did not see each other"
            await asyncio.sleep(0.1)
        await asyncio.sleep(3)  # until all have counted
        before = locks_taken(postgres_url)
        shared = rc.database_counts()["shared_commits"]
        await asyncio.to_thread(enqueue_elsewhere, postgres_url, *(f"j{number}" for number in range(JOBS)), pause=0.1)
        while len(ran) < JOBS:
            assert time.monotonic() < end, "a job was not run"
            await asyncio.sleep(0.05)
        await asyncio.sleep(2)  # sessions report their statistics once a second
        taken = locks_taken(postgres_url) - before
        shared = rc.database_counts()["shared_commits"] - shared
        for worker in workers:
            worker.stop()
        await asyncio.gather(*serving)
        for store in stores:
            store.close()
        assert sorted(ran) == sorted(f"j{number}" for number in range(JOBS))
        assert taken + shared >= 2 * JOBS, "the locks were not counted"
        assert taken < WORKERS * JOBS, taken / JOBS

    asyncio.run(fleet())


@contextlib.contextmanager
def listening(store: rc.Store, **options: object) -> Iterator[Wakeup]:
    wakeup = Wakeup(lambda descriptor: store.watch(descriptor, **options))  # type: ignore[arg-type]
    try:
        wakeup.wait(PATIENCE)  # it listens from now on, and reads earlier commits once
        wakeup.rearm(None)
        yield wakeup
    finally:
        wakeup.close()


def is_woken(wakeup: Wakeup) -> bool:
    return bool(select.select([wakeup._reader], [], [], 0)[0])


def test_a_job_wakes_the_workers_of_its_queue(postgres_url: str) -> None:
    with (
        rc.Store(postgres_url) as store,
        listening(store, queues=["mine"]) as worker,
        contextlib.closing(Wakeup(store.watch)) as everybody,  # the same thread wakes both: this one last
    ):
        enqueue_elsewhere(postgres_url, "a", queue="other")
        everybody.wait(PATIENCE)
        everybody.rearm(None)
        assert not is_woken(worker)
        enqueue_elsewhere(postgres_url, "b", queue="mine")
        wait_until(lambda: is_woken(worker), "a job of its queue did not wake it")


def test_a_notice_of_an_earlier_release_wakes_everybody(postgres_url: str) -> None:
    with rc.Store(postgres_url) as store, listening(store, queues=["mine"]) as worker:
        with libpq.Connection(plain(postgres_url)) as server:
            for odd in ("none", f"{schema_of(postgres_url)} x", f"{schema_of(postgres_url)} 1 later:1"):
                server.execute(f"NOTIFY resonate_core, '{odd}'")
            server.execute(f"NOTIFY resonate_core, '{schema_of(postgres_url)}'")
        wait_until(lambda: is_woken(worker), "it was not woken")


def test_each_worker_of_a_fleet_is_woken_in_the_end(postgres_url: str) -> None:
    """A few look at once. The others follow, since the first may be busy: no job waits for a poll."""
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(rc.Store(postgres_url)) for _ in range(WORKERS)]
        woken = [stack.enter_context(listening(store, queues=["default"])) for store in stores]
        wait_until(lambda: rc.database_counts()["listening_workers"] >= WORKERS, "they did not see each other")
        enqueue_elsewhere(postgres_url, "j")
        for one in woken:
            wait_until(lambda one=one: is_woken(one), "it was not woken")  # type: ignore[misc]


STOPS = """
import sys, resonate_core as rc
with rc.Store(sys.argv[1], busy_timeout=60_000) as store:
    print("open", flush=True)
    store.promises.create("stopped", 10**15)
"""


def test_a_writer_that_is_stopped_is_cut_off(postgres_url: str) -> None:
    """The server gives the lock to a process that was stopped while it waited: the others get it before their busy_timeout."""
    with rc.Store(postgres_url) as store:
        store.promises.create("before", 10**15)
        with libpq.Connection(plain(postgres_url)) as other:
            other.execute(f'BEGIN; SELECT FROM "{schema_of(postgres_url)}".write_lock FOR UPDATE')
            stopped = subprocess.Popen([sys.executable, "-c", STOPS, postgres_url], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                assert stopped.stdout is not None and stopped.stdout.readline() == b"open\n"
                holder = other.execute("SELECT pg_backend_pid()")[0][0]
                waits = f"SELECT FROM pg_stat_activity WHERE {holder} = ANY (pg_blocking_pids(pid))"
                with libpq.Connection(plain(postgres_url)) as server:
                    wait_until(lambda: server.execute(waits), "it did not wait for the lock")
                os.kill(stopped.pid, signal.SIGSTOP)
                other.execute("ROLLBACK")
                for number in range(3):
                    store.promises.create(f"p{number}", 10**15)
            finally:
                os.kill(stopped.pid, signal.SIGCONT)
                _, error = stopped.communicate(timeout=PATIENCE)
        found = {promise.id for promise in store.promises.search()}
        assert {"before", "p0", "p1", "p2"} <= found
        # It has lost its transaction; if it reads that before the answer to the begin, it begins again.
        assert stopped.returncode == (0 if "stopped" in found else 1) and (stopped.returncode == 0 or b"changed nothing" in error)


def test_a_worker_on_a_file_is_in_no_fleet(postgres_url: str, tmp_path: Path) -> None:
    """It polled as seldom as the workers on a database in the same process, up to 30 s: other processes' jobs in the file waited."""
    with (
        rc.Store(postgres_url) as shared,
        rc.Store(tmp_path / "jobs.db") as file,
        Wakeup(lambda end: shared.watch(end, queues=["q"])),
    ):
        wait_until(lambda: StoreClient(shared).fleet() > 0, "the listener counts itself")
        assert StoreClient(file).fleet() == 0
