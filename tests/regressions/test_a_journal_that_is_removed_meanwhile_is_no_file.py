"""A store was refused with '"app.db-journal" is not a regular file' if another process removed its journal between two looks at it."""

from __future__ import annotations

import threading
from pathlib import Path

import resonate_core as rc

OPENED = 300


def test_a_journal_that_comes_and_goes(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    rc.Store(path).close()
    journal, ended = tmp_path / "app.db-journal", threading.Event()

    def write() -> None:
        while not ended.is_set():
            journal.touch()
            journal.unlink(missing_ok=True)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(OPENED):
            rc.Store(path, read_only=True).close()
    finally:
        ended.set()
        writer.join()
