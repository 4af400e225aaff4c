"""Each C++ source compiles alone: the groups that CMake compiles as one unit hide no missing include and no name of a neighbour."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codebase_rules import grouped_sources

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("ninja"), reason="CMake or Ninja is not installed"),
]

ROOT = Path(__file__).parents[2]
SOURCES = sorted(grouped_sources((ROOT / "CMakeLists.txt").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The compiler's command for each source, without groups, by path."""
    folder = tmp_path_factory.mktemp("alone")
    pybind11 = subprocess.run([sys.executable, "-m", "pybind11", "--cmakedir"], check=True, capture_output=True, text=True).stdout
    options = ["-DRESONATE_UNITY=OFF", "-DRESONATE_BUILD_PYTHON=ON", "-DRESONATE_BUNDLE_LIBRARIES=OFF"]
    options += [f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={pybind11.strip()}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "--log-level=WARNING", *options], check=True)
    listed = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    sources = ((Path(one["file"]), one["command"]) for one in listed)
    return {str(file.relative_to(ROOT)): shlex.split(command) for file, command in sources if file.is_relative_to(ROOT)}


def without_output(command: list[str]) -> list[str]:
    """The command, which then only checks the source."""
    place = command.index("-o")
    return [*command[:place], *command[place + 2 :], "-fsyntax-only"]


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_compiles_alone(source: str, commands: dict[str, list[str]]) -> None:
    if source not in commands and Path(source).stem.startswith(("postgres_", "libpq")):
        pytest.skip("this machine has no header of libpq")
    done = subprocess.run(without_output(commands[source]), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
