"""Random recordings, uploads, parameters and actions break no dashboard: no error that is not in the contract, bounded memory, no hang.

The tier `full` runs each for 60 s. A failure prints the seed of the run: `python -m fuzz.dashboard TARGET SEED 1 0 400000000`, in `tests`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.dashboard import TARGETS

#: Bytes of data that a process may have beyond those of its beginning.
ROOM = 400_000_000


def run(target: str, runs: int, duration: int) -> None:
    command = [sys.executable, "-m", "fuzz.dashboard", target, "1", str(runs), str(duration), str(ROOM)]
    tests = Path(__file__).parent.parent
    child = subprocess.run(command, cwd=tests, capture_output=True, text=True, timeout=duration + 600, check=False)
    assert child.returncode == 0, f"{child.stdout[-200:]}\n{child.stderr[-5000:]}"


only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit of data is that of Linux")


@only_linux
@pytest.mark.parametrize("target", TARGETS)
def test_random_requests(target: str) -> None:
    run(target, 120, 0)


@only_linux
@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_random_requests_for_a_minute(target: str) -> None:
    run(target, 120, 60)
