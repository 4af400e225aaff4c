"""kill -9 of the server under load: a short run of what load_and_kill.py does for two minutes, shorter in CI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from homes import Home


@pytest.mark.parametrize(("seconds", "kills"), [(4, 2), pytest.param(8, 4, marks=pytest.mark.full)])
def test_what_was_answered_survives_kills_of_the_server(home: Home, seconds: int, kills: int):
    program = Path(__file__).with_name("load_and_kill.py")
    command = [sys.executable, str(program), "--seconds", str(seconds), "--kills", str(kills), "--store", str(home.new_place())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    acknowledged = int(done.stdout.split("acknowledged ")[1].split(",")[0])
    assert acknowledged > 100, done.stdout
