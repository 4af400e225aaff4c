"""Files whose rows another program changed: each use of one works, or raises an error of the store.

A process of its own uses them (use_file.py), since its end is judged, too: no signal, no hang, no error of Python, and little memory.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import sound_file
from property import profiles

TESTS = Path(__file__).parents[1]
MOST_KIB = 600_000
"""The most memory of the process, in KiB; a sound file takes 60,000."""


def use(folder: Path, count: int, seconds: float) -> None:
    """Damages and uses copies of a sound file, in a process of its own, from the seed of the run on."""
    sound = folder / "sound.db"
    sound_file.make(sound)
    command = [sys.executable, "-X", "faulthandler", "-m", "fuzz.use_file", sound, folder, profiles.SEED, count, seconds]
    ran = subprocess.run([*map(str, command)], cwd=TESTS, capture_output=True, text=True, check=False, timeout=seconds + 600)
    files = ran.stdout.splitlines()
    assert ran.returncode == 0, (
        f"status {ran.returncode} at the file of seed {files[-1] if files else profiles.SEED}:\n{ran.stderr}"
    )
    assert int(files[-1].split()[-2]) < MOST_KIB, files[-1]


def test_a_few_files(tmp_path: Path) -> None:
    use(tmp_path, 40, 300)


@pytest.mark.full
def test_files_of_a_minute(tmp_path: Path) -> None:
    use(tmp_path, 10**9, 60)
