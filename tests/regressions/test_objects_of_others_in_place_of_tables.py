"""A view with an endless query in place of a store's table, a generated column and an index on an expression ran with each statement on the
file: `claim`, `tick` and `resonate-core check` did not end. A store refuses such a file when it opens it, and `check` names the objects without
computing anything of them."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from fuzz import sound_file
from older_files import give_older_schema
from resonate_core._core import schema_versions

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
INDEX = "promises_by_pid"
SLOW = "length(hex(zeroblob(300000000)))"


def _view(file: sqlite3.Connection, table: str) -> None:
    columns = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
    file.execute(f"ALTER TABLE {table} RENAME TO kept")
    for (name,) in file.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'kept' AND sql IS NOT NULL"
    ).fetchall():
        file.execute(f"DROP INDEX {name}")
    file.execute(f"CREATE VIEW {table} AS SELECT {', '.join(columns)} FROM kept WHERE ({ENDLESS}) > 0")


def _rules(file: sqlite3.Connection, table: str, rule: str) -> None:
    """Gives a table of the store another rule."""
    (sql,) = file.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    file.execute("PRAGMA writable_schema = ON")
    made = re.sub(r"\n\)([^)]*)$", rf",\n  {rule}\n)\1", sql)
    if made == sql:
        made = re.sub(r"\)([^)]*)$", rf", {rule})\1", sql)
    assert made != sql
    file.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (made, table))
    file.execute("PRAGMA writable_schema = OFF")


#: What an enemy makes, and the object that is in the place of one of the store's.
REPLACED = {
    "a view of queues": (lambda file: _view(file, "resonate_queues"), "resonate_queues"),
    "a view of promises": (lambda file: _view(file, "resonate_promises"), "resonate_promises"),
    "a view of counters": (lambda file: _view(file, "resonate_counters"), "resonate_counters"),
    "a generated column": (
        lambda file: file.execute(f"ALTER TABLE resonate_promises ADD COLUMN x TEXT AS ({SLOW}) VIRTUAL"),
        "resonate_promises",
    ),
    "a rule": (lambda file: _rules(file, "resonate_promises", f"CHECK ({SLOW} > 0)"), "resonate_promises"),
    "an index of ours on an expression": (
        lambda file: file.executescript(f"DROP INDEX {INDEX}; CREATE INDEX {INDEX} ON resonate_promises (lower(id))"),
        INDEX,
    ),
    "an optional index on an expression": (
        lambda file: file.execute("CREATE INDEX resonate_newest_jobs ON resonate_promises (lower(id))"),
        "resonate_newest_jobs",
    ),
    "a virtual table": (
        lambda file: file.executescript(
            "DROP TABLE resonate_queue_hours; CREATE VIRTUAL TABLE resonate_queue_hours USING rtree(queue, hour, body)"
        ),
        "resonate_queue_hours",
    ),
    "a version that is computed": (lambda file: _view(file, "resonate_store_version"), "resonate_store_version"),
}

OPENINGS = {
    "a store": "rc.Store(path)",
    "a read-only store": "rc.Store(path, read_only=True)",
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "app.db"
    sound_file.make(path)
    return path


def changed(sound: Path, folder: Path, name: str) -> Path:
    path = folder / "app.db"
    shutil.copy(sound, path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA legacy_alter_table = ON")
        REPLACED[name][0](file)
    return path


@pytest.mark.parametrize("name", REPLACED)
def test_no_store_opens_it(name: str, sound: Path, tmp_path: Path) -> None:
    path, replaced = changed(sound, tmp_path, name), REPLACED[name][1]
    for opening in OPENINGS.values():
        program = f"import sys, resonate_core as rc\npath = sys.argv[1]\ntry:\n    {opening}.tick()\nexcept rc.StoreError as error:\n    print(error)"
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        if replaced != "resonate_store_version":
            assert f'"{replaced}" must be' in done.stdout, done.stdout
        else:
            assert str(path) in done.stdout, done.stdout


@pytest.mark.parametrize("name", REPLACED)
def test_check_names_it_and_computes_nothing(name: str, sound: Path, tmp_path: Path) -> None:
    path, replaced = changed(sound, tmp_path, name), REPLACED[name][1]
    done = subprocess.run([sys.executable, "-m", "resonate_core", "check", str(path)], capture_output=True, text=True, timeout=60)
    if replaced == "resonate_store_version":
        assert done.returncode == 2, done
        return
    assert done.returncode == 1, done
    assert f"schema: {replaced} differs from this version's schema" in done.stdout
    assert "integrity: not checked" in done.stdout


@pytest.mark.parametrize("name", ["a view of queues", "a generated column", "an index of ours on an expression"])
def test_a_file_of_an_earlier_version_is_not_migrated(name: str, tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    rc.Store(path, clock=rc.ManualClock()).close()
    give_older_schema(path, 8)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA legacy_alter_table = ON")
        REPLACED[name][0](file)
    for _ in range(2):
        with pytest.raises(rc.StoreError, match=f'"{REPLACED[name][1]}" must be'):
            rc.Store(path)
    with contextlib.closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT version FROM resonate_store_version").fetchone() == (8,)


@pytest.mark.parametrize("version", range(2, 9))
def test_a_sound_file_of_an_earlier_version_is(version: int, tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    rc.Store(path, clock=rc.ManualClock()).close()
    give_older_schema(path, version)
    rc.Store(path, clock=rc.ManualClock()).close()
    rc.Store(path, clock=rc.ManualClock()).close()
    assert rc.check_file(path) == []


@pytest.mark.parametrize(
    "index", ["(hex(zeroblob(length(id) * 10000000)))", "(id) WHERE length(hex(zeroblob(300000000))) > length(id)"]
)
def test_a_foreign_index_is_named_before_it_is_computed(index: str, tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with rc.Store(path, clock=rc.ManualClock()):
        pass
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute(f"CREATE INDEX evil ON resonate_promises {index}")
        file.execute("PRAGMA writable_schema = ON")  # as if the rows had been there before the index
    problems = rc.check_file(path)
    assert problems[0] == "schema: evil does not belong to a store" and "integrity: not checked" in problems[1], problems


def test_what_an_application_may_add_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with rc.Store(path, clock=rc.ManualClock()) as store:
        store.promises.create("a", timeout=1000)
        store.views.index()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.executescript(
            "CREATE TABLE orders (id TEXT, total INT, twice INT AS (total * 2)); CREATE INDEX lower ON orders (lower(id));"
            "CREATE VIEW open AS SELECT id FROM resonate_promises WHERE state = 0; CREATE INDEX mine ON resonate_promises (state);"
            "INSERT INTO orders VALUES ('a', 1); VACUUM"
        )
    with rc.Store(path, clock=rc.ManualClock()) as store:
        assert store.promises.get("a").state == "pending"
    assert rc.check_file(path) == ["schema: mine does not belong to a store"]
    _, version, newest = schema_versions(str(path))
    assert version == newest
