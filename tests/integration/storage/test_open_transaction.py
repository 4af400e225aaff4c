"""A transaction that another client keeps open, as a backup does, costs the store nothing.

PostgreSQL keeps every deleted and replaced row that the open transaction might still read, and the entries of the indexes that lead to
it. A statement that finds its row among thousands of such versions would become slower with every commit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

import libpq
import resonate_core as rc
from postgres_urls import plain, schema_of

HOUR = 3_600_000
TIMER = {"resonate:timer": "true"}
COMMITS = 600
FEW = 12  # blocks: a page of each level of an index, and the row's


@pytest.fixture
def url(unused_postgres_url: str) -> str:
    return unused_postgres_url


@pytest.fixture
def other(url: str) -> Iterator[libpq.Connection]:
    """A connection to the tables, with a transaction of another connection open."""
    with rc.Store(url) as store:
        store.queues.set("default", lifecycle="asynq")
    with libpq.Connection(plain(url)) as held, libpq.Connection(plain(url)) as other:
        held.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current_snapshot()")
        other.execute(f"SET search_path TO {schema_of(url)}; SET enable_seqscan = off")
        yield other
        held.execute("ROLLBACK")


def blocks_read(connection: libpq.Connection, query: str) -> int:
    ((plan,),) = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}")
    (found,) = json.loads(str(plan))
    return int(found["Plan"]["Shared Hit Blocks"] + found["Plan"]["Shared Read Blocks"])


def scanned(connection: libpq.Connection, index: str, least: int) -> tuple[int, int]:
    """Returns the scans of an index and the entries that they read, once the server has counted that many scans.

    The server counts the scans of a connection when that closes.
    """
    for _ in range(600):
        ((scans, entries),) = connection.execute(
            f"SELECT idx_scan, idx_tup_read FROM pg_stat_user_indexes WHERE indexrelid = '{index}'::regclass"
        )
        if int(str(scans)) >= least:
            return int(str(scans)), int(str(entries))
        time.sleep(0.05)
    pytest.fail(f"{scans} scans were counted in 30 s, not {least}")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM write_lock FOR UPDATE",
        "SELECT * FROM counters ORDER BY version DESC LIMIT 1",
        "SELECT body FROM queues WHERE name = 'default' ORDER BY version DESC LIMIT 1",
        "SELECT batch FROM writers ORDER BY id DESC, batch DESC LIMIT 1",
    ],
    ids=["write_lock", "counters", "queues", "writers"],
)
def test_what_every_commit_changes(url: str, other: libpq.Connection, query: str) -> None:
    with rc.Store(url) as store:
        for _ in range(COMMITS):
            store.jobs.enqueue("t", {}, process_in=HOUR)
        assert blocks_read(other, query) <= FEW


def test_jobs_that_came_and_went(url: str, other: libpq.Connection) -> None:
    """A claim begins its scan at the first job of the last scan."""
    cycles, jobs = 30, 20
    with rc.Store(url) as store:
        for _ in range(cycles):
            store.jobs.enqueue_many("t", [{}] * jobs)
            done = [(job.id, job.version, None) for job in store.jobs.claim("default", jobs, worker="w", lease=HOUR)]
            assert len(done) == jobs
            store.jobs.complete_many(done)
    scans, entries = scanned(other, "promises_by_claim", cycles)
    assert entries / scans <= 3 * jobs, "those of this claim and of the one before"


def come_and_go(enqueuer: rc.Store, worker: rc.Store, jobs: int, queue: str = "default") -> None:
    enqueuer.jobs.enqueue_many("t", [{}] * jobs, queue=queue)
    done = [(job.id, job.version, None) for job in worker.jobs.claim(queue, jobs, worker="w", lease=HOUR)]
    assert len(done) == jobs
    worker.jobs.complete_many(done)


@pytest.mark.parametrize(("writers", "cycles", "most"), [("alone", 30, 60), ("auto", 120, 512)])
def test_jobs_that_one_process_enqueues_and_another_claims(
    url: str, other: libpq.Connection, writers: str, cycles: int, most: int
) -> None:
    """A claim reads few entries of jobs that have left the index, although another process commits between two claims.

    Alone, a claim reads the entries of its own 20 jobs and of those of the claim before. In transactions beside others, it reads the
    entries of the jobs that left since the last exclusive transaction: about 512.
    """
    address = f"{url}{'&' if '?' in url else '?'}writers={writers}"
    with rc.Store(address) as enqueuer, rc.Store(address) as worker:
        for _ in range(cycles):
            come_and_go(enqueuer, worker, 20)
    for index, least in (("promises_by_claim", cycles), ("promises_by_due", 2 * cycles)):
        scans, entries = scanned(other, index, least)
        assert entries / scans <= most, index


def test_an_earlier_job_lowers_the_mark_of_the_other_process(url: str) -> None:
    """Each scan finds what another process has put before the place where it would begin."""
    with rc.Store(url) as enqueuer, rc.Store(url) as worker:
        for queue in ("default", "a 1:b", "0 0 1:x"):
            come_and_go(enqueuer, worker, 5, queue)
            assert list(worker.jobs.claim(queue, worker="w", lease=HOUR)) == []
            urgent = enqueuer.jobs.enqueue("t", {}, queue=queue, priority=1)
            last = enqueuer.jobs.enqueue("t", {}, queue=queue, priority=100)
            assert [job.id for job in worker.jobs.claim(queue, 2, worker="w", lease=HOUR)] == [urgent.id, last.id]
        now = worker.now
        assert worker.next_due() > now
        worker.promises.create("later", timeout=HOUR, tags=TIMER)
        enqueuer.promises.create("early", timeout=HOUR // 60, tags=TIMER)
        assert now < worker.next_due() <= worker.now + HOUR // 60


def test_more_queues_than_marks_are_stored(url: str) -> None:
    names = [f"q{number}" for number in range(100)]
    with rc.Store(url) as enqueuer, rc.Store(url) as worker:
        for name in names:
            come_and_go(enqueuer, worker, 1, name)
        for name in (*names, "x" * 300):
            enqueuer.jobs.enqueue("t", {}, queue=name, priority=1, id=name)
            assert [job.id for job in worker.jobs.claim(name, 2, worker="w", lease=HOUR)] == [name]


def test_counters_without_marks(url: str) -> None:
    """A migrated store has none yet: scans begin at the beginning."""
    with rc.Store(url) as store:
        come_and_go(store, store, 3)
        with libpq.Connection(plain(url)) as old:
            old.execute(
                f"SET search_path TO {schema_of(url)}; INSERT INTO counters (version, sequence, seen, dropped, jobs_made, messages) "
                "SELECT version + 1000000, sequence, seen, dropped, jobs_made, messages FROM counters ORDER BY version DESC LIMIT 1"
            )
        come_and_go(store, store, 3)


def test_statistics_that_count_the_replaced_versions(url: str, other: libpq.Connection) -> None:
    """Autovacuum counts the versions that it may not remove. With these counts, the planner joined a queue with all of its versions."""
    with rc.Store(url) as store:
        for _ in range(COMMITS):
            store.jobs.enqueue("t", {}, process_in=HOUR)
    before = scanned(other, "queues_pkey", COMMITS)
    for table in ("queues", "promises", "counters", "writers"):
        other.execute(f"VACUUM (ANALYZE) {table}")
    commits = 100
    with rc.Store(url) as store:
        for _ in range(commits):
            store.jobs.enqueue("t", {}, process_in=HOUR)
    scans, entries = scanned(other, "queues_pkey", before[0] + commits)
    assert (entries - before[1]) / (scans - before[0]) <= FEW


def test_versions_of_a_writer_in_the_place_of_vacuumed_ones(url: str) -> None:
    """A later version of its row then has an earlier place, so that a scan from the end met all versions that are gone."""
    with (
        rc.Store(f"{url}&prepared=no&listen=no") as store,
        libpq.Connection(plain(url)) as other,
        libpq.Connection(plain(url)) as held,
    ):
        other.execute(f"SET search_path TO {schema_of(url)}")

        def commit(times: int) -> None:
            for _ in range(times):
                store.jobs.enqueue("t", {}, process_in=HOUR)

        commit(COMMITS)
        held.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current_snapshot()")
        commit(COMMITS)
        other.execute("VACUUM writers")
        commit(1)
        store.close()
        before = scanned(other, "writers_by_seen", COMMITS)
        commits = 100
        with rc.Store(f"{url}&prepared=no&listen=no") as store:
            commit(commits)
        scans, entries = scanned(other, "writers_by_seen", before[0] + commits)
        held.execute("ROLLBACK")
    assert (entries - before[1]) / (scans - before[0]) <= FEW
