"""`scripts/wheels`: wheels for every Linux with glibc 2.28 or newer, in which SQLite is the copy of Python's sqlite3."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from once import made_once

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "wheels"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
#: What every system with glibc has.
OF_THE_SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|libgcc_s|ld-linux-x86-64)\.so\.\d+")
OLDEST_GLIBC = (2, 28)

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts/wheels runs on Linux")


def wheels(*options: str) -> subprocess.CompletedProcess[str]:
    """Runs the script."""
    return subprocess.run([SCRIPT, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@linux
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--python", "2.7"], "Python 2.7 with headers and venv is not on this machine; name others with --python"),
        (["--python"], "--python must be followed by a value"),
        (["--arch", "sparc"], "--arch must be x86_64 or aarch64, got sparc"),
        (["--sources", "/nowhere"], "--sources must be a folder, got /nowhere"),
        (["--fast"], "scripts/wheels takes --python, --sources, --arch, --emulated and --output, got --fast"),
    ],
)
def test_wrong_options_are_refused(options: list[str], message: str) -> None:
    done = wheels(*options)
    assert done.returncode == 1
    assert f"** FAILED: {message}" in done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel for this Python. `RESONATE_WHEEL_SOURCES` names the sources of the libraries where they cannot be fetched."""
    sources = os.environ.get("RESONATE_WHEEL_SOURCES")

    def make(folder: Path) -> None:
        done = wheels("--python", VERSION, "--output", str(folder), *(["--sources", sources] if sources else []))
        assert done.returncode == 0, done.stdout

    (built,) = made_once(tmp_path_factory, "manylinux", make).glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the wheel is unpacked."""

    def unpack(folder: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)

    return made_once(tmp_path_factory, "manylinux-unpacked", unpack)


def run(installed: Path, program: str, where: Path) -> str:
    """Runs a program with the package of the wheel; returns its output."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"} | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-S", "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


full = [linux, pytest.mark.full, pytest.mark.timeout(3600)]


class TestWheel:
    """The wheel that the script makes."""

    pytestmark = full

    def test_its_tag_promises_an_old_glibc(self, wheel: Path) -> None:
        tag = f"cp{VERSION.replace('.', '')}"
        assert re.fullmatch(rf"resonate_core-[\d.]+-{tag}-{tag}-manylinux_2_28_\w+\.whl", wheel.name)

    def test_its_libraries_keep_the_promise(self, installed: Path) -> None:
        libraries = [p for p in installed.rglob("*.so*") if p.is_file()]
        assert {p.parent.name for p in libraries} == {"resonate_core", "_libraries"}
        for library in libraries:
            printed = subprocess.run(["readelf", "-dW", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
            needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", printed))
            assert "libc.so.6" in needed
            assert {name for name in needed if not OF_THE_SYSTEM.fullmatch(name)} == set()
            versions = {tuple(map(int, v.split("."))) for v in re.findall(r"@GLIBC_([\d.]+)", printed)}
            assert versions
            assert max(versions) <= OLDEST_GLIBC

    def test_it_shows_python_alone_and_asks_python_alone(self, installed: Path) -> None:
        (module,) = installed.glob("resonate_core/_core*.so")
        printed = subprocess.run(["nm", "-D", module], capture_output=True, text=True, check=True).stdout
        symbols = [line.split()[-2:] for line in printed.splitlines()]
        assert {name for kind, name in symbols if kind not in "UwA"} == {"PyInit__core"}
        # All others without a version are Python's; otherwise only an import would notice a symbol that no library has.
        assert {name for kind, name in symbols if kind == "U" and "@" not in name and not name.startswith(("Py", "_Py"))} == set()

    def test_the_readme_runs(self, installed: Path, tmp_path: Path) -> None:
        program = f"import doctest; result = doctest.testfile({str(ROOT / 'README.md')!r}, module_relative=False); assert result.attempted and not result.failed"
        run(installed, program, tmp_path)


SHARED = """
import contextlib, sqlite3
import resonate_core as rc
from resonate_core._core import sqlite_library

with contextlib.closing(sqlite3.connect("a.db")) as shop, rc.Store("a.db") as store:
    assert sqlite_library()[0] == shop.execute("SELECT sqlite_source_id()").fetchone()[0]
    with shop:
        rc.submit(shop, "promise.create", {"id": "a", "timeoutAt": 10**14, "param": {}, "tags": {}})
    store.tick()
    assert store.promises.get("a").state == "pending"
"""
#: A Python whose sqlite3 the module cannot use: it looks for `_sqlite3` once.
OWN_COPY = """
import contextlib, sqlite3, sys
own = sys.modules["_sqlite3"]
sys.modules["_sqlite3"] = None
import resonate_core as rc
from resonate_core._core import sqlite_library
sys.modules["_sqlite3"] = own
assert sqlite_library()[0].endswith("(resonate_core's own copy)")
"""
REFUSED = """
import os, pathlib, tempfile

def refused(error, call):
    try:
        call()
    except error as raised:
        return str(raised)
    raise AssertionError(f"{call} was not refused")

with rc.Store("a.db") as store:
    store.promises.create("a", timeout=10**14)
    for name in ("a.db", b"a.db", pathlib.Path("a.db"), os.path.abspath("a.db")):
        assert "two copies undo each other's locks" in refused(rc.Unsupported, lambda: sqlite3.connect(name))
    assert "a.db" in refused(rc.Unsupported, lambda: sqlite3.connect("file:a.db?mode=ro", uri=True))
    with contextlib.closing(sqlite3.connect("other.db")) as other, contextlib.closing(sqlite3.connect(":memory:")):
        other.execute("CREATE TABLE t (n)")
        request = {"id": "b", "timeoutAt": 10**14, "param": {}, "tags": {}}
        assert "own copy" in refused(rc.Unsupported, lambda: rc.submit(other, "promise.create", request))
        message = refused(rc.StoreError, lambda: rc.Store("other.db"))
        assert message.startswith('store "' + os.path.abspath("other.db") + '": cannot open: this process has it open with Python')
    with contextlib.closing(sqlite3.connect(":memory:")) as attaching:
        attaching.execute("ATTACH 'other.db' AS other")
        attaching.execute("SELECT * FROM other.t").fetchall()
        assert "this process has it open with Python" in refused(rc.StoreError, lambda: rc.Store("other.db"))
    rc.Store("other.db").close()
    with open("a.db", "rb"), tempfile.NamedTemporaryFile(suffix=".db") as empty:
        rc.Store("a.db").close()
        rc.Store(empty.name).close()
with contextlib.closing(sqlite3.connect("a.db")) as shop:
    assert shop.execute("SELECT count(*) FROM resonate_promises").fetchone() == (1,)
"""


class TestSqlite:
    """Which copy of SQLite the module uses, and its error if that is not Python's."""

    pytestmark = full

    def test_it_is_the_copy_of_python(self, installed: Path, tmp_path: Path) -> None:
        run(installed, SHARED, tmp_path)

    def test_two_copies_never_have_one_file_open(self, installed: Path, tmp_path: Path) -> None:
        run(installed, OWN_COPY + REFUSED, tmp_path)
