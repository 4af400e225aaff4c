"""Each idle worker took the write lock of the database to find nothing, after each commit: a fleet of 48 kept its enqueuer out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

import libpq
import resonate_core as rc
from postgres_urls import plain, schema_of

BUSY = 300
CLAIM = {"worker": "w", "lease": 60_000}


@contextlib.contextmanager
def another_writer(url: str) -> Iterator[None]:
    """Another process has the write lock."""
    with libpq.Connection(plain(url)) as other:
        other.execute(f'BEGIN; SELECT FROM "{schema_of(url)}".write_lock FOR UPDATE')
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def store(postgres_url: str) -> Iterator[rc.Store]:
    with rc.Store(postgres_url, busy_timeout=BUSY) as store:
        assert list(store.jobs.claim("default", **CLAIM)) == []  # the first claim does not look
        yield store


def test_a_claim_that_finds_nothing_does_not_wait_for_the_lock(store: rc.Store, postgres_url: str) -> None:
    with another_writer(postgres_url):
        assert list(store.jobs.claim("default", **CLAIM)) == []
        assert list(store.jobs.claim(["other", "default"], 10, **CLAIM)) == []
        assert store.jobs._exchange([], [], "default", 1, "w", 60_000, 60_000, False, 1)[2] is not None


def test_a_claim_that_may_find_a_job_waits(store: rc.Store, postgres_url: str) -> None:
    with rc.Store(postgres_url) as elsewhere:
        job = elsewhere.jobs.enqueue("t", id="j")
    with another_writer(postgres_url), pytest.raises(rc.StoreBusy):
        store.jobs.claim("default", **CLAIM)
    assert [claimed.id for claimed in store.jobs.claim("default", **CLAIM)] == [job.id]
    assert list(store.jobs.claim("default", **CLAIM)) == []


def test_due_steps_run_before_the_claim(store: rc.Store, postgres_url: str) -> None:
    """The lease of a job has ended: a look that found nothing would leave it where it is."""
    with rc.Store(postgres_url) as elsewhere:
        elsewhere.jobs.enqueue("t", id="j")
        elsewhere.jobs.claim("default", worker="lost", lease=1)
    with another_writer(postgres_url), pytest.raises(rc.StoreBusy):
        store.jobs.claim("default", **CLAIM)
    assert [claimed.id for claimed in store.jobs.claim("default", **CLAIM)] == ["j"]


def test_submitted_jobs_run_before_the_claim(store: rc.Store, postgres_url: str) -> None:
    schema = schema_of(postgres_url)
    request = '{"kind": "job.enqueue", "head": {"corrId": "0", "version": "2026-04-01"}, "data": {"id": "j", "type": "t"}}'
    with libpq.Connection(plain(postgres_url)) as other:
        other.execute(f"SELECT \"{schema}\".submit('{request}')")
    assert [claimed.id for claimed in store.jobs.claim("default", **CLAIM)] == ["j"]


def test_a_limit_of_the_queue_gives_the_next_instant(store: rc.Store) -> None:
    """The reply of a claim that only looked is that of one that had the lock."""
    store.queues.set("default", rate={"limit": 1, "per": 3_600_000})
    store.jobs.enqueue_many("t", [None, None])
    assert len(store.jobs.claim("default", 2, **CLAIM)) == 1
    looked = store.jobs.claim("default", **CLAIM)
    assert list(looked) == [] and looked.next_at is not None and looked.next_at > store.now
