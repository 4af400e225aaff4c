"""kill -9 of the server under load: a short run of what load_and_kill.py does for two minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from homes import Home


def test_what_was_answered_survives_kills_of_the_server(home: Home):
    program = Path(__file__).with_name("load_and_kill.py")
    command = [sys.executable, str(program), "--seconds", "8", "--kills", "4", "--store", str(home.new_place())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    acknowledged = int(done.stdout.split("acknowledged ")[1].split(",")[0])
    assert acknowledged > 100, done.stdout
