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
COMMITS = 600
FEW = 12  # blocks: a page of each level of an index, and the row's


@pytest.fixture
def store(postgres_url: str) -> Iterator[rc.Store]:
    with rc.Store(postgres_url) as store:
        store.queues.set("default", lifecycle="asynq")
        yield store


@pytest.fixture
def other(postgres_url: str, store: rc.Store) -> Iterator[libpq.Connection]:
    """A connection to the tables, while another one has a transaction open."""
    with libpq.Connection(plain(postgres_url)) as held, libpq.Connection(plain(postgres_url)) as other:
        held.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current_snapshot()")
        other.execute(f"SET search_path TO {schema_of(postgres_url)}; SET enable_seqscan = off")
        yield other
        held.execute("ROLLBACK")


def blocks_read(connection: libpq.Connection, query: str) -> int:
    ((plan,),) = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}")
    (found,) = json.loads(str(plan))
    return int(found["Plan"]["Shared Hit Blocks"] + found["Plan"]["Shared Read Blocks"])


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
def test_what_every_commit_changes(store: rc.Store, other: libpq.Connection, query: str) -> None:
    for _ in range(COMMITS):
        store.jobs.enqueue("t", {}, process_in=HOUR)
    assert blocks_read(other, query) <= FEW


def entries_read(connection: libpq.Connection, index: str, since: int) -> tuple[int, int]:
    """The scans of an index and the entries that they have read, once the server has counted more scans than before."""
    for _ in range(600):
        ((scans, entries),) = connection.execute(
            f"SELECT idx_scan, idx_tup_read FROM pg_stat_user_indexes WHERE indexrelid = '{index}'::regclass"
        )
        if int(str(scans)) > since:
            return int(str(scans)), int(str(entries))
        time.sleep(0.05)
    pytest.fail(f"no scan of {index} was counted in 30 s")


def test_jobs_that_came_and_went(store: rc.Store, other: libpq.Connection) -> None:
    """A claim begins its scan where the last one found the first job."""

    def cycle() -> None:
        store.jobs.enqueue_many("t", [{}] * 20)
        done = [(job.id, job.version, None) for job in store.jobs.claim("default", 20, worker="w", lease=HOUR)]
        assert len(done) == 20
        store.jobs.complete_many(done)

    scans = entries = 0
    for _ in range(COMMITS // 20):
        cycle()
    scans, entries = entries_read(other, "promises_by_claim", 0)
    time.sleep(2)  # the server counts at intervals, so the last scans may be counted later
    scans, entries = entries_read(other, "promises_by_claim", scans - 1)
    cycle()
    now, after = entries_read(other, "promises_by_claim", scans)
    assert now == scans + 1
    assert after - entries <= 60, "those of this claim and of the one before"
