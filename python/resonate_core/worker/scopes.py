"""The context variables of an attempt: those of the worker's start, and what the attempt itself has set."""

from __future__ import annotations

import contextvars
import functools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

__all__ = ["adopt", "call_in", "own_decimals"]

P = ParamSpec("P")
T = TypeVar("T")
_UNSET: Any = object()


def own_decimals() -> None:
    """Give the running context a decimal context of its own. It is an object that copies of a context share, and that changes.

    A context without one gets its own by its first use of decimals.
    """
    decimal: Any = sys.modules.get("decimal")
    if decimal is None:
        return
    variable = _variable_of(decimal)
    if variable is None or variable.get(None) is not None:
        decimal.setcontext(decimal.getcontext().copy())


@functools.cache
def _variable_of(decimal: Any) -> contextvars.ContextVar[Any] | None:
    """Return the variable that holds the decimal context; None: this Python keeps it for each thread."""
    empty = contextvars.Context()
    empty.run(decimal.getcontext)
    return next(iter(empty), None)


def call_in(scope: contextvars.Context, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a context, with a decimal context of its own. Changes of variables in it are not seen outside.

    Example:
        >>> import contextvars
        >>> from resonate_core.worker.scopes import call_in
        >>> tenant = contextvars.ContextVar("tenant", default="none")
        >>> _ = call_in(contextvars.copy_context(), tenant.set, "acme")
        >>> tenant.get()
        'none'
    """

    def called() -> T:
        own_decimals()
        return function(*args, **kwargs)

    return scope.run(called)


def adopt(scope: contextvars.Context) -> None:
    """Set the variables of another context in the running one, where they differ."""
    for variable, value in scope.items():
        if variable.get(_UNSET) is not value:
            variable.set(value)
