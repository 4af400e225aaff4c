"""The body of a request: read within limits of its size and time, or refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..base.stopwatch import seconds as now
from .authorizer import header

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

__all__ = ["BodyRefused", "BodyTimeout", "discard_rest", "read_body"]

#: Seconds: how long a refused client may pause while it sends the rest of its body, and how long it may send.
_PAUSE_OF_REST = 1.0
_TIMEOUT_OF_REST = 30.0


class BodyRefused(Exception):
    """A body that exceeds a limit. Its text is the rule.

    Attributes:
        status: The status of the answer.
        limit: The name of the limit in metrics: `body`, or `slow`.
        unread: Whether the client may still send a part of it, which is to be discarded before the answer ends.
    """

    def __init__(self, status: int, limit: str, why: str, unread: bool = False) -> None:
        super().__init__(why)
        self.status, self.limit, self.unread = status, limit, unread


class BodyTimeout:
    """Cancels the tasks that have waited for the body of their request for too long.

    One timer checks all of them: a timer for each task would cost more than most requests.

    Args:
        seconds: How long a task may wait. It is cancelled before it has waited for twice as long.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
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
        self._timer = self._loop.call_later(self.seconds, self._check)

    def close(self) -> None:
        """End the limit for all tasks."""
        self._timer.cancel()


async def read_body(scope: Scope, receive: Receive, most: int, timeout: BodyTimeout) -> bytes | None:
    """Return the body of a request; None if its client has disconnected.

    Args:
        scope: The request.
        receive: Its messages.
        most: The most bytes of a body.
        timeout: Limits the time.

    Raises:
        BodyRefused: The body exceeds a limit.
    """
    task = timeout.begin()
    try:
        message = await receive()
        body: bytes | None = message.get("body", b"") if message["type"] == "http.request" else None
        unread = message.get("more_body", False)
        if unread:
            body, unread = await _rest(body or b"", scope, receive, most)
        if body is not None and len(body) > most:
            raise BodyRefused(413, "body", f"the body must have at most {most} bytes, got more", unread)
    except asyncio.CancelledError:
        if not timeout.was_exceeded(task):
            raise
        raise BodyRefused(408, "slow", f"the body did not arrive within {timeout.seconds} s") from None
    finally:
        timeout.end(task)
    return body


async def _rest(first: bytes, scope: Scope, receive: Receive, most: int) -> tuple[bytes | None, bool]:
    """Read the body, up to a little more than the limit. Return it (None: the client disconnected), and whether more is to come."""
    length = header(scope, b"content-length")
    if length is not None and length.isascii() and length.isdecimal() and (len(length) > 18 or int(length) > most):
        raise BodyRefused(413, "body", f"the body must have at most {most} bytes, got {length[:18]}", unread=True)
    parts, size = [first], len(first)
    more = True
    while more and size <= most:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None, False
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        more = message.get("more_body", False)
    return b"".join(parts), more


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
