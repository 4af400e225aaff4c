"""examples/jobs.py prints the same in every run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "jobs.py"


def output() -> str:
    return subprocess.run([sys.executable, str(EXAMPLE)], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_it_runs_and_says_the_same_again():
    told = output()
    assert told == output()
    assert told.count("Mon 22:45:00  like-") == told.count("one of 3 in an email to ann@example.org") == 3
    assert told.endswith("Every property of the protocol holds.\n")
