"""The examples in the docstrings of exactly-once steps run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

from resonate_core.worker import transactions


def examples() -> Iterator[doctest.DocTest]:
    for found in pkgutil.iter_modules(transactions.__path__, f"{transactions.__name__}."):
        yield from doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(found.name))


EXAMPLES = [each for each in examples() if each.examples]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.name)
def test_example(example: doctest.DocTest) -> None:
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example, out=output.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


def test_each_public_function_has_one() -> None:
    public = [
        name
        for name in transactions.__all__
        if callable(getattr(transactions, name)) and not isinstance(getattr(transactions, name), type)
    ]
    assert [name for name in public if not any(each.name.endswith(f".{name}") for each in EXAMPLES)] == []
