"""Wakes an event loop or a thread at a commit, so that it does not ask the store again and again."""

from __future__ import annotations

import contextlib
import os
import selectors
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["Wakeup", "Watching"]

#: A selector for every descriptor: select() takes only descriptors below 1024.
_Selector: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)


class Watching(Protocol):
    """The result of `Store.watch`, or an object like it."""

    def rearm(self, until: int | None) -> None:
        """Write to the descriptor once more."""

    def close(self) -> None:
        """Write no more."""


class Wakeup:
    """A pipe to which a store writes when a commit of this process leaves something to do.

    An event loop listens to it (`listen`), or a thread waits for it (`wait`). Only the first commit wakes: call `rearm`
    before each read of the store, so that the next one wakes again. As a context manager it is closed at the end of its block.

    Args:
        watch: `Store.watch`, or a function like it that returns None if no commit can be watched.
    """

    def __init__(self, watch: Callable[[int], Watching | None]) -> None:
        self._closed = True  # False once there is something to close
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watch: Watching | None = None
        self._reader, self._writer = os.pipe()
        self._closed = False
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._watch = watch(self._writer)

    def rearm(self, until: int | None) -> None:
        """Make the next commit wake again.

        Args:
            until: The instant at which the caller reads the store anyway, in Unix ms: a commit after which a step is due earlier wakes,
                too. None: a commit after which any step is due wakes.
        """
        if self._watch is not None:
            self._watch.rearm(until)

    def wake(self) -> None:
        """Wake it as a commit does, from any thread."""
        with contextlib.suppress(BlockingIOError):  # the pipe is full: the reader is awake
            os.write(self._writer, b"!")

    def listen(self, loop: asyncio.AbstractEventLoop, woken: Callable[[], object]) -> Wakeup:
        """Call a function on an event loop at each wake-up, until it is closed; return this object."""
        self._loop = loop
        loop.add_reader(self._reader, self._heard, woken)
        return self

    def wait(self, seconds: float) -> None:
        """Block the thread until a wake-up, or for so many seconds."""
        with _Selector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            if selector.select(seconds):
                self._empty()

    def close(self) -> None:
        """Close the pipe and end the watch. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._reader)
        if self._watch is not None:
            self._watch.close()  # before the system gives its descriptor to another file
        os.close(self._reader)
        os.close(self._writer)

    __del__ = close

    def __enter__(self) -> Wakeup:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _heard(self, woken: Callable[[], object]) -> None:
        self._empty()
        woken()

    def _empty(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 64)
