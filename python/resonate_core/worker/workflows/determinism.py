"""Warnings about calls in a workflow's own code that give another value in a replay."""

from __future__ import annotations

import asyncio
import datetime
import dis
import os
import random
import secrets
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

__all__ = ["NonDeterministicWarning", "warn_of", "warn_of_code"]


class NonDeterministicWarning(UserWarning):
    """The code of a workflow calls something that gives another value in a replay.

    Example:
        >>> from resonate_core.workflow import NonDeterministicWarning
        >>> issubclass(NonDeterministicWarning, UserWarning)
        True
    """


_CLOCK, _RANDOM, _SLEEP = "now()", "random() or run()", "sleep()"
_LIMIT = "the timeout of a step, of receive(), or first(..., sleep())"

#: What is not deterministic, and its replacement in `resonate_core.workflow`.
_REPLACEMENTS: dict[int, tuple[str, str]] = {}


def _add(replacement: str, owner: Any, *names: str) -> None:
    for name in names:
        found = getattr(owner, name, None)
        if found is not None:
            shown = f"{getattr(owner, '__name__', owner)}.{name}"
            _REPLACEMENTS[id(found)] = (shown, replacement)


_add(_CLOCK, time, "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "localtime", "gmtime")
_add(_SLEEP, time, "sleep")
_add(_SLEEP, asyncio, "sleep")
_add(_LIMIT, asyncio, "timeout", "timeout_at", "wait_for")
_add("gather()", asyncio, "create_task", "TaskGroup", "wait", "as_completed")
_add("uuid4()", uuid, "uuid1", "uuid4")
_add(_RANDOM, random, "random", "randint", "randrange", "choice", "choices", "sample", "shuffle", "uniform", "gauss", "getrandbits")
_add(_RANDOM, secrets, "token_hex", "token_bytes", "token_urlsafe", "choice", "randbelow")
_add(_RANDOM, os, "urandom")

#: Methods of classes, which are other objects each time that they are read.
_METHODS: dict[tuple[type, str], str] = {
    (datetime.datetime, "now"): _CLOCK,
    (datetime.datetime, "utcnow"): _CLOCK,
    (datetime.datetime, "today"): _CLOCK,
    (datetime.date, "today"): _CLOCK,
}

_seen: set[CodeType] = set()


def warn_of(function: Callable[..., Any], type: str) -> None:
    """Warn of the calls in a workflow's function."""
    inner = getattr(function, "__wrapped__", function)
    code = getattr(inner, "__code__", None)
    if code is not None:
        warn_of_code(code, getattr(inner, "__globals__", {}), f"workflow {type!r}")


def warn_of_code(code: CodeType, names: dict[str, Any], whose: str) -> None:
    """Warn of the calls in a piece of code, once.

    Args:
        code: The code.
        names: Its globals.
        whose: For the message.
    """
    if code in _seen:
        return
    _seen.add(code)
    for shown, replacement, line in _found(code, names):
        warnings.warn_explicit(
            f"{whose} calls {shown}, which is another value or another wait in a replay: use {replacement} of resonate_core.workflow, "
            "or call it in a step",
            NonDeterministicWarning,
            code.co_filename,
            line,
            module=names.get("__name__", "workflow"),
        )


def _found(code: CodeType, names: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    owner: Any = None
    line = code.co_firstlineno
    for one in dis.get_instructions(code):
        if one.starts_line:
            line = _line_of(one, line)
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            owner = names.get(one.argval)
            known = _REPLACEMENTS.get(id(owner))
            if known is not None:
                yield (*known, line)
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(owner, (ModuleType, type)):
            found = getattr(owner, one.argval, None)
            replacement = _METHODS.get((owner, one.argval)) if isinstance(owner, type) else None
            known = (f"{owner.__name__}.{one.argval}", replacement) if replacement is not None else _REPLACEMENTS.get(id(found))
            if known is not None:
                yield (*known, line)
            owner = found
        elif one.opname not in ("PUSH_NULL", "CACHE", "PRECALL", "EXTENDED_ARG"):
            owner = None


def _line_of(one: dis.Instruction, line: int) -> int:
    number = getattr(one, "line_number", None)  # from Python 3.13 on
    if isinstance(number, int):
        return number
    return one.starts_line if isinstance(one.starts_line, int) and not isinstance(one.starts_line, bool) else line
