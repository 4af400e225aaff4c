"""Values that another program has written into the table of promises, which has no constraints: they are refused when they are read."""

from __future__ import annotations

import pytest

import libpq
import resonate_core as rc
from postgres_urls import plain, schema_of

DAMAGE = {
    "a state of a promise": "UPDATE promises SET state = 5",
    "a flag": "UPDATE promises SET external = 2",
    "a count of callbacks": "UPDATE promises SET callbacks = -1",
    "a count of listeners": "UPDATE promises SET listeners = -1",
    "a state of a task": "UPDATE promises SET task = 6",
    "a state of a job": "UPDATE promises SET job_state = 10, job = replace(job, 'pending', 'unheard-of') WHERE id = 'j'",
}


@pytest.mark.parametrize("sql", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_row_is_refused(postgres_url: str, sql: str) -> None:
    with rc.Store(postgres_url) as store:
        store.promises.create("p", timeout=3_600_000)
        store.jobs.enqueue("t", id="j")
    with libpq.Connection(plain(postgres_url)) as connection:
        connection.execute(f'SET search_path = "{schema_of(postgres_url)}"; {sql}')
    with rc.Store(postgres_url) as store:
        for read in (lambda: store.promises.get("j"), lambda: store.jobs.get("j"), store.check):
            with pytest.raises(rc.StoreError, match="damaged"):
                read()
