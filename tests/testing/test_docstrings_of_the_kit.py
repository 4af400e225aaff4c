"""The examples in the docstrings of the kit run, and everything that resonate_core.testing exports has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import resonate_core
from resonate_core import testing

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


MODULES = [
    "assertions",
    "differences",
    "machine",
    "operations.rows",
    "plugin",
    "pytest_fixtures",
    "pytest_report",
    "servers",
    "strategies",
    "traces",
]


@pytest.fixture
def no_deadline() -> Iterator[None]:
    """Removes the deadline, so that Hypothesis fails no example because the machine is busy."""
    settings.register_profile("no deadline", deadline=None, database=None)
    before = settings.get_current_profile_name()
    settings.load_profile("no deadline")
    yield
    settings.load_profile(before)


@pytest.mark.usefixtures("no_deadline")
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"{testing.__name__}.{name}")
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    said: list[str] = []
    for test in finder.find(module, extraglobs={"rc": resonate_core}):
        runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.parametrize("name", testing.__all__)
def test_an_exported_name_is_described(name: str) -> None:
    member = getattr(testing, name)
    if inspect.isclass(member) or inspect.isfunction(member):
        assert (inspect.getdoc(member) or "").strip()
    assert name in dir(testing)


def test_a_misspelt_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'assert_setled'"):
        testing.assert_setled  # noqa: B018
