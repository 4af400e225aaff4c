"""What the code of a workflow awaits besides calls, and what its steps await."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Collection, Generator
from typing import Any

__all__ = ["Foreign", "InContext", "log_failure", "seen", "waits_only_for"]

_log = logging.getLogger("resonate_core.workflow")


class Foreign:
    """Awaits, for the code of a workflow, what it awaits besides calls."""

    __slots__ = ("_yielded",)

    def __init__(self, yielded: Any) -> None:
        self._yielded = yielded

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self._yielded)


class InContext:
    """Awaits in context variables of its own.

    Args:
        awaitable: The awaitable.
        context: The variables.
    """

    __slots__ = ("_awaitable", "_context")

    def __init__(self, awaitable: Any, context: Any) -> None:
        self._awaitable = awaitable
        self._context = context

    def close(self) -> None:
        """Let go of a coroutine that nothing has awaited, which would warn of that."""
        awaitable = self._awaitable
        if inspect.iscoroutine(awaitable) and inspect.getcoroutinestate(awaitable) == inspect.CORO_CREATED:
            awaitable.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        run = self._context.run
        inner = run(self._awaitable.__await__)
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                if error is not None:
                    yielded = run(inner.throw, error)
                else:
                    yielded = run(next, inner) if value is None else run(inner.send, value)
            except StopIteration as ended:
                return ended.value
            value = error = None
            try:
                value = yield yielded
            except BaseException as raised:
                error = raised


def waits_only_for(awaited: Any, futures: Collection[Any]) -> bool:
    """Whether a future waits for some of these futures, and for nothing else: itself, by a task, or by `asyncio.gather`.

    Example:
        >>> import asyncio
        >>> from resonate_core.worker.workflows.foreign import waits_only_for
        >>> async def main():
        ...     one, other = asyncio.Future(), asyncio.Future()
        ...     return waits_only_for(asyncio.gather(one), {one}), waits_only_for(asyncio.gather(one, other), {one})
        >>> asyncio.run(main())
        (True, False)
    """
    if awaited in futures:
        return not awaited.done()
    if isinstance(awaited, asyncio.Task):
        inner = getattr(awaited, "_fut_waiter", None)
        return inner is not None and waits_only_for(inner, futures)
    children = getattr(awaited, "_children", None)  # of `asyncio.gather`
    if not isinstance(children, list) or awaited.done():
        return False
    under_way = [each for each in children if not each.done()]
    return bool(under_way) and all(waits_only_for(each, futures) for each in under_way)


def log_failure(task: asyncio.Task[Any]) -> None:
    """Log what a task of the library itself has raised."""
    if not task.cancelled() and task.exception() is not None:
        _log.error("a workflow could not look at what it waits for", exc_info=task.exception())


def seen(task: asyncio.Task[Any]) -> None:
    """Take the exception of a task that has perhaps no awaiter any more."""
    if not task.cancelled():
        task.exception()
