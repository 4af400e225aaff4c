"""The examples in the docstrings of a simulation run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import resonate_core as rc
from resonate_core.testing import World, simulation

MODULES = [simulation.__name__, *(f"{simulation.__name__}.{each.name}" for each in pkgutil.iter_modules(simulation.__path__))]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str):
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    assert doctest.testmod(importlib.import_module(name), optionflags=flags, extraglobs={"rc": rc}).failed == 0


def test_each_call_of_a_world_has_an_example():
    calls = {name: getattr(World, name) for name in dir(World) if not name.startswith("_")}
    without = [name for name, call in calls.items() if callable(call) and ">>>" not in (call.__doc__ or "")]
    assert without == ["program"]  # it needs the SDK, and docs/simulation.md has one
