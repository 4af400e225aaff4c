"""A disk that fails, and a loss of power."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the disk is preloaded as the Linux loader does it"),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    library = tmp_path_factory.mktemp("disk") / "faulty_disk.so"
    source = HERE / "faulty_disk.c"
    subprocess.run([str(COMPILER), "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return library


def rows(disk, folder, *more):
    command = [sys.executable, str(HERE / "disk_faults.py"), str(disk), str(folder), *more]
    environment = {**os.environ, "LD_PRELOAD": str(disk)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=800)
    assert run.returncode == 0, run.stderr[-3000:]
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_a_failing_disk_gives_an_error_and_leaves_the_store_intact(disk, tmp_path):
    table = rows(disk, tmp_path)
    for row in table:
        print(row)
    assert {row["operation"] for row in table} == {"write", "sync", "open"}
    for row in table:
        assert row["n"] > 0
        assert row["broken"] == [], row
        assert row["intact"] == row["n"]
    # A disk that stays broken always causes an error, at the first open, write or sync that a commit needs.
    assert all(row["errors"] > 0 for row in table if row["goes_on"])


def test_what_was_answered_survives_a_loss_of_power(disk, tmp_path):
    [row] = rows(disk, tmp_path, "--power")
    assert row["error"] is None
    assert row["losses"] >= 10
    assert row["broken"] == []
