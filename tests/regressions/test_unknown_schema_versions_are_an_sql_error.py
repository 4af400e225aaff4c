"""A file whose schema is version -1, or 0 under the application id of a store, was refused with "SQL logic error"."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

import resonate_core as rc
from older_files import give_older_schema


def changed(path: Path, statements: str, make: bool = True) -> Path:
    if make:
        rc.Store(path, clock=rc.ManualClock(0)).close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.executescript(f"{statements}; PRAGMA wal_checkpoint(TRUNCATE)")
    return path


UNUSED = [
    *((f"UPDATE resonate_store_version SET version = {version}", version) for version in (-(2**31), -1, 0, 5)),
    ("DELETE FROM resonate_store_version", 0),
    *((f"DROP TABLE resonate_store_version; PRAGMA user_version = {version}", version) for version in (-(2**31), -1, 0, 6, 7)),
]


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(("change", "version"), UNUSED)
def test_a_version_that_no_release_has_written(tmp_path: Path, change: str, version: int, read_only: bool) -> None:
    path = changed(tmp_path / "app.db", change)
    before = path.read_bytes()
    for attempt in (lambda: rc.Store(path, read_only=read_only), lambda: rc.check_file(path)):
        with pytest.raises(rc.StoreError, match=rf"its schema is version {version}, which no release has written"):
            attempt()
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [1, 2])
def test_tables_of_another_version(tmp_path: Path, version: int) -> None:
    rc.Store(tmp_path / "app.db", clock=rc.ManualClock(0)).close()
    give_older_schema(tmp_path / "app.db", 5)
    path = changed(tmp_path / "app.db", f"PRAGMA user_version = {version}", make=False)
    with pytest.raises(rc.StoreError, match=rf"its schema is version {version}, and its tables are not of that version \(.*column"):
        rc.Store(path)


def test_a_table_that_is_missing_is_named(tmp_path: Path) -> None:
    path = changed(tmp_path / "app.db", "DROP TABLE resonate_counters")
    with pytest.raises(rc.StoreError, match=r"app\.db.*no such table: resonate_counters"):
        rc.Store(path)
    assert rc.check_file(path) == ["schema: resonate_counters is missing"]
