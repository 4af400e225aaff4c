"""A column of a file that repeats another one, changed by another program, ended the process with SIGSEGV, and `check` found it sound.

An index leads to rows by such columns. A row that is not what its index says is an error when it is read, and a finding of `check`.
The whole kind is in tests/fuzz/test_files.py.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import libpq
import resonate_core as rc
from fuzz import file_damage, sound_file, use_file
from postgres_urls import plain, schema_of
from tiers import every

COLUMNS = {
    "a pid of a completed job": ("UPDATE resonate_promises SET pid = 'w' WHERE id = 'j-completed'", "pid"),
    "a pid of a plain promise": ("UPDATE resonate_promises SET pid = 'w' WHERE id = 't-pending'", None),
    "no pid of a held task": ("UPDATE resonate_promises SET pid = NULL WHERE id = 't-acquired'", "no process holds it"),
    "another priority": ("UPDATE resonate_promises SET priority = 99 WHERE id = 'j-pending-0'", "priority"),
    "another queue": ("UPDATE resonate_promises SET queue = 'q' WHERE id = 'j-pending-0'", "queue"),
    "claimable although completed": ("UPDATE resonate_promises SET enqueued_at = 1 WHERE id = 'j-completed'", "enqueued_at"),
    "another state": ("UPDATE resonate_promises SET job_state = 5 WHERE id = 'j-running'", "job_state"),
    "a key of another job": ("UPDATE resonate_promises SET unique_key = 'u1' WHERE id = 'j-pending-0'", "unique_key"),
    "another batch": ("UPDATE resonate_promises SET batch_key = NULL WHERE id = 'j-group-1'", "batch_key"),
    "another branch": ("UPDATE resonate_promises SET branch = 'c' WHERE id = 'p-open'", "branch"),
    "a timer of another kind": (
        "UPDATE resonate_promises SET due_at = 1, due_kind = 3 WHERE id = 'p-timer'",
        "not one of its state",
    ),
    "a late timer": ("UPDATE resonate_promises SET due_at = 9000000000000 WHERE id = 'p-timer'", "later than its next step"),
    "no timer": ("UPDATE resonate_promises SET due_at = NULL, due_kind = NULL WHERE id = 'p-timer'", "timer is missing"),
    "a schedule that is due": ("UPDATE resonate_schedules SET due_at = 1 WHERE id = 's1'", "due_at"),
    "an unblock that is an execute": ("UPDATE resonate_messages SET unblock_of = 'x' WHERE kind = 0", "unblock_of"),
    "a canceller that awaits nothing": ("UPDATE resonate_edges SET cancelled_with = 'x' WHERE kind = 1", "canceller"),
    "a queue under another name": ("UPDATE resonate_queues SET name = 'p' WHERE name = 'q'", "under the name"),
    "counters without end": ("UPDATE resonate_counters SET sequence = 9223372036854775807", "counters"),
}
DANGLING = {
    "listeners that are gone": "DELETE FROM resonate_edges WHERE kind = 0",
    "callbacks that are gone": "DELETE FROM resonate_edges WHERE kind = 1",
    "awaited jobs that are gone": "DELETE FROM resonate_promises WHERE id LIKE 'j-pending-%'",
    "awaiters that are gone": "DELETE FROM resonate_promises WHERE id LIKE 't-%'",
    "queues that are gone": "DELETE FROM resonate_queues",
    "counted too little": "UPDATE resonate_promises SET callbacks = 0, listeners = 0",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    sound_file.make(tmp_path / "app.db")
    return tmp_path / "app.db"


def change(path: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        assert file.execute(sql).rowcount > 0


def test_the_file_is_sound(path: Path) -> None:
    assert use_file.use(path, commands=True) == []


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_that_disagrees_is_found_and_harmless(path: Path, name: str) -> None:
    sql, word = COLUMNS[name]
    change(path, sql)
    problems = use_file.use(path, commands=False)
    if word is not None:
        assert problems and word in str(problems) and all(problem.startswith("rows: ") for problem in problems)


def test_commands_on_a_pid_that_nobody_has(path: Path) -> None:
    """The input of the report."""
    change(path, COLUMNS["a pid of a completed job"][0])
    for arguments, code in ((["check", str(path)], 1), (["workers", "--db", str(path)], 1)):
        ran = subprocess.run(
            [sys.executable, "-m", "resonate_core", *arguments], capture_output=True, text=True, check=False, timeout=60
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert "j-completed" in ran.stdout + ran.stderr and "Traceback" not in ran.stderr
    with rc.Store(path, clock=rc.ManualClock(0)) as store, pytest.raises(rc.StoreError, match="a stored row is damaged"):
        store.views.leases(100)


@pytest.mark.parametrize("name", DANGLING)
def test_rows_that_are_gone_are_found_and_harmless(path: Path, name: str) -> None:
    change(path, DANGLING[name])
    problems = rc.check_file(path)
    if not problems:  # each row can be read
        with rc.Store(path, clock=rc.ManualClock(0), read_only=True) as store:
            problems = [one.name for one in store.check() if one.name != "submission_refused"]
    assert problems
    use_file.use(path, commands=False)


@pytest.mark.parametrize(
    ("column", "value"), [("timeout_at", "soon"), ("timeout_at", None), ("id", b"\xff"), ("state", 9), ("listeners", -1)]
)
def test_values_that_the_table_forbids_are_named(path: Path, column: str, value: object) -> None:
    with file_damage.unchecked(path) as file:
        file.execute(f"UPDATE resonate_promises SET {column} = ? WHERE id = 'p-open'", (value,))
    assert use_file.use(path, commands=False)


@pytest.mark.parametrize("sql", every(4, [*(sql for sql, _ in COLUMNS.values()), *DANGLING.values()]))
def test_rows_of_a_database_are_harmless(postgres_url: str, sql: str) -> None:
    with rc.Store(postgres_url, clock=rc.ManualClock(sound_file.NOW)) as store:
        sound_file.fill(store)
    with libpq.Connection(plain(postgres_url)) as connection:
        connection.execute(f"SET search_path TO {schema_of(postgres_url)}; {sql.replace('resonate_', '')}")
    use_file.use_store(lambda: rc.Store(postgres_url, clock=rc.ManualClock(sound_file.NOW)))


def test_retries_without_end_are_no_endless_loop(path: Path) -> None:
    change(
        path,
        """UPDATE resonate_promises SET job = json_set(job, '$.retryCount', 9000000000000000000, '$.maxRetries', 9100000000000000000,
        '$.retryPolicy', json('{"kind": "exponential", "base": 0, "factor": 2.0, "cap": 86400000}')) WHERE id = 'j-running'""",
    )
    use_file.use(path, commands=False)
