"""The source distribution and the wheels that the tests of a session share: each is built once, in isolation as pip does for a user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from once import made_once

ROOT = Path(__file__).parents[1]
# The options of scripts/setup, so that the compiler cache has the objects.
OPTIONS = ["--config-settings=cmake.define.RESONATE_WARNINGS_AS_ERRORS=ON"] if os.environ.get("CI") else []


def run(*command: str | Path, where: Path) -> str:
    """Runs a command with temporary files in `where`; returns its output, and raises with it if the command fails."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV")}
    environment |= {"TMPDIR": str(where), "CCACHE_BASEDIR": str(where), "CCACHE_NOHASHDIR": "1"}
    done = subprocess.run(command, cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def interpreter(version: str) -> str:
    """The Python of that version that `scripts/setup` finds; skips the test if there is none."""
    find = f". {ROOT}/scripts/lib/environment.sh; python_for {version}"
    found = subprocess.run(["bash", "-c", find], capture_output=True, text=True).stdout.strip()
    if not found:
        pytest.skip(f"Python {version} is not on this machine")
    return found


# What is built stands outside the repository, so that nothing of it is imported by accident.
def source_distribution(factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built as for a release."""

    def make(folder: Path) -> None:
        run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", folder, ROOT, where=folder)

    (built,) = made_once(factory, "sdist", make).glob("*.tar.gz")
    return built


def bare_environment(version: str, factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a virtual environment without packages."""
    found = interpreter(version)
    made = made_once(factory, f"python-{version}", lambda folder: run(found, "-m", "venv", folder, where=folder))
    return made / "bin" / "python"


def wheel_of(version: str, factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from the source distribution."""
    python, sdist = bare_environment(version, factory), source_distribution(factory)

    def make(folder: Path) -> None:
        run(python, "-m", "pip", "wheel", "--no-deps", *OPTIONS, "-w", folder, sdist, where=folder)

    (built,) = made_once(factory, f"wheel-of-python-{version}", make).glob("*.whl")
    return built
