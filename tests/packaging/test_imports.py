"""`import resonate_core` imports little: the rest of the package, and its dependencies, are imported when a program uses them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import resonate_core

#: Parts of the standard library that take milliseconds each to import.
HEAVY = {
    "asyncio",
    "concurrent.futures",
    "hashlib",
    "html",
    "inspect",
    "json",
    "logging",
    "re",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
}
OWN = {"resonate_core", "resonate_core._core", "resonate_core.errors"}


def imported_by(statement: str) -> set[str]:
    """Returns the modules that a statement imports in a new process, without those that Python imports at each start."""
    program = f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_imports_little() -> None:
    imported = imported_by("import resonate_core")
    assert {name for name in imported if name.startswith("resonate_core")} == OWN
    assert not imported & HEAVY
    assert {name.partition(".")[0] for name in imported} - sys.stdlib_module_names == {"resonate_core"}


def test_a_store_imports_no_more() -> None:
    use = "import resonate_core as rc; rc.Store(clock=rc.ManualClock()).promises.create('a', timeout=1000, param=b'x')"
    imported = imported_by(use)
    assert {name for name in imported if name.startswith("resonate_core")} == OWN
    assert not imported & HEAVY


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("connect", "resonate_core.client"),
        ("display", "resonate_core.display"),
        ("submit", "resonate_core.submission"),
        ("Subscription", "resonate_core.calls.delivery"),
    ],
)
def test_a_later_name_imports_its_module(name: str, module: str) -> None:
    assert module in imported_by(f"import resonate_core; resonate_core.{name}")
    assert module in imported_by(f"from resonate_core import {name}")


def test_every_public_name_is_there() -> None:
    assert set(resonate_core.__all__) <= set(dir(resonate_core))
    program = "from resonate_core import *; import resonate_core; print(set(resonate_core.__all__) - set(globals()))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'resonate_core' has no attribute 'promise'"):
        getattr(resonate_core, "promise")  # noqa: B009 (a type checker knows that it is missing)
