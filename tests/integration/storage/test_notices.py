"""NOTIFY: a commit wakes the waiters of other processes. The tests do not poll, so a lost notification makes them wait for ever."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import backends
import libpq
import pgbouncer
import resonate_core as rc
from postgres_urls import plain
from resonate_core.calls.wakeup import Wakeup
from resonate_core.worker import Worker

FAR = 10**15
PATIENCE = 60.0

pytestmark = pytest.mark.timeout(180)

#: Runs the statements that it reads, a line each, and answers each of them with a line.
ELSEWHERE = """
import sys, resonate_core as rc
with rc.Store(sys.argv[1]) as store:
    for line in sys.stdin:
        exec(line)
        print("done", flush=True)
"""


class Elsewhere:
    """A store in another process."""

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", ELSEWHERE, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, statement: str) -> None:
        """Runs a statement in that process, on `store`."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(statement + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@contextlib.contextmanager
def elsewhere(url: str) -> Iterator[Elsewhere]:
    other = Elsewhere(url)
    with other.process:
        yield other
        assert other.process.stdin is not None
        other.process.stdin.close()
        assert other.process.wait(PATIENCE) == 0


class Waiter:
    """Waits for the wake-ups of a store."""

    def __init__(self, store: rc.Store) -> None:
        self.wakeup = Wakeup(store.watch)
        self.expect()  # it listens from now on, and reads earlier commits once

    def expect(self) -> None:
        """Waits for a wake-up, and is ready for the next one."""
        began = time.monotonic()
        self.wakeup.wait(PATIENCE)
        assert time.monotonic() < began + PATIENCE - 1, "it was not woken"
        self.wakeup.rearm(None)


@contextlib.contextmanager
def waiting(store: rc.Store) -> Iterator[Waiter]:
    waiter = Waiter(store)
    try:
        yield waiter
    finally:
        waiter.wakeup.close()


def with_parameter(url: str, parameter: str) -> str:
    return f"{url}{'&' if urlsplit(url).query else '?'}{parameter}"


MAKE_TASK = 'store.promises.create("{0}", timeout_at=10**15, tags={{"resonate:target": "poll://any@workers"}})'


def test_a_message_or_a_job_of_another_process_wakes(postgres_url: str) -> None:
    with rc.Store(postgres_url) as store, waiting(store) as waiter, elsewhere(postgres_url) as other:
        for number in range(20):
            other.run(MAKE_TASK.format(f"t{number}"))
            waiter.expect()
            assert len(store.messages()) == number + 1
        other.run('store.jobs.enqueue("mail", id="j")')
        waiter.expect()
        assert store.jobs.get("j").state == "pending"
        other.run('store.jobs.enqueue("mail", id="later", process_in=100)')  # a step makes it claimable
        other.run("import time; time.sleep(0.2); store.tick()")
        waiter.expect()
        assert store.jobs.get("later").state == "pending"


def test_a_lost_connection_is_opened_again(postgres_url: str) -> None:
    with rc.Store(postgres_url) as store, waiting(store) as waiter, elsewhere(postgres_url) as other:
        with libpq.Connection(plain(postgres_url)) as server:
            ended = server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN resonate_core' AND datname = current_database()"
            )
        assert ended
        waiter.expect()  # for the commits that it may have missed
        other.run(MAKE_TASK.format("t"))
        waiter.expect()
        assert len(store.messages()) == 1


def test_listen_no_neither_listens_nor_notifies(postgres_url: str) -> None:
    silent = with_parameter(postgres_url, "listen=no")
    before = database_connections()
    with rc.Store(silent) as store:
        wakeup = Wakeup(store.watch)
        assert database_connections() == before + 1
        wakeup.close()
    with rc.Store(postgres_url) as store, waiting(store):
        assert database_connections() == before + 2
    assert database_connections() == before


def database_connections() -> int:
    return rc.database_counts()["open_connections"]


def test_past_a_pooler(postgres_url: str) -> None:
    backends.require(backends.PGBOUNCER)
    port = urlsplit(postgres_url).port
    url = with_parameter(pgbouncer.shared().url(postgres_url), f"listen=127.0.0.1:{port}")
    with rc.Store(url) as store, waiting(store) as waiter, elsewhere(url) as other:
        other.run(MAKE_TASK.format("t"))
        waiter.expect()
        assert len(store.messages()) == 1


@pytest.mark.parametrize("given", ["maybe", "", "host", "host:", ":5432", "host:port", "host:-1"])
def test_a_bad_place_to_listen_is_refused(given: str) -> None:
    with pytest.raises(rc.Invalid, match="listen must be yes, no or HOST:PORT, got"):
        rc.Store(f"postgresql://nobody@127.0.0.1:1/none?listen={given}")


