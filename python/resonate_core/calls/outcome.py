"""The end of a wait: its time limit, and the value of a settled promise."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from .._core import Promise
from .._foreign_text import excerpt
from ..errors import Invalid, Rejected

__all__ = ["Seconds", "still_pending", "timeout_seconds", "value_of"]

#: Real time: seconds, as asyncio has them, or a timedelta.
Seconds = float | timedelta


def timeout_seconds(timeout: Seconds | None) -> float | None:
    """The time limit of a wait in seconds; None without one."""
    if timeout is None:
        return None
    if isinstance(timeout, timedelta):
        timeout = timeout.total_seconds()
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout must be a number of seconds or a timedelta, got {type(timeout).__name__}")
    try:
        limit = float(timeout)
    except OverflowError:  # an int beyond the largest float
        raise Invalid(f"timeout must fit into a float, got {excerpt(timeout)}; None waits without a limit") from None
    if not limit >= 0:
        raise Invalid(f"timeout must be at least 0 s, got {timeout!r}")
    return limit


def still_pending(id: str, limit: float) -> TimeoutError:
    """The error of a wait whose time is over."""
    return TimeoutError(f'promise "{id}" is still pending after {limit:g} s')


def value_of(promise: Promise) -> Any:
    """The decoded value of a resolved promise.

    Raises:
        Rejected: It was rejected or cancelled, or its deadline has passed.
        Invalid: The value is not JSON.
    """
    if promise.state != "resolved":
        raise Rejected(promise)
    try:
        return promise.value.json()
    except RecursionError as error:
        raise Invalid(f'the value of promise "{promise.id}" is nested too deeply') from error
