"""SQL that gives a file of this release the schema of an earlier one. Each text leads to the version before."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

_TABLES = ("promises", "schedules", "edges", "messages", "queues", "counters")

_STEPS = {
    10: """
        DROP INDEX resonate_children;
        DROP INDEX resonate_open;
        ALTER TABLE resonate_promises DROP COLUMN parent;
        ALTER TABLE resonate_promises DROP COLUMN child_kind;
        ALTER TABLE resonate_promises DROP COLUMN child_number;
        ALTER TABLE resonate_promises DROP COLUMN open_in;
        UPDATE resonate_store_version SET version = 10;
    """,
    9: """
        CREATE TABLE edges_of_before (
          kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
          owner TEXT NOT NULL,
          seq INTEGER NOT NULL,
          other TEXT NOT NULL,
          dialect INTEGER NOT NULL,
          cancelled_with TEXT,
          PRIMARY KEY (kind, owner, seq)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO edges_of_before SELECT kind, owner, seq, other, dialect, cancelled_with FROM resonate_edges;
        DROP TABLE resonate_edges;
        ALTER TABLE edges_of_before RENAME TO resonate_edges;
        CREATE UNIQUE INDEX edges_by_pair ON resonate_edges (kind, owner, other);
        CREATE INDEX resonate_edges_by_canceller ON resonate_edges (cancelled_with, owner) WHERE cancelled_with IS NOT NULL;
        UPDATE resonate_store_version SET version = 9;
    """,
    8: "ALTER TABLE resonate_schedules DROP COLUMN paused; UPDATE resonate_store_version SET version = 8;",
    7: """
        DROP TABLE resonate_queue_hours;
        UPDATE resonate_queues SET body = json_remove(body, '$.hour');
        UPDATE resonate_store_version SET version = 7;
    """,
    6: """
        UPDATE resonate_promises SET job = json_remove(job, '$.cancelWithAwaiters') WHERE job IS NOT NULL;
        DROP INDEX resonate_edges_by_canceller;
        ALTER TABLE resonate_edges DROP COLUMN cancelled_with;
        ALTER TABLE resonate_promises DROP COLUMN cancels_jobs;
        UPDATE resonate_store_version SET version = 6;
    """,
    5: "ALTER TABLE resonate_messages DROP COLUMN holder; ALTER TABLE resonate_messages DROP COLUMN leased_until;"
    + "".join(f"ALTER TABLE resonate_{name} RENAME TO {name};" for name in _TABLES)
    + "DROP TABLE resonate_inbox; DROP TABLE resonate_store_version;",
    4: """
        UPDATE promises SET job_state = coalesce(job_state, 1), enqueued_at = coalesce(enqueued_at, 0) WHERE job IS NOT NULL;
        DROP INDEX messages_unblock;
        DROP INDEX messages_unblock_by_id;
        ALTER TABLE messages DROP COLUMN unblock_of;
        CREATE INDEX messages_unblock ON messages (seq) WHERE kind = 1;
        CREATE INDEX messages_unblock_by_id ON messages (id, seq) WHERE kind = 1;
    """,
    3: """
        DROP INDEX messages_by_address;
        ALTER TABLE promises DROP COLUMN execute_waits;
        ALTER TABLE counters DROP COLUMN messages;
        DROP INDEX schedules_by_due;
        DROP INDEX schedules_set_aside;
        ALTER TABLE schedules DROP COLUMN due_at;
        ALTER TABLE schedules DROP COLUMN problem;
        CREATE INDEX schedules_by_next_run ON schedules (next_run_at, id) WHERE next_run_at IS NOT NULL;
    """,
    2: """
        DROP INDEX promises_by_batch;
        ALTER TABLE promises DROP COLUMN batch_key;
        ALTER TABLE schedules DROP COLUMN job;
    """,
}


def give_older_schema(path: Path, version: int, also: str = "") -> None:
    """Gives the file the schema of this version, 2 to 9, and then runs the statements of `also`."""
    steps = "".join(text for to, text in _STEPS.items() if to >= version)
    with contextlib.closing(sqlite3.connect(path)) as file:
        # From version 6 on, user_version belongs to the application.
        number = f"PRAGMA user_version = {version};" if version < 6 else ""
        file.executescript(f"{steps} {also} {number}")
