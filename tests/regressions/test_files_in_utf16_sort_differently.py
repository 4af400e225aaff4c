"""A file whose texts are in UTF-16 (`PRAGMA encoding`) had another order of ids than every other store: in pages, in claims, in digests."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

import resonate_core as rc
from resonate_core._core import schema_versions


def made_by_an_application(path: Path, encoding: str) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA encoding = '{encoding}'")
        file.execute("CREATE TABLE orders (id TEXT)")
        file.commit()
    return path


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_it_is_refused_and_unchanged(tmp_path: Path, encoding: str) -> None:
    path = made_by_an_application(tmp_path / "app.db", encoding)
    before = path.read_bytes()
    for options in ({}, {"read_only": True}):
        with pytest.raises(rc.StoreError, match=f"its texts must be in UTF-8, got {encoding}: SQLite sorts them differently"):
            rc.Store(path, **options)  # type: ignore[arg-type]
    for read in (rc.check_file, schema_versions):
        with pytest.raises(rc.StoreError, match="its texts must be in UTF-8"):
            read(str(path))  # type: ignore[operator]
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["app.db"]


def test_an_order_beside_the_tables_of_an_application(tmp_path: Path) -> None:
    ids = ["A", "Ā", "😀", "\uffee"]
    found = []
    for store in (
        rc.Store(clock=rc.ManualClock(0)),
        rc.Store(made_by_an_application(tmp_path / "app.db", "UTF-8"), clock=rc.ManualClock(0)),
    ):
        with store:
            for id in reversed(ids):
                store.promises.create(id, 10**12)
            found.append(([promise.id for promise in store.promises.search("*")], store.digest()))
    assert found[0] == found[1]
    assert found[0][0] == [*ids[:2], ids[3], ids[2]]
