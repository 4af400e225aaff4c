"""A file whose schema is version -1, or 0 under a store's application id, was refused with "SQL logic error"."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

import resonate_core as rc


def changed(path: Path, *statements: str) -> Path:
    rc.Store(path, clock=rc.ManualClock(0)).close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        for statement in statements:
            other.execute(statement)
    return path


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("version", [-(2**31), -1, 0])
def test_a_version_that_no_release_has_written(tmp_path: Path, version: int, read_only: bool) -> None:
    path = changed(tmp_path / "app.db", f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    for attempt in (lambda: rc.Store(path, read_only=read_only), lambda: rc.check_file(path)):
        with pytest.raises(rc.StoreError, match=rf"its schema is version {version}, which no release has written"):
            attempt()
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [1, 2])
def test_tables_of_another_version(tmp_path: Path, version: int) -> None:
    path = changed(tmp_path / "app.db", f"PRAGMA user_version = {version}")
    with pytest.raises(rc.StoreError, match=rf"its schema is version {version}, and its tables are not of that version \(.*column"):
        rc.Store(path)


def test_a_table_that_is_missing_is_named(tmp_path: Path) -> None:
    path = changed(tmp_path / "app.db", "DROP TABLE counters")
    with pytest.raises(rc.StoreError, match=r"app\.db.*no such table: counters"):
        rc.Store(path)
    assert rc.check_file(path) == ["schema: counters is missing"]
