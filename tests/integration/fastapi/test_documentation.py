"""Every public name of the integrations has a docstring, the examples run, and the error of a missing extra names it."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc

MODULES = [importlib.import_module(f"resonate_core.contrib.{name}") for name in ("starlette", "fastapi")]


def examples() -> Iterator[doctest.DocTest]:
    for module in MODULES:
        globs = {**vars(module), "rc": rc}
        yield from (found for found in doctest.DocTestFinder(exclude_empty=True).find(module, globs=globs) if found.examples)


@pytest.mark.parametrize("example", list(examples()), ids=lambda each: each.name)
def test_example(example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example, out=output.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


def public() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield name, value
            if inspect.isclass(value):
                yield from (
                    (f"{name}.{part}", member)
                    for part, member in vars(value).items()
                    if not part.startswith("_") and (callable(member) or isinstance(member, property))
                )


@pytest.mark.parametrize(("name", "value"), list(public()), ids=lambda each: each if isinstance(each, str) else "")
def test_is_documented(name: str, value: Any) -> None:
    assert (inspect.getdoc(value) or "").strip(), name


@pytest.mark.parametrize(("extra", "missing"), [("starlette", "starlette"), ("fastapi", "fastapi")])
def test_a_missing_extra_is_named(extra: str, missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; import resonate_core.contrib.{extra}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: "), done.stderr
    assert f"install the extra resonate-core[{extra}]" in last
