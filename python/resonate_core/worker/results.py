"""What handlers return in place of a result: generators, and what has still to be awaited."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .conversion import kinds_of
from .outcomes import JobError

__all__ = ["awaited_here", "close_coroutine", "no_result", "refuse_future"]

_CODE = "InvalidResult"


def refuse_future(type: str, function: Callable[..., Any], hints: Mapping[str, Any]) -> None:
    """Refuse a handler whose annotation says that it returns a future of a pool.

    Raises:
        TypeError: It does.
    """
    returned = hints.get("return")
    for kind in kinds_of(returned):
        if (typing.get_origin(kind) or kind) is concurrent.futures.Future:
            raise TypeError(
                f"the handler of type {type!r} must return its result, got {function!r}, which returns a Future of "
                "concurrent.futures: return its result()"
            )


def awaited_here(made: Any) -> Awaitable[Any]:
    """Return an awaitable, once it is known that the running loop can await it.

    Raises:
        JobError: It is a future of another loop.
    """
    if asyncio.isfuture(made) and made.get_loop() is not asyncio.get_running_loop():
        raise _failed(
            f"{_kind(made)} of another event loop, which only that loop can await",
            "make the handler asynchronous and await there, or wait in it for asyncio.run_coroutine_threadsafe(...).result()",
        )
    awaitable: Awaitable[Any] = made
    return awaitable


def no_result(result: Any) -> JobError | None:
    """Return why a value that a handler has returned is no result; None: it may be one.

    Example:
        >>> from concurrent.futures import Future
        >>> from resonate_core.worker.results import no_result
        >>> no_result(3), no_result(Future()).message
        (None, 'the handler must return its result, got a Future of concurrent.futures, which nothing waits for: return its result()')
    """
    if result is None or isinstance(result, (str, int, float, dict, list)):  # most of them
        return None
    if inspect.isgenerator(result) or inspect.isasyncgen(result):  # a wrapper hides the generator function when it is registered
        return _failed(f"the {_kind(result)} {result.__qualname__}, whose items nothing reads")
    if isinstance(result, concurrent.futures.Future):
        return _failed("a Future of concurrent.futures, which nothing waits for", "return its result()")
    if inspect.isawaitable(result):
        close_coroutine(result)
        return _failed(f"{_kind(result)}, which nothing awaits", "await it in the handler, and return what it returns")
    return None


def close_coroutine(made: Any) -> None:
    """Close a coroutine that has not begun: else Python warns that it was never awaited."""
    if inspect.iscoroutine(made) and inspect.getcoroutinestate(made) == inspect.CORO_CREATED:
        made.close()


def _failed(got: str, hint: str | None = None) -> JobError:
    message = f"the handler must return its result, got {got}" + (f": {hint}" if hint else "")
    return JobError(_CODE, message, retryable=False)


def _kind(value: Any) -> str:
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return type(value).__name__.replace("_", " ")
    if inspect.iscoroutine(value):
        return f"the coroutine {value.__qualname__}"
    name = type(value).__name__.lstrip("_")
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"
