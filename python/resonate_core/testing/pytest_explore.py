"""Explored tests of the pytest plugin: each run is one call of the test, with choices, a clock and a store of its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from .._foreign_text import excerpt
from .choices import Choices
from .exploration import explore
from .failures import Failure
from .pytest_fixtures import Fixtures, fixtures_of
from .pytest_report import FAILURE, TRACES
from .regressions import ScenarioSource
from .scenarios import name_of, source_of
from .tokens import decode
from .traces import trace_of

__all__ = ["Explorer", "run_explored"]

PARTS = ("clock", "store", "worker", "server")
"""Fixtures of which each run has its own."""

OF_A_RUN = {f"resonate_{name}" for name in (*PARTS, "choices", "world")}


class Explorer:
    """Explores scenarios with the seed, the number of runs and the token of the options; the fixture ``resonate_explore`` is one.

    Args:
        item: The test.
        seed: The seed of the run of pytest.
    """

    def __init__(self, item: pytest.Item, seed: int) -> None:
        self._item = item
        self._seed = seed

    def __call__(self, scenario: Callable[..., Any], **options: Any) -> Any:
        """Search for choices that fail a scenario.

        Args:
            scenario: A function of `Choices`, or a coroutine function of a `World`.
            options: As of `resonate_core.testing.explore`. The options ``--resonate-runs`` and ``--resonate-seed`` win over `runs` and
                the default of `seed`.

        Returns:
            The report of `explore`.

        Raises:
            Failure: A run fails; it has the shortest story.
            Skipped: ``--resonate-replay`` has the token of another scenario.
        """
        __tracebackhide__ = True
        return self.search(scenario, options, None)

    def search(self, scenario: Callable[..., Any], options: Mapping[str, Any], test: ScenarioSource | None) -> Any:
        """Search as `__call__` does.

        Args:
            scenario: The scenario.
            options: As of `resonate_core.testing.explore`.
            test: Where the scenario is, if it is made of a test with fixtures.
        """
        __tracebackhide__ = True
        config = self._item.config
        token, runs = config.getoption("resonate_replay"), config.getoption("resonate_runs")
        given = {"seed": self._seed, "progress": False, **options}
        if runs is not None:
            given["runs"] = runs
        if config.getoption("resonate_seed") is not None:
            given["seed"] = self._seed
        if token is not None:
            given["replay"] = self._token_of(scenario, token)
        try:
            return explore(scenario, **given)
        except Failure as failure:
            failure.explored_by_pytest(test)
            self._item.stash[FAILURE] = failure
            with suppress(Exception):  # the picture is an extra of the report
                self._item.stash[TRACES] = trace_of(scenario, failure.token)
            raise

    def _token_of(self, scenario: Callable[..., Any], token: str) -> str:
        name = decode(token)[0]
        if name != name_of(scenario):
            pytest.skip(f"--resonate-replay has the token of {excerpt(name)}")
        return token


def run_explored(item: pytest.Function, seed: int, back_end: str) -> None:
    """Run a test with the marker ``resonate_explore`` many times.

    Args:
        item: The test.
        seed: The seed of the run of pytest.
        back_end: The storage of tests that choose none.

    Raises:
        Failure: A run fails.
        UsageError: A fixture of the test cannot be made anew for each run, or the marker has positional arguments.
    """
    __tracebackhide__ = True
    marker = item.get_closest_marker("resonate_explore")
    assert marker is not None
    if marker.args:
        raise pytest.UsageError(f"resonate_explore of {item.nodeid} must have named arguments, got {marker.args!r}")
    _check_fixtures(item)
    names = item._fixtureinfo.argnames
    shared = {name: item.funcargs[name] for name in names if name not in OF_A_RUN}
    used = [name for name in PARTS if f"resonate_{name}" in names]
    scenario = _scenario(item, shared, used, back_end)
    Explorer(item, seed).search(scenario, marker.kwargs, source_of(_function_of(item), _fixtures_of_module(item)))


def _function_of(item: pytest.Function) -> Callable[..., Any]:
    """Return the function of a test; of a coroutine that a plugin made a plain function (pytest-asyncio), the coroutine function."""
    found: Callable[..., Any] = inspect.unwrap(item.obj, stop=inspect.iscoroutinefunction)
    return found if inspect.iscoroutinefunction(found) and "resonate_world" in item._fixtureinfo.argnames else item.obj


def _fixtures_of_module(item: pytest.Function) -> list[str]:
    """The names of the functions of a test's module that make its fixtures: a generated test imports them."""
    made = [found[-1].func for found in item._fixtureinfo.name2fixturedefs.values()]
    return [one.__name__ for one in made if one.__module__ == item.module.__name__ and hasattr(item.module, one.__name__)]


def _scenario(item: pytest.Function, shared: Mapping[str, Any], used: list[str], back_end: str) -> Callable[..., Any]:
    function = _function_of(item)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def with_world(world: Any) -> None:
            await function(**shared, resonate_world=world)

        return with_world

    wants_choices = "resonate_choices" in item._fixtureinfo.argnames
    # Each run has its own fixtures; `Choices.follow` records the store of the shortest run.
    options = replace(fixtures_of(item, back_end).options, record=False)

    @functools.wraps(function)
    def with_choices(choices: Choices) -> None:
        fixtures = Fixtures(options)
        arguments = dict(shared)
        if wants_choices:
            arguments["resonate_choices"] = choices
        try:
            for name in used:
                arguments[f"resonate_{name}"] = getattr(fixtures, name)
            if "store" in vars(fixtures):
                choices.follow(fixtures.store)
            function(**arguments)
        except BaseException:
            with suppress(AssertionError):  # of an unsound store: the first failure is the one to see
                fixtures.close()
            raise
        fixtures.close()

    return with_choices


def _check_fixtures(item: pytest.Function) -> None:
    """Refuse fixtures that would be shared by all runs although they hold the store of one."""
    is_coroutine = inspect.iscoroutinefunction(_function_of(item))
    names = set(item._fixtureinfo.argnames)
    wrong = sorted(names & ({f"resonate_{name}" for name in (*PARTS, "choices")} if is_coroutine else {"resonate_world"}))
    if wrong:
        kind, has = ("coroutine", "resonate_world alone") if is_coroutine else ("function", "resonate_choices")
        raise pytest.UsageError(f"{item.nodeid} must take {has}, since it is a {kind}, got {', '.join(wrong)}")
    if is_coroutine and "resonate_world" not in names:
        raise pytest.UsageError(f"{item.nodeid} must take resonate_world, since it is an explored coroutine")
    if not is_coroutine and "resonate_choices" not in names:
        raise pytest.UsageError(
            f"{item.nodeid} must take resonate_choices, since it is explored: all of its runs would be the same"
        )
    for name, found in item._fixtureinfo.name2fixturedefs.items():
        if name in OF_A_RUN:
            continue
        if held := sorted(OF_A_RUN & set(found[-1].argnames)):
            raise pytest.UsageError(
                f"fixture {name!r} of {item.nodeid} must not use {held[0]}: each run has another one; make a function of it"
            )
