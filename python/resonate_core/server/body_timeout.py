"""Time limits for the bodies of requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..base.stopwatch import seconds as now

if TYPE_CHECKING:
    from starlette.types import Receive

__all__ = ["BodyTimeout", "discard_rest"]

#: Seconds: how long a refused client may pause while it sends the rest of its body, and how long it may send.
_PAUSE_OF_REST = 1.0
_TIMEOUT_OF_REST = 30.0


class BodyTimeout:
    """Cancels the tasks that have waited for the body of their request for too long.

    One timer checks all of them: a timer for each task would cost more than most requests.

    Args:
        seconds: How long a task may wait. It is cancelled before it has waited for twice as long.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[asyncio.Task[Any], None] = {}
        self._waited: set[asyncio.Task[Any]] = set()  # tasks that were waiting at the timer's last check
        self._cancelled: set[asyncio.Task[Any]] = set()
        self._timer = self._loop.call_later(seconds, self._check)

    def begin(self) -> asyncio.Task[Any]:
        """Limit the running task, and return it."""
        task = asyncio.current_task()
        assert task is not None
        self._waiting[task] = None
        return task

    def end(self, task: asyncio.Task[Any]) -> None:
        """End the limit: the task has its body, or stopped waiting."""
        self._waiting.pop(task, None)
        if self._waited:
            self._waited.discard(task)

    def was_exceeded(self, task: asyncio.Task[Any]) -> bool:
        """Return whether a task was cancelled only because of this limit; the cancellation is then undone."""
        if task not in self._cancelled:
            return False
        self._cancelled.discard(task)
        uncancel = getattr(task, "uncancel", None)  # Python 3.11
        return uncancel is None or uncancel() == 0

    def _check(self) -> None:
        for task in self._waited:
            self._cancelled.add(task)
            task.cancel()
        self._waited = set(self._waiting).difference(self._cancelled)
        self._timer = self._loop.call_later(self._seconds, self._check)

    def close(self) -> None:
        """End the limit for all tasks."""
        self._timer.cancel()


async def discard_rest(receive: Receive) -> None:
    """Read and discard a body until it ends, the client pauses, or its time is over."""
    until = now() + _TIMEOUT_OF_REST
    more = True
    while more and now() < until:
        try:
            message = await asyncio.wait_for(receive(), _PAUSE_OF_REST)
        except asyncio.TimeoutError:  # in Python 3.10 it is not the built-in TimeoutError
            return
        more = message["type"] == "http.request" and message.get("more_body", False)
