"""kill -9 of processes that run jobs: a short run of kill_workers.py.

RESONATE_KILL_SECONDS sets the duration, RESONATE_KILL_SEED repeats a run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path


def test_every_job_completes_exactly_once_whoever_is_killed() -> None:
    seconds = float(os.environ.get("RESONATE_KILL_SECONDS", "12"))
    command = [sys.executable, str(Path(__file__).with_name("kill_workers.py")), "--seconds", str(seconds)]
    if seed := os.environ.get("RESONATE_KILL_SEED"):
        command += ["--seed", seed]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 500)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = {name: int(count) for name, count in re.findall(r"(\w[\w ]*) (\d+)", done.stdout)}
    assert numbers["jobs"] == numbers["completions"] > 100, done.stdout
    assert numbers["kills"] >= 4 and numbers["attempts"] > numbers["jobs"], done.stdout
    assert numbers["lost"] == numbers["completed twice"] == numbers["claimed twice"] == 0
