"""Every public object has a docstring, and the examples in it run."""

from __future__ import annotations

import doctest
import inspect
import itertools
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import resonate_core as rc
from resonate_core import _core, display, errors

OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def is_own_function(name: str, value: object) -> bool:
    """Whether this is a public function that display.py defines; a function that it imports is tested in its own module."""
    return inspect.isfunction(value) and not name.startswith("_") and value.__module__ == display.__name__


def documented() -> Iterator[tuple[str, Any]]:
    """Every public name of the package, and the members of its classes."""
    for module in (rc, display, errors):
        yield module.__name__, module
    public = {name: getattr(rc, name) for name in rc.__all__}
    public |= {f"display.{name}": value for name, value in vars(display).items() if is_own_function(name, value)}
    public |= {f"errors.{name}": getattr(errors, name) for name in errors.__all__}
    for name, value in public.items():
        if isinstance(value, (types.ModuleType, str)) or typing.get_origin(value) is typing.Literal:
            continue
        yield name, value
        if inspect.isclass(value):
            for member, inner in vars(value).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", inner.__func__ if isinstance(inner, staticmethod) else inner


DOCUMENTED = dict(documented())


def doc_of(value: Any) -> str:
    text = inspect.getdoc(value)
    if text is None and isinstance(value, property):
        # Before Python 3.12, the class of pybind11's static properties hides their text behind its own.
        text = vars(property)["__doc__"].__get__(value)
    return text or ""


#: Classes of the core that only modules of the package use: searches in texts of users, and a request that was read.
OF_THE_PACKAGE = {"Glob", "Needles", "RecordRequest"}


def test_nothing_public_is_missing() -> None:
    bound = {name for name, value in vars(_core).items() if inspect.isclass(value) and not name.startswith("_")}
    assert bound - OF_THE_PACKAGE <= set(rc.__all__)
    assert bound >= OF_THE_PACKAGE


@pytest.mark.parametrize("name", [n for n, v in DOCUMENTED.items() if callable(v) or isinstance(v, property)])
def test_is_documented(name: str) -> None:
    # pybind11 puts a line with the signature before the docstring's text.
    written = [line for line in doc_of(DOCUMENTED[name]).splitlines() if line.strip() and ") -> " not in line]
    assert written, f"{name} says nothing"


@pytest.mark.parametrize("name", [n for n, v in DOCUMENTED.items() if ">>>" in doc_of(v)])
def test_example(name: str) -> None:
    test = doctest.DocTestParser().get_doctest(doc_of(DOCUMENTED[name]), {"rc": rc}, name, None, 0)
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test, out=output.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


def test_every_method_has_an_example() -> None:
    """Classes and methods have examples; attributes occur in the examples of their class."""
    without = [
        name
        for name, value in DOCUMENTED.items()
        if callable(value)
        and ">>>" not in doc_of(value)
        and not name.startswith(("display.", "errors."))
        and not name.endswith("Page")
    ]
    assert sorted(without) == ["Violation.to_dict"]


def test_signatures_show_real_types() -> None:
    """The stub has the same types."""
    vague = []
    for value in DOCUMENTED.values():
        first = next(itertools.chain(doc_of(value).splitlines(), [""]))
        if "->" in first and re.search(r" object\b|\bhandle\b", first):
            vague.append(first)
    assert vague == []
