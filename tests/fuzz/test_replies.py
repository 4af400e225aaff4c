"""For whatever a server answers, a client returns a result of the right type or raises an error that is documented; commands end with a status.

A process of its own asks (use_replies.py), with a limit of memory. The tier `full` runs each target for 60 s. A failure prints the seed of
the run: `python -m fuzz.use_replies TARGET SEED 1 0 400000000`, in `tests`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.use_replies import TARGETS
from property import profiles

#: Bytes of data that a process may have beyond those of its beginning.
ROOM = 400_000_000
TESTS = Path(__file__).parents[1]


def use(target: str, runs: int, duration: int) -> None:
    command = [sys.executable, "-m", "fuzz.use_replies", target, str(profiles.SEED), str(runs), str(duration), str(ROOM)]
    child = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=duration + 600, check=False)
    assert child.returncode == 0, f"{child.stdout[-200:]}\n{child.stderr[-5000:]}"


only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit of data is that of Linux")


@only_linux
@pytest.mark.parametrize("target", TARGETS)
def test_random_replies(target: str) -> None:
    use(target, 12, 0)


@only_linux
@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_random_replies_for_a_minute(target: str) -> None:
    use(target, 12, 60)
