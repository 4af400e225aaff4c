"""Waits for what threads and processes do, without a limit that a test would assert."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["until"]

_T = TypeVar("_T")


def until(what: Callable[[], _T], said: object = "") -> _T:
    """Calls a function until it returns a true value, and returns that; fails after a minute."""
    for _ in range(12_000):
        given = what()
        if given:
            return given
        time.sleep(0.005)
    raise AssertionError(f"it does not happen: {said}")
