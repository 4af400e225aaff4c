"""The examples in the docstrings run, and everything public has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import resonate_core as rc
from resonate_core import testing

MODULES = (
    "batches",
    "choices",
    "crashes",
    "determinism",
    "exploration",
    "failures",
    "programs",
    "progress_bar",
    "recording_story",
    "scenarios",
    "searches",
    "shrinking",
    "tokens",
)


@pytest.mark.parametrize("name", ["resonate_core.testing", *(f"resonate_core.testing.{name}" for name in MODULES)])
def test_the_examples_run(name: str):
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    assert doctest.testmod(module, optionflags=flags, extraglobs={"rc": rc}).failed == 0


def test_everything_public_is_described():
    for name in testing.__all__:
        described = getattr(testing, name)
        parts = [described]
        if inspect.isclass(described) and described.__module__.startswith("resonate_core"):
            parts += [value for key, value in vars(described).items() if not key.startswith("_") and callable(value)]
        if callable(described):
            assert all((inspect.getdoc(part) or "").strip() for part in parts), name


def test_an_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match=r"module 'resonate_core\.testing' has no attribute 'simulat'"):
        _ = testing.simulat
    assert set(testing.__all__) <= set(dir(testing))
