"""Coroutines that stop where they are, like those of a killed process: no ``finally`` of theirs ever runs.

A suspended coroutine that is freed is closed: Python raises GeneratorExit in it, so that its ``finally`` blocks and context managers
run. Python finalizes an object once. An object that is marked as finalized (`gc.is_finalized`) is freed without running. CPython keeps
the mark in the header of the object, at the same place from 3.8 on; it is tried on first use. Elsewhere the coroutines are kept for
ever.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import sys
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

from ...worker.workflows.branches import Branch, Branches
from ...worker.workflows.driver import AsyncRun
from ...worker.workflows.foreign import InContext
from ...worker.workflows.scope import Scope

__all__ = ["abandon"]


async def _nothing() -> None:
    pass


def _wrapper() -> type:
    made = _nothing()
    wrapper = type(made.__await__())
    made.close()
    return wrapper


_COROUTINE_WRAPPER = _wrapper()
_SUSPENDABLE = frozenset([types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType])
#: What a frame refers to, that may lead to a suspended generator of its own: context managers that it is inside of. Types are compared
#: and not asked by isinstance, which is ten times slower for those of contextlib.
_LEADING = frozenset(
    [
        types.MethodType,
        functools.partial,
        tuple,
        list,
        deque,
        contextlib.ExitStack,
        contextlib.AsyncExitStack,
        contextlib.closing,
        contextlib._GeneratorContextManager,
        contextlib._AsyncGeneratorContextManager,
        _COROUTINE_WRAPPER,  # of a coroutine that is awaited by its `__await__`
        Branches,  # of a workflow: their coroutines may not have begun
        Branch,
        Scope,
        InContext,  # of a step with a timeout, which may not have begun
        AsyncRun,  # its code may wait for nothing just now
    ]
)
_FOLLOWED = _SUSPENDABLE | _LEADING | {types.FrameType}  # before Python 3.11, what a coroutine awaits is referred to by its frame
#: A longer container is data of the program.
_MOST = 100
_WORD = ctypes.sizeof(ctypes.c_size_t)
_kept: list[object] = []


def _mark(suspended: object) -> None:
    word = ctypes.c_size_t.from_address(id(suspended) - _WORD)
    word.value |= 1


@functools.cache
def _can_mark() -> bool:
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    tried = _nothing()
    _mark(tried)
    marked = gc.is_finalized(tried)
    if not marked:
        tried.close()
    return marked


def abandon(suspended: Iterable[object]) -> None:
    """Make suspended coroutines, and all that they are inside of, end without running when they are freed.

    Args:
        suspended: Coroutines, generators, asynchronous generators, and runs of workflows; they must not be running.
    """
    if not _can_mark():
        _kept.extend(suspended)
        return
    seen: set[int] = set()
    ahead: list[Any] = list(suspended)
    while ahead:
        one = ahead.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        kind = type(one)
        if kind is AsyncRun:
            one.over = one.over or "crashed"  # its calls that nothing awaits are no warning
        if kind in _SUSPENDABLE:
            if not gc.is_finalized(one):
                _mark(one)
        elif kind not in _FOLLOWED or (hasattr(one, "__len__") and len(one) > _MOST):
            continue
        for each in gc.get_referents(one):
            if type(each) in _FOLLOWED:
                ahead.append(each)
            elif type(each) is dict and kind in _LEADING:  # the attributes of a context manager
                ahead.extend(each.values())
