"""Jobs on a disk that fails: each call raises or takes effect completely."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the disk is preloaded as the Linux loader does it"),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
]


def test_a_failing_disk_leaves_the_jobs_whole(tmp_path: Path) -> None:
    here = Path(__file__).parent
    library = tmp_path / "faulty_disk.so"
    source = here.parent / "storage" / "faulty_disk.c"
    subprocess.run([str(COMPILER), "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    folder = tmp_path / "files"
    folder.mkdir()
    command = [sys.executable, str(here / "disk_faults.py"), str(library), str(folder)]
    done = subprocess.run(
        command, env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True, text=True, check=False, timeout=500
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
    table = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["operation"] for row in table] == ["write", "write", "sync", "sync", "open", "open"]
    for row in table:
        assert row["n"] > 0 and row["broken"] == [], row
    assert all(row["errors"] > 0 for row in table if row["goes_on"])
