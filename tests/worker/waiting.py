"""Waiting for what threads and processes do, without a word about how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["until"]

_T = TypeVar("_T")


def until(what: Callable[[], _T], said: object = "") -> _T:
    """The first true thing that it gives; a test that waits for a minute has failed."""
    for _ in range(12_000):
        given = what()
        if given:
            return given
        time.sleep(0.005)
    raise AssertionError(f"it does not happen: {said}")
