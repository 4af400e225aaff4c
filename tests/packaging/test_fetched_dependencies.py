"""Libraries that are not installed are fetched: `cmake/dependencies.cmake` with archives of stand-in projects, from a mirror on the
loopback, in place of those of GitHub and sqlite.org.

The stand-ins ask for CMake as old as the real ones do, and take their options as they do: by `option()`.
"""

from __future__ import annotations

import functools
import hashlib
import http.server
import re
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

CMAKE = Path(__file__).parents[2] / "cmake"


#: By the name in `resonate_fetch`: what the CMakeLists.txt of a stand-in holds.
STAND_INS = {
    "nlohmann_json": """
cmake_minimum_required(VERSION 3.1)
project(nlohmann_json LANGUAGES CXX)
option(JSON_BuildTests "" ON)
if(JSON_BuildTests)
  message(FATAL_ERROR "tests of json")
endif()
add_library(nlohmann_json INTERFACE)
add_library(nlohmann_json::nlohmann_json ALIAS nlohmann_json)
""",
    "simdjson": """
cmake_minimum_required(VERSION 3.14)
project(simdjson LANGUAGES CXX)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp "int simdjson_stand_in;")
add_library(simdjson ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp)
add_library(simdjson::simdjson ALIAS simdjson)
""",
    "date": """
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
    "sqlite3": None,
    "SQLiteCpp": """
cmake_minimum_required(VERSION 3.1)
project(SQLiteCpp LANGUAGES CXX)
find_package(SQLite3 REQUIRED)
option(SQLITECPP_INTERNAL_SQLITE "" ON)
if(SQLITECPP_INTERNAL_SQLITE)
  message(FATAL_ERROR "a second SQLite in the process")
endif()
add_library(SQLiteCpp INTERFACE)
target_link_libraries(SQLiteCpp INTERFACE SQLite::SQLite3)
""",
    "googletest": """
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
find_package(Threads REQUIRED)
add_library(resonate_options INTERFACE)
include(cmake/dependencies.cmake)
if(TARGET resonate_sqlite_calls)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/calls.cpp "")
  target_sources(resonate_sqlite_calls PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/calls.cpp)
endif()
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
message(STATUS "SQLite is loaded: ${resonate_sqlite_is_loaded}")
"""
FETCHED = {
    "json: nlohmann_json system ON",
    "simdjson: simdjson system ON",
    "date: date system ON",
    "date: date-tz system ON",
    "sqlite: SQLiteCpp system ON",
    "gtest: gtest_main system ON",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without logging."""

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The URL of a mirror on the loopback, and its folder."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()
        thread.join()


def archive(mirror: Path, name: str, file: str) -> str:
    """Puts an archive with one folder into the mirror, as GitHub and sqlite.org make them; returns its SHA-256."""
    source = mirror / "sources" / f"{name}-1.0"
    source.mkdir(parents=True)
    text = STAND_INS[name]
    if text is None:
        (source / "sqlite3.c").write_text("int sqlite3_stand_in;\n")
        (source / "sqlite3.h").touch()
    else:
        (source / "CMakeLists.txt").write_text(text)
    path = mirror / name / file
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as made:  # CMake looks into a file, not at its name
        made.add(source, arcname=source.name)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def project(folder: Path, mirror: Path) -> Path:
    """A project that uses our files for CMake, with the digests of the stand-ins."""
    made = folder / "project"
    shutil.copytree(CMAKE, made / "cmake")
    (made / "CMakeLists.txt").write_text(PROJECT)
    fetched = set()
    for path in (made / "cmake/dependencies.cmake", made / "cmake/sqlite.cmake"):
        text = path.read_text()
        for name, file, digest in re.findall(r"resonate_fetch\((\w+)\s+https://\S+/(\S+)\s+([0-9a-f]{64})\)", text):
            text = text.replace(digest, archive(mirror, name, file))
            fetched.add(name)
        path.write_text(text)
    assert fetched == set(STAND_INS)
    return made


def configure(source: Path, url: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs CMake in a folder beside the project."""
    cmake = shutil.which("cmake")
    assert cmake is not None, "scripts/setup installs cmake"
    command = [cmake, "-S", str(source), "-B", str(source.parent / "build"), f"-DRESONATE_MIRROR={url}", *options]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("sqlite", "loaded"), [("LINK", "OFF"), ("LOAD", "ON")])
def test_libraries_that_are_missing_are_fetched(tmp_path: Path, mirror: tuple[str, Path], sqlite: str, loaded: str) -> None:
    url, folder = mirror
    done = configure(project(tmp_path, folder), url, "-DRESONATE_FETCH_DEPS=ON", f"-DRESONATE_SQLITE={sqlite}")
    assert done.returncode == 0, done.stdout
    assert "CMake Warning" not in done.stdout
    lines = {line.removeprefix("-- ") for line in done.stdout.splitlines()}
    assert lines >= FETCHED | {f"SQLite is loaded: {loaded}"}, done.stdout


@pytest.mark.timeout(300)
def test_linking_needs_the_headers_of_sqlite(tmp_path: Path, mirror: tuple[str, Path]) -> None:
    url, folder = mirror
    hidden = ["-DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON"]  # as on a system that has none
    done = configure(project(tmp_path, folder), url, "-DRESONATE_FETCH_DEPS=ON", "-DRESONATE_SQLITE=LINK", *hidden)
    assert done.returncode != 0
    assert "SQLite 3.37 or newer is not installed (Debian: libsqlite3-dev)" in done.stdout


@pytest.mark.timeout(300)
def test_an_archive_of_other_content_is_refused(tmp_path: Path, mirror: tuple[str, Path]) -> None:
    url, folder = mirror
    source = project(tmp_path, folder)
    (changed,) = (folder / "simdjson").iterdir()
    changed.write_bytes(changed.read_bytes() + b"x")
    done = configure(source, url, "-DRESONATE_FETCH_DEPS=ON")
    assert done.returncode != 0
    assert "SHA256 hash of" in done.stdout, done.stdout
