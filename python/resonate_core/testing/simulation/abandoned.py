"""Coroutines that stop where they are, like those of a killed process: no ``finally`` of theirs ever runs.

A suspended coroutine that is freed is closed: Python raises GeneratorExit in it, so that its ``finally`` blocks and context managers
run. Python finalizes an object once. What is marked as finalized (`gc.is_finalized`) is freed without being run. CPython keeps the mark
in the header of the object, at the same place from 3.8 on; it is tried on first use. Elsewhere the coroutines are kept for ever.
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

__all__ = ["abandon"]

_SUSPENDABLE = (types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType)
#: What a frame refers to, that may lead to a suspended generator of its own: context managers that it is inside of.
_LEADING = (
    types.MethodType,
    functools.partial,
    tuple,
    list,
    deque,
    contextlib.ExitStack,
    contextlib.AsyncExitStack,
    contextlib.closing,
    getattr(contextlib, "_GeneratorContextManagerBase"),  # noqa: B009 - typeshed does not know it
)
_WORD = ctypes.sizeof(ctypes.c_size_t)
_kept: list[object] = []


def _mark(suspended: object) -> None:
    word = ctypes.c_size_t.from_address(id(suspended) - _WORD)
    word.value |= 1


async def _nothing() -> None:
    pass


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
        suspended: Coroutines, generators and asynchronous generators; they must not be running.
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
        if isinstance(one, _SUSPENDABLE) and not gc.is_finalized(one):
            _mark(one)
        for each in gc.get_referents(one):
            if isinstance(each, _SUSPENDABLE) or (isinstance(each, _LEADING) and len(gc.get_referents(each)) <= _MOST):
                ahead.append(each)
            elif type(each) is dict and isinstance(one, _LEADING):
                ahead.extend(each.values())


#: A longer container is data of the program.
_MOST = 100
