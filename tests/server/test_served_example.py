"""examples/served_workflow.py: a worker and the server are killed, and the workflow ends once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resonate", reason="the SDK needs Python 3.12")

EXAMPLE = Path(__file__).parents[2] / "examples" / "served_workflow.py"


def test_it_tells_the_same_story_every_time():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        "Lisbon is booked; the worker is killed",
        "Oslo is booked, by another worker; the server is killed",
        "the workflow ends: Lisbon booked, Oslo booked, Accra booked",
        "7 durable steps, each settled once; 0 violations",
    ]
