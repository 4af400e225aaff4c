"""The storages that every behavioural test runs on: the one list of them.

A storage joins by one line in BACK_ENDS. One that cannot be opened here gives the reason why; the run says so in its first
lines and in its skips, and fails on it where RESONATE_REQUIRE_BACK_ENDS is set, as it is in CI.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUBJECT = os.environ.get("RESONATE_TEST_SUBJECT", "store")
"""What the tests judge: "store" (the module), or "reference" (the Python model, which is thereby judged itself)."""

if SUBJECT == "reference":
    import reference_subject as subject
else:
    import resonate_core as subject


@dataclass(frozen=True)
class BackEnd:
    """One storage.

    Attributes:
        name: What the test ids show.
        open: Opens an empty store with the given options.
        missing: Why it cannot be used here, or None.
        check_each_step: Whether its stores check the invariants after each request and step. A durable store with `check=True`
            runs no group commit, so that the stores in files check their whole state after each test instead.
    """

    name: str
    open: Callable[..., Any]
    missing: str | None = None
    check_each_step: bool = True


_files = itertools.count()
_folder: Path | None = None


def place_of_files() -> Path | None:
    """Where files of tests are made: in memory if there is room, since a disk takes 10 times as long for a new one; None: elsewhere."""
    memory = Path("/dev/shm")
    if "TMPDIR" in os.environ:
        return None
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > 4 * 2**30 else None


def new_file() -> Path:
    """A path where no file is yet, in a folder that is deleted when the tests end."""
    global _folder
    if _folder is None:
        _folder = Path(tempfile.mkdtemp(prefix="resonate-tests-", dir=place_of_files()))
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    return _folder / f"{os.getpid()}-{next(_files)}.db"


def open_file(**options: Any) -> Any:
    """An empty store in a SQLite file. Without fsync: what a loss of power does has tests of its own."""
    options.setdefault("durability", "normal")
    return subject.Store(new_file(), **options)


BACK_ENDS = [
    BackEnd("memory" if SUBJECT == "store" else "reference", lambda **options: subject.Store(None, **options)),
]
if SUBJECT == "store":
    BACK_ENDS.append(BackEnd("sqlite", open_file, check_each_step=False))

ManualClock = subject.ManualClock
Refused = subject.Refused if SUBJECT == "reference" else subject.errors.ResonateError
"""What the store raises where no reply can carry the refusal (a tick into the past, a broken snapshot)."""
