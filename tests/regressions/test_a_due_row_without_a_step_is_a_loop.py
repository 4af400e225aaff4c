"""A row of a file that was due for no kind of step made `advance` loop for ever, and a server use a whole core.

Another program had set `due_at` of a settled promise and left `due_kind` NULL: it was the first due row, and no range found it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import libpq
import resonate_core as rc
from postgres_urls import plain, schema_of

FAR = 10**15
SET = "UPDATE {promises} SET due_at = 4 WHERE id = 'settled'"


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], rc.Store]:
    """Opens a store with such a row, whose other row is due at 1000."""
    where = str(tmp_path / "app.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    with rc.Store(where, clock=rc.ManualClock(0)) as store:
        store.promises.create("settled", FAR)
        store.promises.resolve("settled")
        store.promises.create("timer", 1000)
    if request.param == "sqlite":
        with contextlib.closing(sqlite3.connect(where)) as file, file:
            file.execute(SET.format(promises="resonate_promises"))
    else:
        with libpq.Connection(plain(where)) as connection:
            connection.execute(SET.format(promises=f"{schema_of(where)}.promises"))
            # Scans begin at the stored mark, and would not see a row that another program has put before it.
            connection.execute(f"UPDATE {schema_of(where)}.counters SET due_mark = NULL")
    return lambda: rc.Store(where, clock=rc.ManualClock(0))


def test_each_call_that_looks_for_due_steps_is_an_error(opened: Callable[[], rc.Store]) -> None:
    """Those that run steps raise at once, as for other damaged timers; the others work."""
    with opened() as store:
        for call in (lambda: store.clock.advance(1), lambda: store.clock.advance(5000), store.tick, store.next_due):
            with pytest.raises(rc.StoreError, match='promise "settled": its timer is one of no kind'):
                call()
        assert store.promises.get("timer").state == "pending"
