"""Libraries that are not installed are fetched: `cmake/dependencies.cmake` with archives of stand-in projects in place of GitHub's.

The stand-ins ask for CMake as old as the real ones do, and take their options as they do: by `option()`.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

DEPENDENCIES = Path(__file__).parents[2] / "cmake" / "dependencies.cmake"

#: By the repository in its URL: what the CMakeLists.txt of a stand-in holds.
STAND_INS = {
    "nlohmann/json": """
cmake_minimum_required(VERSION 3.1)
project(nlohmann_json LANGUAGES CXX)
option(JSON_BuildTests "" ON)
if(JSON_BuildTests)
  message(FATAL_ERROR "tests of json")
endif()
add_library(nlohmann_json INTERFACE)
add_library(nlohmann_json::nlohmann_json ALIAS nlohmann_json)
""",
    "simdjson/simdjson": """
cmake_minimum_required(VERSION 3.14)
project(simdjson LANGUAGES CXX)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp "int simdjson_stand_in;")
add_library(simdjson ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp)
add_library(simdjson::simdjson ALIAS simdjson)
""",
    "HowardHinnant/date": """
cmake_minimum_required(VERSION 3.7)
project(date LANGUAGES CXX)
option(USE_SYSTEM_TZ_DB "" OFF)
option(BUILD_TZ_LIB "" OFF)
option(BUILD_SHARED_LIBS "" ON)
if(NOT USE_SYSTEM_TZ_DB OR BUILD_SHARED_LIBS)
  message(FATAL_ERROR "date was not asked for the system's time zones in a static library")
endif()
add_library(date INTERFACE)
add_library(date::date ALIAS date)
if(BUILD_TZ_LIB)
  add_library(date-tz INTERFACE)
  add_library(date::date-tz ALIAS date-tz)
endif()
""",
    "SRombauts/SQLiteCpp": """
cmake_minimum_required(VERSION 3.1)
project(SQLiteCpp LANGUAGES CXX)
option(SQLITECPP_INTERNAL_SQLITE "" ON)
if(SQLITECPP_INTERNAL_SQLITE)
  message(FATAL_ERROR "a second SQLite in the process")
endif()
add_library(SQLiteCpp INTERFACE)
""",
    "google/googletest": """
cmake_minimum_required(VERSION 3.5)
project(googletest LANGUAGES CXX)
add_library(gtest_main INTERFACE)
add_library(GTest::gtest_main ALIAS gtest_main)
""",
}

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(stand_in LANGUAGES CXX)
set(RESONATE_BUILD_TESTS ON)
include(dependencies.cmake)
foreach(name json simdjson date sqlite gtest)
  get_target_property(libraries resonate_${name} INTERFACE_LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    get_target_property(real ${library} ALIASED_TARGET)
    if(NOT real)
      set(real ${library})
    endif()
    get_target_property(as_system ${real} SYSTEM)
    message(STATUS "${name}: ${real} system ${as_system}")
  endforeach()
endforeach()
"""


def archive(folder: Path, repository: str) -> tuple[str, str]:
    """An archive with one folder in it, as GitHub makes them: its URL and its SHA-256."""
    name = repository.partition("/")[2]
    source = folder / f"{name}-1.0"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(STAND_INS[repository])
    path = folder / f"{name}.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        made.add(source, arcname=source.name)
    return path.as_uri(), hashlib.sha256(path.read_bytes()).hexdigest()


def with_stand_ins(folder: Path) -> str:
    """The text of dependencies.cmake in which every URL and digest is that of a stand-in."""
    text = DEPENDENCIES.read_text()
    for repository in STAND_INS:
        url, digest = archive(folder, repository)
        text, count = re.subn(rf"https://github\.com/{repository}/\S+(.*?)[0-9a-f]{{64}}", rf"{url}\g<1>{digest}", text, flags=re.S)
        assert count == 1, repository
    assert "https://" not in text
    return text


@pytest.mark.timeout(300)
def test_libraries_that_are_missing_are_fetched(tmp_path: Path) -> None:
    cmake = shutil.which("cmake")
    assert cmake is not None, "scripts/setup installs cmake"
    project, archives = tmp_path / "project", tmp_path / "archives"
    project.mkdir()
    archives.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT)
    (project / "dependencies.cmake").write_text(with_stand_ins(archives))
    command = [cmake, "-S", str(project), "-B", str(tmp_path / "build"), "-DRESONATE_FETCH_DEPS=ON"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
    assert done.returncode == 0, done.stdout
    fetched = {line.removeprefix("-- ") for line in done.stdout.splitlines() if " system " in line}
    assert {
        "json: nlohmann_json system ON",
        "simdjson: simdjson system ON",
        "date: date system ON",
        "date: date-tz system ON",
        "sqlite: SQLiteCpp system ON",
        "gtest: gtest_main system ON",
    } <= fetched, done.stdout
