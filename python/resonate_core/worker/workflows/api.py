"""The calls of an `async def` workflow: steps, branches, and what concerns the run as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn, ParamSpec, TypeVar, overload

from ...errors import Invalid
from ..option_values import text
from .branches import Branches
from .calls import Call
from .failures import StartedOver
from .plain import Plain, async_scope, scope_of
from .scope import scope_here
from .steps import StepCall, plain_step

__all__ = ["first", "gather", "patched", "run", "start_over"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")


@overload
def run(function: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs) -> Call[R]: ...


@overload
def run(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Call[R]: ...


def run(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function as a step: its result is recorded. A `def` runs in a thread.

    Args:
        function: The function; a `step` with its policy, or any other one.
        args: Its arguments.
        kwargs: Its keywords.

    Raises:
        StepFailed: When awaited: it has failed for good.

    Example:
        >>> from resonate_core.workflow import run
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("label")
        ... async def label(order: str) -> str:
        ...     return await run(str.upper, order)
        >>> _ = label.delay("order-7")
        >>> worker.run_until_idle().runs[0].result
        'ORDER-7'
    """
    made = plain_step(function)
    scope = async_scope(f"run({made.name})")
    if scope is None:
        return Plain(lambda: made.function(*args, **kwargs))
    return StepCall(scope, made, args, kwargs)


@overload
def gather(one: Awaitable[T1], /, *, return_exceptions: bool = False) -> Call[list[T1]]: ...


@overload
def gather(one: Awaitable[T1], two: Awaitable[T2], /) -> Call[tuple[T1, T2]]: ...


@overload
def gather(one: Awaitable[T1], two: Awaitable[T2], three: Awaitable[T3], /) -> Call[tuple[T1, T2, T3]]: ...


@overload
def gather(one: Awaitable[T1], two: Awaitable[T2], three: Awaitable[T3], four: Awaitable[T4], /) -> Call[tuple[T1, T2, T3, T4]]: ...


@overload
def gather(*awaitables: Awaitable[T], return_exceptions: bool = False) -> Call[list[T]]: ...


def gather(*awaitables: Awaitable[Any], return_exceptions: bool = False) -> Any:
    """Run calls, and coroutines of the program, side by side; the results are in their order.

    The first failure is recorded and raised. The others are then cancelled: their messages, promises, timers and child jobs, and
    their code by a CancelledError. Branches share no state that changes: their order is not replayed.

    Args:
        awaitables: Calls of the workflow, and coroutines, each of which numbers its calls by itself.
        return_exceptions: Return a failure in place of a result.

    Raises:
        TypeError: One of them is neither.
        StepFailed: When awaited: one has failed.

    Example:
        >>> from resonate_core.workflow import gather, run
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("both")
        ... async def both() -> list[int]:
        ...     return list(await gather(run(len, "a"), run(len, "bc")))
        >>> _ = both.delay()
        >>> worker.run_until_idle().runs[0].result
        [1, 2]
    """
    scope = async_scope("gather")
    if scope is None:
        return asyncio.gather(*awaitables, return_exceptions=return_exceptions)
    return Branches(scope, awaitables, first=False, return_exceptions=return_exceptions)


def first(*awaitables: Awaitable[T]) -> Call[tuple[int, T]]:
    """Run calls, and coroutines of the program, side by side, until one has an outcome: its index and its value.

    Which one it was is recorded, and with it the others are cancelled, as by `gather`. A failure of the first one is raised.

    Args:
        awaitables: As of `gather`; at least one.

    Raises:
        Invalid: There is none.
        TypeError: One of them is neither a call nor a coroutine.

    Example:
        >>> from datetime import timedelta
        >>> from resonate_core.workflow import first, receive, sleep
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("approve")
        ... async def approve() -> str:
        ...     index, answer = await first(receive("approval", type=str), sleep(timedelta(days=3)))
        ...     return answer if index == 0 else "no answer"
        >>> _ = approve.delay()
        >>> worker.run_until_idle(advance=True).runs[-1].result
        'no answer'
    """
    if not awaitables:
        raise Invalid("first takes at least one awaitable, got none")
    scope = async_scope("first")
    if scope is None:
        return Plain(lambda: _first(awaitables))  # type: ignore[return-value]
    return Branches(scope, awaitables, first=True)


async def _first(awaitables: tuple[Awaitable[T], ...]) -> tuple[int, T]:
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if not task.done():
            task.cancel()
    index = next(at for at, task in enumerate(tasks) if task.done())
    return index, tasks[index].result()


def patched(name: str) -> bool:
    """Whether the run uses code that was changed under this name: new runs do, and runs that passed this place before do not.

    Ask at the place of the change, each time that it is passed. Once no run of the older code is left, remove the older branch and the
    question; marks that are recorded are passed over.

    Args:
        name: Of the change.

    Raises:
        Invalid: The name is empty.

    Example:
        >>> from resonate_core.workflow import patched
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("ship")
        ... async def ship() -> str:
        ...     return "by rail" if patched("rail") else "by road"
        >>> _ = ship.delay()
        >>> worker.run_until_idle().runs[0].result
        'by rail'
    """
    if not text("name", name):
        raise Invalid("name of a patch must not be empty, got ''")
    scope = scope_here(f"patched({name})")
    return True if scope is None else scope.patched(name)


def start_over(*args: Any, **kwargs: Any) -> NoReturn:
    """End this run; the next one begins with these arguments and an empty history. For workflows without end.

    Args:
        args: As of the workflow's function.
        kwargs: As of the workflow's function.

    Raises:
        TypeError: The function cannot be called so.
        RuntimeError: No workflow runs here.

    Example:
        >>> from resonate_core.workflow import sleep, start_over
        >>> clock = rc.ManualClock()
        >>> worker = rc.worker.Worker(rc.Store(clock=clock))
        >>> @worker.workflow("poll")
        ... async def poll(round: int) -> int:
        ...     await sleep(1000)
        ...     if round < 3:
        ...         start_over(round + 1)
        ...     return round
        >>> _ = poll.delay(1)
        >>> worker.run_until_idle(advance=True).runs[-1].result, clock.now
        (3, 3000)
    """
    scope = scope_of("start_over", "enqueue another job")
    raise scope.run.end(StartedOver(scope.run.payload_of(*args, **kwargs)))
