"""Warnings about calls in a workflow's own code that a replay does not repeat."""

from __future__ import annotations

import asyncio
import datetime
import functools
import inspect
import os
import random
import secrets
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, CoroutineType
from typing import Any, NamedTuple

from .bytecode import calls_of

__all__ = ["NonDeterministicWarning", "warn_of", "warn_of_coroutine"]


class NonDeterministicWarning(UserWarning):
    """The code of a workflow calls something that a replay does not repeat.

    Example:
        >>> from resonate_core.workflow import NonDeterministicWarning
        >>> issubclass(NonDeterministicWarning, UserWarning)
        True
    """


class _Warned(NamedTuple):
    value: Any  # kept alive, since it is known by its identity
    shown: str
    why: str
    instead: str


_VALUE = "which is another value in each replay"
_WAIT = "which holds the worker, and begins anew in each replay"
_LIMIT = "which ends at another place in each replay"
_TASK = "in which calls of the workflow raise"

#: The objects whose calls give a warning, by their identity.
_WARNED: dict[int, _Warned] = {}


def _warn(owner: Any, names: str, why: str, instead: str) -> None:
    for name in names.split():
        value = getattr(owner, name, None)
        if value is not None:  # not every Python has all of them
            _WARNED[id(value)] = _Warned(value, f"{owner.__name__}.{name}", why, instead)


_warn(time, "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns", _VALUE, "now()")
_warn(uuid, "uuid1 uuid4", _VALUE, "uuid4()")
_warn(random, "random randint randrange choice choices sample shuffle uniform gauss getrandbits", _VALUE, "random() or run()")
_warn(secrets, "token_hex token_bytes token_urlsafe choice randbelow", _VALUE, "random() or run()")
_warn(os, "urandom", _VALUE, "run()")
_warn(time, "sleep", _WAIT, "sleep()")
_warn(asyncio, "sleep", _WAIT, "sleep()")
_warn(asyncio, "timeout timeout_at wait_for", _LIMIT, "the timeout of a step, of receive(), or first(..., sleep())")
_warn(asyncio, "create_task ensure_future TaskGroup", _TASK, "gather()")
_warn(asyncio, "wait as_completed", "whose order is another one in a replay", "first() or gather()")

#: Methods of these classes that read the clock. A class gives another object each time that they are read.
_CLOCKS = {"now", "utcnow", "today"}

_seen: set[CodeType] = set()


def warn_of(function: Callable[..., Any], type: str) -> None:
    """Warn of the calls in a workflow's function.

    Args:
        function: The function.
        type: Of the workflow.
    """
    inner: Any = inspect.unwrap(function)
    while isinstance(inner, functools.partial):
        inner = inspect.unwrap(inner.func)
    code = getattr(inner, "__code__", None)
    if code is not None and code not in _seen:
        _warn_of_code(code, getattr(inner, "__globals__", {}), _variables(inner), f"workflow {type!r}")


def warn_of_coroutine(coroutine: CoroutineType[Any, Any, Any], type: str) -> None:
    """Warn, once for its code, of the calls in a coroutine that is a branch of a workflow.

    Args:
        coroutine: The coroutine, which has not begun.
        type: Of the workflow.
    """
    code = coroutine.cr_code
    if code not in _seen and coroutine.cr_frame is not None:
        _warn_of_code(code, coroutine.cr_frame.f_globals, coroutine.cr_frame.f_locals, f"{code.co_name}() in workflow {type!r}")


def _variables(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the variables of the functions around a function."""
    for name, cell in zip(function.__code__.co_freevars, getattr(function, "__closure__", None) or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # it has no value yet
            continue


def _warn_of_code(code: CodeType, names: dict[str, Any], free: Any, whose: str) -> None:
    _seen.add(code)
    for warned, line in _found(code, names, dict(free)):
        warnings.warn_explicit(
            f"{whose} calls {warned.shown}, {warned.why}: use {warned.instead} of resonate_core.workflow, or call it in a step",
            NonDeterministicWarning,
            code.co_filename,
            line,
            module=names.get("__name__", "workflow"),
        )


def _found(code: CodeType, names: Mapping[str, Any], free: Mapping[str, Any]) -> Iterator[tuple[_Warned, int]]:
    for called in calls_of(code, names, free):
        warned = _WARNED.get(id(called.value))
        if warned is not None:
            yield warned, called.line
        elif called.name in _CLOCKS and isinstance(called.owner, type) and issubclass(called.owner, datetime.date):
            yield _Warned(None, f"{called.owner.__name__}.{called.name}", _VALUE, "now()"), called.line
