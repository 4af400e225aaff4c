"""The source distribution builds a wheel that works in a bare virtual environment, on the oldest and the newest supported Python."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from built_wheels import OPTIONS, bare_environment, run, source_distribution, wheel_of

# A wheel is a whole build, which takes minutes on a busy machine.
pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
VERSIONS = ["3.10", "3.13"]
# SQLite is the system's, as Python's own sqlite3 module has it: two copies in one process undo each other's locks.
SYSTEM = re.compile(r"(libc|libm|libgcc_s|libstdc\+\+|libpthread|ld-linux.*|libsqlite3)\.so\.\d+")
CODE = re.compile(r"\.(py|pyi|typed|so[.\d]*)$")
RUN_README = """
import doctest, sys
failed, tried = doctest.testfile(sys.argv[1], module_relative=False)
print(f"{tried} examples")
sys.exit(1 if failed or not tried else 0)
"""


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built as for a release."""
    return source_distribution(tmp_path_factory)


@pytest.fixture(scope="module", params=VERSIONS)
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a bare virtual environment."""
    return bare_environment(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def wheel(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel for this interpreter."""
    return wheel_of(python.parts[-3].removeprefix("python-"), tmp_path_factory)


def test_the_source_distribution_is_small_and_complete(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "cmake", "cpp", "pyproject.toml", "python"}
    assert {"cpp/include", "cpp/src", "cpp/bindings"} == {"/".join(n.split("/")[:2]) for n in names if n.startswith("cpp/")}
    assert sdist.stat().st_size < 1_800_000


def test_a_second_build_in_isolation_compiles_nothing(python: Path, sdist: Path, tmp_path: Path) -> None:
    """`pip install '.[notebook]'` after `pip install .` is such a build, also without a compiler cache."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    compiled = []
    for out in ("first", "second"):
        run(python, "-m", "pip", "wheel", "--no-deps", *OPTIONS, "-w", tmp_path / out, source, where=tmp_path)
        compiled.append({path: path.stat().st_mtime_ns for path in (source / "build").rglob("*.o")})
    assert len(compiled[0]) > 20
    assert compiled[1] == compiled[0]


def test_the_wheel_holds_the_package_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (email.message_from_bytes(archive.read(n)) for n in names if n.endswith("/METADATA"))
    assert {re.sub(r"-.*", "", name.partition("/")[0]) for name in names} == {"resonate_core", "resonate_core_pytest"}
    assert {"resonate_core/__init__.py", "resonate_core/_core.pyi", "resonate_core/py.typed"} <= names
    assert any(re.fullmatch(r"resonate_core/_core\..*so", name) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    others = {n for n in names if not CODE.search(n) and ".dist-info/" not in n}
    listed = subprocess.run(["git", "ls-files", "."], cwd=ROOT / "python", check=True, stdout=subprocess.PIPE, text=True).stdout
    shown = {n for n in listed.splitlines() if not CODE.search(n)}  # the dashboard's pages, and those of Django's admin
    assert others == {"resonate_core/_libraries/LICENCES.txt"} | shown
    needed_always = [r for r in metadata.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert needed_always == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")
def test_the_wheel_needs_the_cpp_run_time_and_the_systems_sqlite(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    libraries = [p for p in tmp_path.rglob("*.so*") if p.is_file()]
    needed = {n for p in libraries for n in re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", p, where=tmp_path))}
    assert needed
    assert {n for n in needed if not SYSTEM.fullmatch(n)} <= {p.name for p in libraries}


def test_the_readme_runs_where_nothing_else_is_installed(python: Path, wheel: Path, tmp_path: Path) -> None:
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", "--force-reinstall", wheel, where=tmp_path)
    printed = run(python, "-W", "error", "-c", RUN_README, ROOT / "README.md", where=tmp_path)
    assert re.search(r"^[1-9]\d* examples$", printed, re.MULTILINE), printed
