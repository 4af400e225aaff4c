"""The threads of synchronous handlers."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Generic, TypeVar

__all__ = ["Threads"]

_T = TypeVar("_T")
_log = logging.getLogger("resonate_core.worker")


class Threads(Generic[_T]):
    """Runs items in a limited number of threads.

    `concurrent.futures` is not used for two reasons. Its threads keep a process alive until the last handler returns, even if its
    job was put back; these are daemons. And it wakes a thread for every item. Here a thread that takes an item wakes at most one
    other thread: one thread runs many short handlers in a row, and handlers that wait soon occupy all threads.

    Args:
        limit: The most threads.
        run: Runs an item; it does not raise.
        name: The beginning of the names of the threads.
    """

    def __init__(self, limit: int, run: Callable[[_T], None], name: str) -> None:
        self._limit = limit
        self._run = run
        self._name = name
        self._items: deque[_T] = deque()
        self._gate: SimpleQueue[None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._started = 0
        self._waking = False  # a thread was woken and has not taken an item yet
        self._closed = False

    def submit(self, items: Iterable[_T]) -> None:
        """Run each of them as soon as there is a thread."""
        self._items.extend(items)
        self._wake()

    def withdraw(self) -> list[_T]:
        """Cancel calls that no thread has begun."""
        items = []
        with contextlib.suppress(IndexError):
            while True:
                items.append(self._items.popleft())
        return items

    def close(self) -> None:
        """End idle threads; the others end when their handler returns."""
        with self._lock:
            self._closed = True
            self._items.clear()
            for _ in range(self._started):
                self._gate.put(None)

    def _wake(self) -> None:
        with self._lock:
            if self._waking or not self._items or self._closed:
                return
            if self._idle:
                self._idle -= 1
                self._waking = True
                self._gate.put(None)
            elif self._started < self._limit:
                self._started += 1
                self._waking = True
                threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()

    def _work(self) -> None:
        while True:
            self._waking = False
            while True:
                try:
                    item = self._items.popleft()
                except IndexError:
                    break
                # Looked at without the lock: a thread that becomes idle looks for items once more, with it.
                if self._items and not self._waking and (self._idle or self._started < self._limit):
                    self._wake()
                try:
                    self._run(item)
                except BaseException:
                    _log.exception("a thread of %s has lost the outcome of its job; the lease will expire", self._name)
            with self._lock:
                if self._items:
                    continue
                if self._closed:
                    return
                self._idle += 1
            self._gate.get()