def test_a_place_where_nobody_listens_stops_nothing(postgres_url: str) -> None:
    with rc.Store(with_parameter(postgres_url, "listen=127.0.0.1:1")) as store:
        wakeup = Wakeup(store.watch)
        store.promises.create("t", timeout_at=FAR, tags={"resonate:target": "poll://any@workers"})
        wakeup.wait(PATIENCE)  # commits of this process wake it
        assert len(store.messages()) == 1
        wakeup.close()


def test_a_worker_claims_at_once_what_another_process_enqueues(postgres_url: str) -> None:
    with rc.Store(postgres_url) as store, elsewhere(postgres_url) as other:
        worker = Worker(store, poll_interval=3_600_000)
        seen: list[int] = []

        @worker.task("add")
        def add(number: int) -> None:
            seen.append(number)

        with worker:
            for number in range(5):
                other.run(f'store.jobs.enqueue("add", payload={number}, id="j{number}")')
                end = time.monotonic() + PATIENCE
                while store.jobs.get(f"j{number}").state != "completed":
                    assert time.monotonic() < end, "it was not claimed"
                    time.sleep(0.01)
        assert seen == list(range(5))


def sessions_at_rest(url: str) -> int:
    """How many sessions have listened, and do not now."""
    with libpq.Connection(plain(url)) as server:
        rest = "SELECT count(*) FROM pg_stat_activity WHERE query = 'UNLISTEN resonate_core' AND datname = current_database()"
        return int(str(server.execute(rest)[0][0]))


def unfinished(store: rc.Store) -> int:
    counts = store.queues.stats("default")[0]["counts"]
    return int(counts["pending"] + counts["claimed"] + counts["running"])


def test_a_session_rests_while_no_watch_waits(postgres_url: str) -> None:
    """The database passes no notice to it, and it listens again for the next rearm."""
    with rc.Store(postgres_url) as store, waiting(store) as waiter, elsewhere(postgres_url) as other:
        made = 0
        end = time.monotonic() + PATIENCE
        while not sessions_at_rest(postgres_url):  # the first commit has woken the watch
            assert time.monotonic() < end, "it listens on"
            other.run(MAKE_TASK.format(made))
            made += 1
            time.sleep(0.1)
        other.run(MAKE_TASK.format("at rest"))
        for _ in range(2):  # once by the commits of earlier, and once by those that it may have missed
            waiter.expect()
        assert len(store.messages()) == made + 1
        assert not sessions_at_rest(postgres_url)
        other.run(MAKE_TASK.format("later"))
        waiter.expect()
        assert len(store.messages()) == made + 2


def test_a_fleet_with_a_backlog_gets_no_notices(postgres_url: str) -> None:
    """Its workers poll once an hour: a notice wakes them for a job that comes when the backlog is over."""
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(elsewhere(postgres_url))
        stores = [stack.enter_context(rc.Store(postgres_url)) for _ in range(2)]
        for store in stores:
            worker = Worker(store, concurrency=1, poll_interval=3_600_000)
            worker.task("t")(lambda: time.sleep(0.01))
            stack.enter_context(worker)
        other.run('store.jobs.enqueue("t")')
        end = time.monotonic() + PATIENCE
        while rc.database_counts()["listening_workers"] < len(stores):
            assert time.monotonic() < end, "the workers did not see each other"
            time.sleep(0.1)
        while sessions_at_rest(postgres_url) < len(stores):
            assert time.monotonic() < end, "the sessions listen on"
            if unfinished(store) < 100:
                other.run('store.jobs.enqueue_many("t", [None] * 50)')
            other.run('store.jobs.enqueue("t")')
            time.sleep(0.05)
        for number in range(4):
            while sessions_at_rest(postgres_url) or unfinished(store):
                assert time.monotonic() < end, f"a job was not run, or a session does not listen, {number} jobs after the backlog"
                time.sleep(0.05)
            other.run('store.jobs.enqueue("t")')


FORKS = """
import os, sys, warnings, resonate_core as rc
from resonate_core.calls.wakeup import Wakeup
warnings.simplefilter("ignore", DeprecationWarning)
with rc.Store(sys.argv[1]) as store:
    wakeup = Wakeup(store.watch)
    wakeup.wait(60)
    wakeup.rearm(None)
    child = os.fork()
    if child == 0:
        assert len(store.promises.search()) == 0
        own = Wakeup(store.watch)  # listens in the child
        own.wait(60)
        own.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    wakeup.wait(60)  # it listens again
    wakeup.rearm(None)
    print("ready", flush=True)
    wakeup.wait(60)
    print(len(store.messages()), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_stops_no_notices(postgres_url: str) -> None:
    with subprocess.Popen([sys.executable, "-c", FORKS, postgres_url], stdout=subprocess.PIPE, text=True) as forks:
        assert forks.stdout is not None and forks.stdout.readline() == "ready\n"
        with elsewhere(postgres_url) as other:
            other.run(MAKE_TASK.format("t"))
            assert forks.stdout.readline() == "1\n"
        assert forks.wait(PATIENCE) == 0
