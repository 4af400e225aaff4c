"""Runs the examples of docs/sdk.md, of the docstrings, and examples/sdk_program.py, and compares their output."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import resonate_core.connection
from resonate_core.connection import client, delivery, exchange, timekeeper, work

ROOT = Path(__file__).parents[3]
BLOCKS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / "docs" / "sdk.md").read_text(), re.DOTALL)


def run(*arguments: str | Path) -> str:
    """Returns the output of a program; fails if the program prints a warning or the error of a task."""
    environment = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONHASHSEED": "random"}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_python_block_of_the_page_says_what_it_prints():
    page = (ROOT / "docs" / "sdk.md").read_text()
    assert len(BLOCKS) == page.count("```python") >= 4


@pytest.mark.parametrize(("code", "printed"), BLOCKS, ids=range(len(BLOCKS)))
def test_the_page(code: str, printed: str):
    assert run("-c", code) == printed


@pytest.mark.parametrize(
    "module", [resonate_core.connection, client, delivery, exchange, timekeeper, work], ids=lambda m: m.__name__
)
def test_the_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_the_example_prints_exactly_this_within_ten_seconds():
    began = time.monotonic()
    printed = run(ROOT / "examples" / "sdk_program.py")
    assert time.monotonic() - began < 10
    assert printed == (Path(__file__).parent / "sdk_program.txt").read_text()


def test_the_example_prints_the_same_on_a_file(tmp_path: Path):
    printed = run(ROOT / "examples" / "sdk_program.py", tmp_path / "trials.db")
    assert printed == (Path(__file__).parent / "sdk_program.txt").read_text()
