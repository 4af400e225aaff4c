"""`resonate-core migrate` on files."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest
from protocol_server import Run

import resonate_core as rc
from resonate_core._core import schema_versions

OLD = Path(__file__).parents[1] / "data" / "store-0.1.0.db"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file with the schema of the first release."""
    return Path(shutil.copy(OLD, tmp_path / "old.db"))


def version_of(path: Path) -> int:
    shown, found, newest = schema_versions(str(path))
    assert (shown, found) == (str(path), newest)
    return newest


@pytest.fixture
def newest(tmp_path: Path) -> int:
    """The schema version of this release."""
    rc.Store(tmp_path / "new.db").close()
    return version_of(tmp_path / "new.db")


def test_an_older_file_is_migrated(run: Run, old: Path, newest: int) -> None:
    with pytest.raises(rc.StoreError, match="read-only store cannot migrate"):
        rc.Store(old, read_only=True)
    assert run("migrate", "--db", old).out == f"{old}: migrated from schema version 1 to {newest}\n"
    assert version_of(old) == newest
    assert run("check", old).code == 0
    assert run("migrate", "--db", old).out == f"{old}: up to date, schema version {newest}\n"


def test_the_instant_stays(run: Run, old: Path) -> None:
    def instant(table: str) -> int:
        with contextlib.closing(sqlite3.connect(old)) as file:
            return int(file.execute(f"SELECT now FROM {table}").fetchone()[0])

    before = instant("counters")
    assert run("migrate", "--db", old).code == 0
    assert instant("resonate_counters") == before


def test_a_preview_changes_nothing(run: Run, old: Path, newest: int) -> None:
    before = old.read_bytes()
    assert run("migrate", "--db", old, "--dry-run").out == f"{old}: would be migrated from schema version 1 to {newest}\n"
    planned = {"file": str(old), "from": 1, "to": newest, "done": False}
    assert run("migrate", "--db", old, "--dry-run", "--json").json == planned
    assert old.read_bytes() == before
    assert run("migrate", "--db", old, "--json").json == {**planned, "done": True}


def test_the_file_of_the_environment(run: Run, old: Path, newest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESONATE_STORE__PATH", str(old))
    assert run("migrate", "--json").json == {"file": str(old), "from": 1, "to": newest, "done": True}
    assert run("migrate", "--json").json == {"file": str(old), "from": newest, "to": newest, "done": False}


@pytest.mark.parametrize("options", [[], ["--dry-run"]], ids=["", "dry"])
def test_a_file_of_a_newer_release_is_refused(run: Run, db: Path, newest: int, options: list[str]) -> None:
    with contextlib.closing(sqlite3.connect(db, isolation_level=None)) as file:
        file.execute("UPDATE resonate_store_version SET version = ?", [newest + 1])
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = db.read_bytes()
    ran = run("migrate", "--db", db, *options)
    assert (ran.code, ran.out) == (3, "")
    assert f"its schema version must be at most {newest}, got {newest + 1}: a newer release has written it" in ran.err
    assert db.read_bytes() == before


@pytest.mark.parametrize("options", [[], ["--dry-run"]], ids=["", "dry"])
def test_what_is_no_store(run: Run, tmp_path: Path, options: list[str]) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as file:
        file.executescript("CREATE TABLE t (x); PRAGMA user_version = 1")
    (tmp_path / "text.db").write_text("a text that is longer than the head of a database" * 50)
    (tmp_path / "empty.db").touch()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, reason in (
        ("other", "it contains no store"),
        ("text", "database"),
        ("empty", "it contains no store"),
        ("no", "the file does not exist"),
    ):
        ran = run("migrate", "--db", tmp_path / f"{name}.db", *options)
        assert (ran.code, ran.out) == (3, "")
        assert reason in ran.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix == ".db"} == before
    assert run("migrate").code == 2
    assert run("migrate", "--db", "http://127.0.0.1:8001").code == 2
