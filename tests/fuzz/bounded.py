"""Runs of a fuzzer in a process of its own, within a limit of memory: the loop of the process, and the test that starts it."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Bytes of data that a process may have beyond those of its beginning.
ROOM = 400_000_000

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit of data is that of Linux")


def runs(target: str, seed: int, least: int, duration: float, room: int) -> Iterator[int]:
    """Limit this process, and return the numbers of its runs; each prints the seed, so that it can be repeated.

    Args:
        target: The name of what is used.
        seed: Of the first run; each further run has the next one.
        least: The least runs.
        duration: Seconds for which runs begin after them.
        room: Bytes of data that the process may have beyond those of its beginning.
    """
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    limit = pages * resource.getpagesize() + room
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    ends = time.monotonic() + duration
    number = 0
    while number < least or time.monotonic() < ends:
        print(f"{target} {seed + number}", flush=True)
        yield number
        number += 1
    print(f"{number} runs of {target}", flush=True)


def run(module: str, target: str, seed: int, least: int, duration: int) -> None:
    """Run a module of this package in a process of its own; fail with its last output unless it ends well."""
    command = [sys.executable, "-m", f"fuzz.{module}", target, str(seed), str(least), str(duration), str(ROOM)]
    tests = Path(__file__).parents[1]
    child = subprocess.run(command, cwd=tests, capture_output=True, text=True, timeout=duration + 600, check=False)
    assert child.returncode == 0, f"{child.stdout[-200:]}\n{child.stderr[-5000:]}"
