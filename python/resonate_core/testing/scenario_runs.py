"""One run of a scenario: the scenario itself, or the simulation of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from .choices import Choices
from .scenarios import is_simulated, unwrapped
from .simulation import run_scenario
from .simulation.logged import LoggedAttempts

__all__ = ["run_of"]

_logged_of: WeakKeyDictionary[Callable[..., Any], LoggedAttempts] = WeakKeyDictionary()


def _logged(scenario: Callable[..., Any]) -> LoggedAttempts:
    """Return which failed attempts of a scenario are logged: in all its runs in this process, each failure of a function once."""
    function = unwrapped(scenario)
    function = getattr(function, "__func__", function)  # a method is a new object at each use
    made = LoggedAttempts(each=False)
    try:
        return _logged_of.setdefault(function, made)
    except TypeError:  # an object that has no hash, or to which there are no weak references
        return made


def run_of(scenario: Callable[..., Any]) -> Callable[[Choices], Any]:
    """Return the function that runs a scenario once: itself, or for ``async def scenario(world)`` the simulation of it."""
    if is_simulated(scenario):
        return functools.partial(run_scenario, scenario, logged=_logged(scenario))
    return scenario
