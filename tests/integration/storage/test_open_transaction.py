"""A transaction that another client keeps open, as a backup does, costs the store nothing.

PostgreSQL keeps every deleted and replaced row that the open transaction might still read, and the entries of the indexes that lead to
it. A statement that finds its row among thousands of such versions would become slower with every commit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

import backends
import libpq
import resonate_core as rc
from postgres_urls import plain, schema_of

HOUR = 3_600_000
COMMITS = 600
FEW = 12  # blocks: a page of each level of an index, and the row's


@pytest.fixture
def url() -> str:
    """The URL of tables that no other test has used: rows that another test deleted would be read, too."""
    backends.require(backends.POSTGRES)
    schemas = backends.schemas_of_postgres()
    return str(schemas.url(schemas.unused()))


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
