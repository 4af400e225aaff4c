"""Every public name of the worker has a docstring, and its examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import resonate_core as rc
from resonate_core import worker

OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = [worker] + [importlib.import_module(f"{worker.__name__}.{each.name}") for each in pkgutil.iter_modules(worker.__path__)]


def examples() -> Iterator[doctest.DocTest]:
    for module in MODULES:
        yield from (found for found in doctest.DocTestFinder(exclude_empty=True).find(module, globs={"rc": rc}) if found.examples)


@pytest.mark.parametrize("example", list(examples()), ids=lambda each: each.name)
def test_example(example: doctest.DocTest) -> None:
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(example, out=output.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


def public() -> Iterator[tuple[str, Any]]:
    for name in worker.__all__:
        value = getattr(worker, name)
        yield name, value
        if inspect.isclass(value):
            for base in value.__mro__:
                if base.__module__.startswith(worker.__name__):
                    yield from ((f"{name}.{member}", inner) for member, inner in vars(base).items() if not member.startswith("_"))


@pytest.mark.parametrize(
    "name, value", [(n, v) for n, v in public() if inspect.isfunction(v) or inspect.isclass(v) or isinstance(v, property)]
)
def test_is_documented(name: str, value: Any) -> None:
    assert inspect.getdoc(value), name
