"""Makes something once in a session, for all workers of pytest-xdist that need it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first worker to ask for it fills, while the others wait.

    A lock, and not a mark `xdist_group`: with pytest 9.2 pytest-xdist ignores that one (pytest-xdist #1386).

    Args:
        factory: The session's.
        name: The folder's.
        make: Fills it; the next one to ask tries again where it raised.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # what the workers of a session share
    folder, done = root / name, root / f"{name}.done"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            done.touch()
    return folder
