"""How the integrations call a store from an event loop: the one place to change if the store gets typed asynchronous calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["beside_loop"]

P = ParamSpec("P")
R = TypeVar("R")


async def beside_loop(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call what waits for a disk or a database in a thread, so that the event loop serves other requests meanwhile."""
    return await asyncio.to_thread(function, *args, **kwargs)
