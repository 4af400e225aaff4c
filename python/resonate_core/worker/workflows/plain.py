"""Calls where no workflow runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar, cast

from .scope import Scope, scope_here

__all__ = ["Plain", "async_scope", "awaited_scope_of", "scope_of"]

T = TypeVar("T")


class Plain(Generic[T]):
    """Awaits a plain value, where a call is no call of a workflow."""

    __slots__ = ("_made",)

    def __init__(self, made: Callable[[], Any]) -> None:
        self._made = made

    def __await__(self) -> Generator[Any, Any, T]:
        made = self._made()
        if inspect.isawaitable(made):
            value: T = yield from made.__await__()
            return value
        return cast("T", made)


def async_scope(called: str) -> Scope | None:
    """Return the scope of a call that is awaited; None: it is a plain one.

    Raises:
        TypeError: The workflow is a `def`, where nothing awaits it.
    """
    scope = scope_here(called)
    if scope is not None and scope.run.blocking:
        raise TypeError(
            f"{called} of resonate_core.workflow is awaited, and workflow {scope.run.job.id} is a def: import it from "
            "resonate_core.workflow.blocking"
        )
    return scope


def awaited_scope_of(called: str, instead: str) -> Scope:
    """Return the scope of a call that only workflows have, and that is awaited.

    Raises:
        RuntimeError: No workflow runs here.
        TypeError: The workflow is a `def`.
    """
    scope_of(called, instead)
    scope = async_scope(called)
    assert scope is not None
    return scope


def scope_of(called: str, instead: str) -> Scope:
    """Return the scope of a call that only workflows have.

    Raises:
        RuntimeError: No workflow runs here.
    """
    scope = scope_here(called)
    if scope is None:
        raise RuntimeError(
            f"{called}() is a call of a workflow that a worker runs, and none runs here (a step is no part of it); {instead}"
        )
    return scope
