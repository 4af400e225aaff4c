"""How long the disk takes: what a transaction of SQLite FULL waits for."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

_PAGE = os.urandom(4096)


def sync_ms(folder: Path, times: int = 200) -> float:
    """The median of a write of a page and an fdatasync, in ms, in a file of this folder."""
    sync = getattr(os, "fdatasync", os.fsync)
    took = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(times):
            started = time.perf_counter()
            file.write(_PAGE)
            sync(file.fileno())
            took.append(time.perf_counter() - started)
    return 1e3 * statistics.median(took)
