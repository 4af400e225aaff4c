"""kill -9 under load: every answered change is in the store."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc

HERE = Path(__file__).parent


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [40, pytest.param(100, marks=pytest.mark.full)])
def test_what_was_answered_survives_many_kills(place, kills):
    seed = secrets.randbelow(10**6)
    writers = [sys.executable, str(HERE / "writer.py"), str(place), str(kills), str(seed)]
    answers = subprocess.run(writers, check=True, capture_output=True, text=True, timeout=500).stdout
    assert answers.count("\n") > kills, f"the writers hardly wrote; seed {seed}"
    checker = [sys.executable, str(HERE / "checker.py"), str(place)]
    checked = subprocess.run(checker, input=answers, capture_output=True, text=True, check=False, timeout=300)
    print(f"seed {seed}: {checked.stdout}")
    assert checked.returncode == 0, f"seed {seed}: {checked.stdout}{checked.stderr}"
    assert "lost 0, broken invariants 0, unblocks lost 0" in checked.stdout


def test_the_checker_notices_what_is_lost(tmp_path):
    path = tmp_path / "app.db"
    with rc.Store(path) as store:
        store.promises.create("there", timeout=10**9)
    checker = [sys.executable, str(HERE / "checker.py"), str(path)]
    answers = "pending there\nresolved there\npending nowhere\nunblocked there\n"
    checked = subprocess.run(checker, input=answers, capture_output=True, text=True, check=False, timeout=60)
    assert checked.returncode == 1
    assert checked.stdout == "answered 4, lost 3, broken invariants 0, unblocks lost 1\n"
