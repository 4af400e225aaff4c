"""A store that was a pipe (FIFO) was opened for reading, and that waits until another program writes into the pipe: `resonate-core check`,
`promises get` and the others did not end. A path that is no regular file is refused before it is opened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from tiers import every

OPENINGS = {
    "store": "rc.Store(path)",
    "read_only": "rc.Store(path, read_only=True)",
    "versions": "_core.schema_versions(path)",
}
COMMANDS = {
    "promises": ["promises", "get", "x", "--db"],
    "jobs": ["jobs", "list", "--db"],
    "workers": ["workers", "--db"],
    "migrate": ["migrate", "--dry-run", "--db"],
    "check": ["check"],
    "dash": ["dash", "--once", "--db"],
    "serve": ["serve", "--port", "0", "--db"],
}


@pytest.fixture(params=["pipe", "link to a pipe", "device", "socket"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / "made"
    if request.param == "device":
        return Path("/dev/zero")
    if request.param == "socket":
        os.mknod(made, 0o140600)
    else:
        os.mkfifo(made)
    if request.param == "link to a pipe":
        (tmp_path / "link").symlink_to(made)
        return tmp_path / "link"
    return made


@pytest.mark.parametrize("name", OPENINGS)
def test_opening_it_is_an_error(path: Path, name: str) -> None:
    program = f"""
import sys, resonate_core as rc
from resonate_core import _core
path = sys.argv[1]
try:
    {OPENINGS[name]}
except rc.StoreError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60)
    assert "it is not a regular file" in done.stdout, done.stderr


def test_check_file_says_it(path: Path) -> None:
    program = "import sys, resonate_core as rc; print(rc.check_file(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60)
    assert "it is not a regular file" in done.stdout + done.stderr


@pytest.mark.parametrize("name", every(2, COMMANDS))
def test_commands_end(path: Path, name: str) -> None:
    command = [sys.executable, "-m", "resonate_core", *COMMANDS[name], str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode in (2, 3)
    assert "it is not a regular file" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_pipe_in_place_of_a_log(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "shop.db"
    rc.Store(path).close()
    os.mkfifo(f"{path}{ending}")
    program = "import sys, resonate_core as rc; print(rc.check_file(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=60)
    assert f'{ending}" is not a regular file' in done.stdout + done.stderr
