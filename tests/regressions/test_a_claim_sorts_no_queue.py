"""A claim from a new table, of which the server has no statistics yet, read all jobs of the queue and sorted them."""

from __future__ import annotations

import pytest

import libpq
import resonate_core as rc
from integration.storage.test_open_transaction import scanned
from postgres_urls import plain, schema_of

HALF = 10_000  # of the jobs of the queue
CLAIMS = 3
TAKEN = 10  # by each claim


@pytest.mark.parametrize("prepared", ["yes", "no"])
def test_a_claim_reads_the_jobs_that_it_takes(unused_postgres_url: str, prepared: str) -> None:
    url = unused_postgres_url
    with rc.Store(f"{url}&prepared={prepared}&listen=no") as store, libpq.Connection(plain(url)) as other:
        for _ in range(2):
            store.jobs.enqueue_many("t", [{}] * HALF)
        other.execute(f"SET search_path TO {schema_of(url)}")
        before = scanned(other, "promises_by_claim", 0)
        for _ in range(CLAIMS):
            assert len(store.jobs.claim("default", TAKEN, worker="w", lease=3_600_000)) == TAKEN
        store.close()
        scans, entries = scanned(other, "promises_by_claim", before[0] + CLAIMS)
    assert (entries - before[1]) / (scans - before[0]) <= 3 * TAKEN, "those of this claim and of the one before"
