"""A program set the number behind which SQLite numbers submissions (`sqlite_sequence`) to the end of its numbers, or to a text: each
submission of the application failed with "database or disk is full", and `check_file` found nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import resonate_core as rc

CREATE = {"id": "a", "timeoutAt": 10**15}


def _submit(path: Path, id: str) -> None:
    application = sqlite3.connect(path)
    with application:
        rc.submit(application, "promise.create", {**CREATE, "id": id})
    application.close()


def _execute(path: Path, sql: str) -> None:
    file = sqlite3.connect(path)
    with file:
        file.execute(sql)
    file.close()


@pytest.mark.parametrize("number", ["9223372036854775807", "9223372036854775000", "'abc'", "x'ff'", "1e300"])
def test_check_names_it(tmp_path: Path, number: str) -> None:
    path = tmp_path / "a.db"
    rc.Store(path).close()
    _submit(path, "a")
    assert rc.check_file(path) == []
    _execute(path, f"UPDATE sqlite_sequence SET seq = {number} WHERE name = 'resonate_inbox'")
    [found] = rc.check_file(path)
    assert found.startswith("numbers: the last number of a submission must be an integer of at most 4611686018427387904, got ")
    _execute(path, found.partition("behind it. ")[2].removesuffix(" repairs it"))
    assert rc.check_file(path) == []
    _submit(path, "b")
    with rc.Store(path) as store:
        store.tick()
        assert [one.id for one in store.promises.search()] == ["a", "b"]


def test_sequences_of_the_application_are_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    rc.Store(path).close()
    _execute(path, "CREATE TABLE orders (number INTEGER PRIMARY KEY AUTOINCREMENT)")
    _execute(path, "INSERT INTO sqlite_sequence VALUES ('orders', 9223372036854775807)")
    assert rc.check_file(path) == []
