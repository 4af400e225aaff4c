"""What wakes a worker when a store of its own process has something to claim."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from .doors import Door

__all__ = ["Bell"]


class Bell:
    """A pipe that the store rings through, for as long as the block runs.

    Args:
        door: Whose store.
        loop: Where it is heard.
        rung: What is called then.
    """

    def __init__(self, door: Door, loop: asyncio.AbstractEventLoop, rung: Callable[[], None]) -> None:
        self._loop = loop
        self._rung = rung
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._watch = door.watch(self._writer)

    def __enter__(self) -> Bell:
        self._loop.add_reader(self._reader, self._heard)
        return self

    def __exit__(self, *raised: object) -> None:
        self._loop.remove_reader(self._reader)
        if self._watch is not None:
            self._watch.close()  # before its descriptor is somebody else's
        os.close(self._reader)
        os.close(self._writer)

    def rearm(self, door: Door, interval: float) -> None:
        """Makes it ring again, for what comes to be claimed sooner than the next look in so many seconds; before a look."""
        if self._watch is not None:
            self._watch.rearm(door.now() + int(interval * 1000))

    def _heard(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 64)
        self._rung()
