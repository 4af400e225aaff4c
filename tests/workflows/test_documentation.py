"""Every public name of workflows has a docstring, and the examples of the library run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest

import resonate_core as rc
from resonate_core import workflow
from resonate_core.worker import workflows
from resonate_core.workflow import blocking

OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
INNER = [importlib.import_module(f"{workflows.__name__}.{each.name}") for each in pkgutil.iter_modules(workflows.__path__)]


def examples() -> Iterator[doctest.DocTest]:
    for module in (workflow, blocking, *INNER):
        yield from (found for found in doctest.DocTestFinder(exclude_empty=True).find(module, globs={"rc": rc}) if found.examples)


@pytest.mark.parametrize("example", list(examples()), ids=lambda each: each.name)
@pytest.mark.filterwarnings("ignore::resonate_core.workflow.NonDeterministicWarning")
def test_example(example: doctest.DocTest) -> None:
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(example, out=output.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


@pytest.mark.parametrize("module", [workflow, blocking], ids=lambda module: module.__name__)
def test_everything_public_is_documented(module: object) -> None:
    names = module.__all__  # type: ignore[attr-defined]
    assert [name for name in names if not inspect.getdoc(getattr(module, name))] == []
