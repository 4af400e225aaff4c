"""kill -9 of processes that run jobs: runs of kill_workers.py on each storage; the long ones are for `scripts/test --full`.

RESONATE_KILL_SECONDS sets the duration of the short runs, RESONATE_KILL_SEED repeats a run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from homes import Home
from integration.jobs.kill_workers import LEAST_KILLS

SHORT = float(os.environ.get("RESONATE_KILL_SECONDS", "7"))
RUNS = [
    pytest.param("sqlite", SHORT, id="sqlite"),
    pytest.param("postgres", SHORT, id="postgres"),
    pytest.param("sqlite", 12, id="sqlite_long", marks=pytest.mark.full),
    pytest.param("postgres", 60, id="postgres_long", marks=pytest.mark.full),
    pytest.param("pgbouncer", 20, id="pgbouncer_long", marks=pytest.mark.full),
]


@pytest.mark.parametrize(("home", "seconds"), RUNS, indirect=["home"])
def test_every_job_completes_exactly_once_whoever_is_killed(home: Home, seconds: float) -> None:
    program = Path(__file__).with_name("kill_workers.py")
    command = [sys.executable, str(program), "--seconds", str(seconds), "--store", str(home.new_place())]
    if seed := os.environ.get("RESONATE_KILL_SEED"):
        command += ["--seed", seed]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 500)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = {name: int(count) for name, count in re.findall(r"(\w[\w ]*) (\d+)", done.stdout)}
    assert numbers["jobs"] == numbers["completions"] > 100, done.stdout
    assert numbers["kills"] >= LEAST_KILLS and numbers["attempts"] > numbers["jobs"], done.stdout
    assert numbers["lost"] == numbers["completed twice"] == numbers["claimed twice"] == 0
