"""A scenario: its name, and one run of it."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from .choices import ChoiceLimit, Choices
from .regressions import ScenarioSource

__all__ = [
    "check_arguments",
    "failure_of",
    "is_simulated",
    "kind_of",
    "name_of",
    "source_of",
    "story_of",
    "summary_of",
    "trimmed",
    "unwrapped",
]

#: The folder of the package. A failure is known by the line outside it.
_PACKAGE = str(Path(__file__).parent.parent)

_ASYNCIO = str(Path(inspect.__file__).parent / "asyncio")


def unwrapped(scenario: Callable[..., Any]) -> Any:
    """Return the function of a scenario, without partial arguments and decorators."""
    while isinstance(scenario, functools.partial):
        scenario = scenario.func
    return inspect.unwrap(scenario)


def module_of(scenario: Callable[..., Any]) -> str:
    """Return the name by which the module of a scenario can be imported; of a program that runs as a file, that of the file."""
    function = unwrapped(scenario)
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
    function = unwrapped(scenario)
    return f"{module_of(scenario)}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def check_arguments(scenario: Callable[..., Any]) -> None:
    """Refuse a function that cannot be called with the choices, or the world, alone.

    Raises:
        TypeError: It takes more arguments, or none.

    Example:
        >>> def test_it(resonate_choices, resonate_store): ...
        >>> check_arguments(test_it)
        Traceback (most recent call last):
        ...
        TypeError: scenario must take one argument, the choices, got test_it(resonate_choices, resonate_store): pytest runs a test \
with fixtures, by the marker resonate_explore
    """
    try:
        signature = inspect.signature(scenario, follow_wrapped=False)
    except (TypeError, ValueError):  # of some classes and functions in C the arguments are not known
        return
    try:
        signature.bind(None)
    except TypeError:
        shown = f"{name_of(scenario).partition(':')[2]}{signature}"
        hint = ""
        if any(name.startswith("resonate_") for name in signature.parameters):
            hint = ": pytest runs a test with fixtures, by the marker resonate_explore"
        given = "world" if is_simulated(scenario) else "choices"
        raise TypeError(f"scenario must take one argument, the {given}, got {shown}{hint}") from None


def source_of(scenario: Callable[..., Any], fixtures: Sequence[str] | None = None) -> ScenarioSource | None:
    """Return where a generated test finds a scenario; None: it is not a function at the top of a module.

    Args:
        scenario: The scenario, or a test.
        fixtures: Of a test: the fixtures of its module that it uses.
    """
    module, _, function = name_of(scenario).partition(":")
    if scenario is not unwrapped(scenario) or not inspect.isfunction(scenario) or not function.isidentifier():
        return None
    return ScenarioSource(module, function, None if fixtures is None else tuple(fixtures))


def is_simulated(scenario: Callable[..., Any]) -> bool:
    """Return whether a scenario is a coroutine function of a world."""
    function = unwrapped(scenario)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


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


def trimmed(error: BaseException) -> BaseException:
    """Leave out of a traceback the frames of this package and of asyncio that come before the first one of the user.

    A broken property has no frame of the user, and keeps none. Another exception in our own code keeps them all.
    """
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((_PACKAGE, _ASYNCIO)):
        trace = trace.tb_next
    if trace is not None or isinstance(error, AssertionError):
        error.__traceback__ = trace
    return error


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
