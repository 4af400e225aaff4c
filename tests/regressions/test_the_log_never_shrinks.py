"""Beside a reader the log of SQLite grew to hundreds of megabytes, and kept that length while any store had the file open."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import resonate_core as rc

FAR = 10**12
LONG = 16 * 1024 * 1024
"""Bytes of a log that a store shortens."""


def size(path: Path) -> int:
    return Path(f"{path}-wal").stat().st_size


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program that has read in a transaction, which stays open."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        count(reader)
        yield reader


def count(reader: sqlite3.Connection) -> int:
    """How many promises its transaction sees."""
    return reader.execute("SELECT count(*) FROM resonate_promises").fetchone()[0]


def grow(store: rc.Store, path: Path) -> None:
    """Writes until the log is longer than a store leaves it."""
    number = 0
    while size(path) <= LONG + 4 * 1024 * 1024:
        for _ in range(4):
            store.promises.create(f"p{number}", FAR, param="x" * 1_000_000)
            number += 1


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    return tmp_path / "app.db"


CALLS: dict[str, Callable[[rc.Store], object]] = {
    "a commit": lambda store: store.promises.create("after", FAR),
    "a tick": lambda store: store.tick(),
    "a look of an idle server": lambda store: store.next_due(),
}


@pytest.mark.parametrize("calls", CALLS)
def test_it_shrinks_when_the_reader_leaves(tmp_path: Path, calls: str) -> None:
    path = tmp_path / "app.db"
    with rc.Store(path, clock=rc.ManualClock(0), durability="normal") as store:
        with reading(path) as reader:
            grow(store, path)
            assert store.promises.get("p0").state == "pending"  # the store does not wait for the reader
            assert size(path) > LONG
            assert count(reader) == 0
        CALLS[calls](store)
        assert size(path) <= LONG
        assert store.check() == []
    assert rc.check_file(path) == []


def test_reads_do_not_copy_it(tmp_path: Path) -> None:
    """Copying a log of 1 GB takes seconds, and who reads on an event loop expects a short call."""
    path = tmp_path / "app.db"
    with rc.Store(path, clock=rc.ManualClock(0), durability="normal") as store:
        with reading(path):
            grow(store, path)
        before = size(path), path.stat().st_size
        for _ in range(16):
            assert store.promises.get("p0").state == "pending"
            assert len(store.promises.search(limit=1)) == 1
        assert (size(path), path.stat().st_size) == before
        store.tick()
        assert size(path) <= LONG < path.stat().st_size


def test_a_reader_of_the_newest_state_stops_nothing(tmp_path: Path) -> None:
    """All of the log is in the file, and the reader still uses the log."""
    path = tmp_path / "app.db"
    with rc.Store(path, clock=rc.ManualClock(0), durability="normal") as store:
        with reading(path) as reader:
            grow(store, path)
            reader.execute("COMMIT")
            reader.execute("BEGIN")
            before = count(reader)
            for number in range(3):
                store.promises.create(f"beside-{number}", FAR)
            assert count(reader) == before
        store.promises.create("after", FAR)
        assert size(path) <= LONG


def test_a_store_in_another_process_finds_the_commits(tmp_path: Path) -> None:
    """A log that is emptied takes nothing from a process that has read it."""
    path = tmp_path / "app.db"
    with rc.Store(path, clock=rc.ManualClock(0), durability="normal") as store, rc.Store(path, clock=rc.ManualClock(0)) as other:
        with reading(path):
            grow(store, path)
            assert other.promises.get("p0").state == "pending"
        store.promises.create("after", FAR)
        assert size(path) <= LONG
        assert other.promises.get("after").state == "pending"
        other.promises.resolve("after")
        assert store.promises.get("after").state == "resolved"
