"""A scenario: its name, and one run of it."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from .choices import ChoiceLimit, Choices

__all__ = ["failure_of", "importable_name", "is_simulated", "kind_of", "name_of", "run_of", "story_of", "summary_of"]

#: The folder of the package. A failure is known by the line outside it.
_PACKAGE = str(Path(__file__).parent.parent)


def _unwrapped(scenario: Callable[..., Any]) -> Any:
    while isinstance(scenario, functools.partial):
        scenario = scenario.func
    return inspect.unwrap(scenario)


def module_of(scenario: Callable[..., Any]) -> str:
    """Return the name by which the module of a scenario can be imported; of a program that runs as a file, that of the file."""
    function = _unwrapped(scenario)
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    if module != "__main__":
        return module
    main = sys.modules["__main__"]
    if (spec := getattr(main, "__spec__", None)) is not None:
        return str(spec.name)
    path = getattr(main, "__file__", None)
    return Path(path).stem if path else module


def name_of(scenario: Callable[..., Any]) -> str:
    """Return ``"module:function"``, by which a token names its scenario.

    Raises:
        TypeError: It is not a function.

    Example:
        >>> def scenario(choices): ...
        >>> name_of(scenario).endswith(":scenario")
        True
    """
    if not callable(scenario):
        raise TypeError(f"scenario must be a function of the choices or of the world, got {scenario!r}")
    function = _unwrapped(scenario)
    return f"{module_of(scenario)}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def importable_name(scenario: Callable[..., Any]) -> str | None:
    """Return the name of a scenario that is a function at the top of a module, and otherwise None."""
    name = name_of(scenario)
    function = name.partition(":")[2]
    return name if scenario is _unwrapped(scenario) and inspect.isfunction(scenario) and function.isidentifier() else None


def is_simulated(scenario: Callable[..., Any]) -> bool:
    """Return whether a scenario is a coroutine function of a world."""
    function = _unwrapped(scenario)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def run_of(scenario: Callable[..., Any]) -> Callable[[Choices], Any]:
    """Return the function that runs a scenario once: itself, or for ``async def scenario(world)`` the simulation of it."""
    if is_simulated(scenario):
        return functools.partial(import_module("resonate_core.testing.simulation").run_scenario, scenario)
    return scenario


def failure_of(run: Callable[[Choices], Any], choices: Choices) -> BaseException | None:
    """Run a scenario once. Returns its error, or None.

    What ends a program or a test (``KeyboardInterrupt``, ``SystemExit``, ``pytest.skip``) is not a failure, and is raised.
    """
    try:
        run(choices)
    except (Exception, ChoiceLimit) as error:
        return error
    except BaseException as error:
        pytest = sys.modules.get("pytest")
        if pytest is None or not isinstance(error, pytest.fail.Exception):  # pytest.fail raises no `Exception`
            raise
        return cast("BaseException", error)
    finally:
        choices.end()
    return None


def kind_of(error: BaseException) -> str:
    """Return what two failures of one bug have in common: the class of the exception and the lines that raised it.

    An exception with an attribute ``__resonate_kind__`` names it itself, for example by the property that does not hold.
    """
    given = getattr(error, "__resonate_kind__", None)
    if given is not None:
        return str(given)
    innermost = outside = ""
    trace = error.__traceback__
    while trace is not None:
        innermost = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        if not innermost.startswith(_PACKAGE):
            outside = innermost
        trace = trace.tb_next
    names = ",".join(sorted({violation.name for violation in getattr(error, "violations", ())}))
    return f"{type(error).__module__}.{type(error).__qualname__} {names} at {innermost} from {outside}"


def story_of(choices: Choices, error: BaseException | None) -> list[str]:
    """Return the story of a run: that of a simulation, if the error carries one, or else the notes."""
    run = getattr(error, "__resonate_run__", None)
    return choices.story if run is None else list(run.story)


def summary_of(error: BaseException) -> str:
    """Return the class and the first line of the message of an exception.

    Example:
        >>> summary_of(ValueError("size must be positive, got -1"))
        'ValueError: size must be positive, got -1'
    """
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__
