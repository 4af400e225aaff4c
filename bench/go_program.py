"""Builds the peers that are written in Go."""

from __future__ import annotations

import subprocess
from pathlib import Path


def build(name: str, source: Path, folder: Path) -> Path | str:
    """Return the built program, or why there is none.

    Args:
        name: The peer, for the reason.
        source: The folder of its module.
        folder: For the program.
    """
    program = (folder / f"{name.lower()}-bench").absolute()
    made = subprocess.run(["go", "build", "-o", str(program), "."], cwd=source, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"{name} is not measured: its program does not build: {(made.stderr.strip() or 'no word').splitlines()[-1]}"
    return program
