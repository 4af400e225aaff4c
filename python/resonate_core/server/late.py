"""Tasks that wait for their clients, and the end of those that wait too long."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["Tasks"]


class Tasks:
    """Cancels tasks that have been waiting for longer than they may.

    One timer looks after all of them: a timer for each would cost more than most requests.

    Args:
        patience: Seconds that a task may wait; it is cancelled before it has waited for twice as long.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[asyncio.Task[Any], None] = {}
        self._seen: set[asyncio.Task[Any]] = set()  # those that were waiting when the timer last came by
        self._late: set[asyncio.Task[Any]] = set()
        self._timer = self._loop.call_later(patience, self._look)

    def enter(self) -> asyncio.Task[Any]:
        """The running task begins to wait."""
        task = asyncio.current_task()
        assert task is not None
        self._waiting[task] = None
        return task

    def leave(self, task: asyncio.Task[Any]) -> None:
        """A task waits no longer."""
        self._waiting.pop(task, None)
        if self._seen:
            self._seen.discard(task)

    def was_late(self, task: asyncio.Task[Any]) -> bool:
        """Return whether a task was cancelled only because it was late; the cancellation is then undone."""
        if task not in self._late:
            return False
        self._late.discard(task)
        uncancel = getattr(task, "uncancel", None)  # Python 3.11
        return uncancel is None or uncancel() == 0

    def _look(self) -> None:
        for task in self._seen:
            self._late.add(task)
            task.cancel()
        self._seen = set(self._waiting).difference(self._late)
        self._timer = self._loop.call_later(self._patience, self._look)

    def close(self) -> None:
        """Cancels nothing more."""
        self._timer.cancel()
