"""One simulated run: how it is made, and what is left of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from ..choices import Choices
from .errors import NotDeterministic
from .guards import guarded
from .logged import LoggedAttempts
from .outcome import Run
from .world import World

__all__ = ["Run", "check_determinism", "run_scenario", "simulate"]

Scenario = Callable[[World], Coroutine[Any, Any, Any]]


def run_scenario(scenario: Scenario, choices: Choices, *, most_steps: int = 1_000_000, logged: LoggedAttempts | None = None) -> Run:
    """Run a scenario once, on a new world, to its end.

    Args:
        scenario: ``async def scenario(world)``.
        choices: Draws what may be one way or another.
        most_steps: The largest number of steps.
        logged: Which failed attempts of its functions are logged; by default each.

    Returns:
        What it did.

    Raises:
        BaseException: What the scenario or a process raised, or the property or invariant that does not hold. The run is its
            attribute ``__resonate_run__``.
    """
    with guarded(choices, logged or LoggedAttempts(each=True)) as guards:
        world = World(choices, most_steps=most_steps)
        guards.of_world(world)
        world._guards = guards
        try:
            value = world._run(scenario)
        except BaseException as error:
            run = _run_of(world, choices)
            _attach(error, run)
            raise
        else:
            run = _run_of(world, choices)
            run.value = value
            return run
        finally:
            world._end()


def _run_of(world: World, choices: Choices) -> Run:
    return Run(world._loop.trace, world._loop.steps, world.now, list(choices.tape))


def _attach(error: BaseException, run: Run) -> None:
    error.__resonate_run__ = run  # type: ignore[attr-defined]


def simulate(scenario: Scenario, *, seed: int = 0, twice: bool = False, most_steps: int = 1_000_000) -> Run:
    """Run a scenario once, with the choices of a seed.

    Each failed attempt of a function is logged as a warning, with its traceback and the next attempt. A search (`explore`) logs each
    failure of a function once in each of its processes.

    Args:
        scenario: ``async def scenario(world)``; see `World`.
        seed: Of the choices.
        twice: Run it a second time, and compare.
        most_steps: The largest number of steps.

    Returns:
        What it did.

    Raises:
        NotDeterministic: The two runs differ.
        BaseException: See `run_scenario`.

    Example:
        >>> from resonate_core.testing.simulation import simulate
        >>> from resonate_core.worker import Worker
        >>> def make_worker(store):
        ...     worker = Worker(store)
        ...     @worker.task("greet")
        ...     async def greet(name):
        ...         return f"hello {name}"
        ...     return worker
        >>> async def scenario(world):
        ...     world.worker("a", make_worker)
        ...     await world.call("g1", "greet", "ada")
        ...     return (await world.settled("g1", within="1 min")).value.json()
        >>> simulate(scenario, seed=1).value
        'hello ada'
    """
    if twice:
        check_determinism(scenario, seed=seed, most_steps=most_steps)
    choices = Choices.from_seed(seed)
    try:
        return run_scenario(scenario, choices, most_steps=most_steps)
    finally:
        choices.end()


def check_determinism(scenario: Scenario, *, seed: int = 0, most_steps: int = 1_000_000) -> list[str]:
    """Run a scenario twice with the same choices, and compare the traces. A failure of the scenario is part of its trace.

    Args:
        scenario: As of `simulate`.
        seed: Of the choices.
        most_steps: The largest number of steps.

    Returns:
        The trace.

    Raises:
        NotDeterministic: The traces differ; the message has the first difference.
    """
    logged = LoggedAttempts(each=False)
    first, second = (_trace_of(scenario, seed, most_steps, logged) for _ in range(2))
    for number, (one, other) in enumerate(zip(first, second, strict=False), 1):
        if one != other:
            raise NotDeterministic(
                f"two runs with seed {seed} differ first in line {number} of their traces:\n  first:  {one}\n  second: {other}\n"
                f"  before: {first[number - 2] if number > 1 else '(nothing)'}\n"
                "a set of objects, an id(), a clock or a source of chance that the simulation does not replace may be the reason"
            )
    if len(first) != len(second):
        raise NotDeterministic(f"two runs with seed {seed} have traces of {len(first)} and {len(second)} lines, equal up to there")
    return first


def _trace_of(scenario: Scenario, seed: int, most_steps: int, logged: LoggedAttempts) -> list[str]:
    choices = Choices.from_seed(seed)
    try:
        return run_scenario(scenario, choices, most_steps=most_steps, logged=logged).trace
    except Exception as error:
        run: Run = getattr(error, "__resonate_run__")  # noqa: B009
        return [*run.trace, f"{type(error).__name__}: {error}"]
    finally:
        choices.end()
