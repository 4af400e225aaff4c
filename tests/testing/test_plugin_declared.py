"""The pytest plugin is declared, and does no work in a run that does not use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_entry_point_is_declared_and_in_the_wheel() -> None:
    tomllib = pytest.importorskip("tomllib")  # on Python 3.11 and newer
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["pytest11"] == {"resonate_core_pytest": "resonate_core_pytest"}
    assert "python/resonate_core_pytest" in project["tool"]["scikit-build"]["wheel"]["packages"]
    assert any(one.startswith("pytest") for one in project["project"]["optional-dependencies"]["testing"])


def test_a_run_without_its_fixtures_imports_no_engine(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    assert 'resonate_core_pytest' in sys.modules\n"
        "    assert [name for name in sys.modules if name.partition('.')[0] == 'resonate_core'] == []\n"
        "    assert 'hypothesis' not in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "resonate_core_pytest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-p", "no:hypothesispytest", "-p", "no:anyio", "--rootdir", str(tmp_path), str(tmp_path)]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(command, capture_output=True, text=True, env=clean, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "resonate: seed 0, back ends memory" not in done.stdout  # -q has no header
