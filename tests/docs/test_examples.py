"""The examples give what they show: every session in README and docs, every docstring, and the order workflow."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import DOCS, PAGES, ROOT, blocks

import resonate_core
from postgres_urls import plain, schema_of

# Whole programs with what they print; they need the SDK, and tests/integration/sdk/test_docs.py runs them.
PROGRAMS = {DOCS / "sdk.md"}
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
SDK_PART = "resonate_core.connection"


def run(test: doctest.DocTest, flags: int = doctest.ELLIPSIS) -> None:
    """Runs one doctest; fails with its report of differences."""
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    runner.run(test, out=report.append, clear_globs=False)
    assert not report, "".join(report)


@pytest.mark.parametrize("page", [p for p in PAGES if p not in PROGRAMS], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_sessions_of_a_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    if page.name == "postgresql.md":
        url = request.getfixturevalue("postgres_url")
        monkeypatch.setenv("DATABASE_URL", url)
        monkeypatch.setenv("APP_DATABASE_URL", plain(url))
        monkeypatch.setenv("STORE_SCHEMA", schema_of(url))
    names: dict[str, Any] = {}
    for block in blocks(page):
        assert block.is_session, f"{page.name}:{block.line}: a block that nobody runs: write it as a session with >>>"
        test = doctest.DocTestParser().get_doctest(block.code, names, page.name, str(page), block.line - 1)
        test.globs = names  # one session a page
        run(test)


def test_pages_of_programs_are_known_to_their_own_test() -> None:
    source = (ROOT / "tests" / "integration" / "sdk" / "test_docs.py").read_text(encoding="utf-8")
    assert all(f'"{page.name}"' in source and blocks(page) for page in PROGRAMS)


def docstrings() -> Iterator[tuple[str, str]]:
    """Returns every docstring of the package, by the name of what it describes."""
    modules = [resonate_core, importlib.import_module("resonate_core._core")]
    for found in pkgutil.iter_modules(resonate_core.__path__, "resonate_core."):
        if found.name not in (SDK_PART, "resonate_core._core"):
            modules.append(importlib.import_module(found.name))
    for module in modules:
        yield module.__name__, module.__doc__ or ""
        for name, member in vars(module).items():
            if getattr(member, "__module__", None) != module.__name__:
                continue
            yield f"{module.__name__}.{name}", inspect.getdoc(member) or ""
            if inspect.isclass(member):
                for part, thing in vars(member).items():
                    yield f"{module.__name__}.{name}.{part}", getattr(thing, "__doc__", None) or ""


EXAMPLES = [(name, text) for name, text in docstrings() if ">>>" in text]


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_example_of_a_docstring(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), {"rc": resonate_core}, name, None, 0)
    run(test, FLAGS)


PUBLIC = [name for name in resonate_core.__all__ if inspect.isclass(getattr(resonate_core, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_described(name: str) -> None:
    described = getattr(resonate_core, name)
    parts = [part for part in vars(described) if not part.startswith("_")]
    missing = [part for part in parts if not (getattr(getattr(described, part), "__doc__", None) or "").strip()]
    assert (described.__doc__ or "").strip()
    assert not missing, f"{name} has parts without a docstring: {missing}"


@pytest.mark.parametrize("example", ["order_workflow", "jobs"])
def test_an_example_prints_exactly_this(example: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "random", "PYTHONWARNINGS": "error"}
    command = [sys.executable, ROOT / "examples" / f"{example}.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (Path(__file__).parent / f"{example}.txt").read_text(encoding="utf-8")
