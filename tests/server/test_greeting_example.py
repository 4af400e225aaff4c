"""examples/greeting_worker.py: an SDK program with the URL of `resonate-core serve` runs as the README shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from server.live_server import serving

pytest.importorskip("resonate", reason="the SDK needs Python 3.12")

EXAMPLE = Path(__file__).parents[2] / "examples" / "greeting_worker.py"


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
    command = [sys.executable, str(EXAMPLE)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env={**clean, **environment})


def test_it_prints_a_greeting_and_the_same_one_again() -> None:
    with rc.Store() as store, serving(store) as live:
        for _ in range(2):
            done = run(RESONATE_URL=f"http://127.0.0.1:{live.port}")
            assert (done.returncode, done.stdout) == (0, "Good morning, Ann.\n"), done.stderr
        assert store.promises.get("greeting-1").state == "resolved"
        assert store.counts()["promises"]["resolved"] == 3


def test_without_a_url_it_says_what_to_do() -> None:
    done = run()
    assert done.returncode == 1
    assert done.stderr.startswith("RESONATE_URL is not set: start `resonate-core serve`")
