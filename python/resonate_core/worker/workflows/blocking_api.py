"""The calls of a `def` workflow: each returns its value, or a handle whose `result` does."""

from __future__ import annotations

import builtins
import datetime
import inspect
import random as random_numbers
import uuid
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, ParamSpec, TypeVar, overload

from ...calls.values import Duration, instant_ms, milliseconds
from ...errors import Invalid
from .api import patched, start_over
from .calls import Call, Recorded, ResultCall, StoredCall, any_reader
from .drawn import as_ms, clock_of, instant_of
from .plain import scope_of
from .scope import Scope, scope_here
from .steps import StepCall, plain_step
from .waits import promised, received, remote_call, sleep_step

__all__ = [
    "first",
    "gather",
    "now",
    "patched",
    "promise",
    "random",
    "receive",
    "result",
    "rpc",
    "run",
    "sleep",
    "sleep_until",
    "start",
    "start_over",
    "uuid4",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
D = TypeVar("D")
_UNSET: Any = object()


def _blocking(called: str, instead: str) -> Scope:
    scope = scope_of(called, instead)
    _refuse_async(scope, called)
    return scope


def _refuse_async(scope: Scope, called: str) -> None:
    if not scope.run.blocking:
        raise TypeError(
            f"{called} of resonate_core.workflow.blocking is for def workflows: import it from resonate_core.workflow, and await it"
        )


def _step_of(function: Callable[..., Any], called: str) -> Any:
    made = plain_step(function)
    if made.is_async or inspect.iscoroutinefunction(made.function):
        raise TypeError(
            f"{called} takes a def in a def workflow, got the coroutine function {made.name}: make the workflow an async def"
        )
    return made


def run(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function as a step, and return its recorded result.

    Args:
        function: The function; a `step` with its policy, or any other one.
        args: Its arguments.
        kwargs: Its keywords.

    Raises:
        StepFailed: It has failed for good.
        TypeError: It is asynchronous.

    Example:
        >>> from resonate_core.workflow.blocking import run
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("label")
        ... def label(order: str) -> str:
        ...     return run(str.upper, order)
        >>> _ = label.delay("order-7")
        >>> worker.run_until_idle().runs[0].result
        'ORDER-7'
    """
    scope = scope_here("run")
    if scope is None:
        return function(*args, **kwargs)
    _refuse_async(scope, "run")
    value: R = scope.run.perform(StepCall(scope, _step_of(function, "run"), args, kwargs))  # type: ignore[attr-defined]
    return value


class _Done(Call[R]):
    """The handle of a function that was called where no workflow runs."""

    __slots__ = ()

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._error = None
        self._value: Any = function(*args, **kwargs)

    def result(self) -> R:
        """Return its value."""
        return self.outcome()


def start(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
    """Begin a step in a thread of its own; `result` of the handle waits for it.

    Args:
        function: As of `run`.
        args: Its arguments.
        kwargs: Its keywords.

    Raises:
        TypeError: It is asynchronous.

    Example:
        >>> from resonate_core.workflow.blocking import gather, start
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("both")
        ... def both() -> list[int]:
        ...     return gather(start(len, "a"), start(len, "bc"))
        >>> _ = both.delay()
        >>> worker.run_until_idle().runs[0].result
        [1, 2]
    """
    scope = scope_here("start")
    if scope is None:
        return _Done(function, args, kwargs)
    _refuse_async(scope, "start")
    made: StepCall[R] = StepCall(scope, _step_of(function, "start"), args, kwargs)
    scope.run.begin(made)  # type: ignore[attr-defined]
    return made


def gather(*handles: Call[T], return_exceptions: bool = False) -> list[T]:
    """Wait for handles; return their results in order. The first failure is recorded and raised, and what the others wait for is cancelled.

    Args:
        handles: Of `start`, or of the `start` of tasks.
        return_exceptions: Return a failure in place of a result.

    Raises:
        StepFailed: One has failed.
        TypeError: One of them is no handle.

    Example:
        >>> from resonate_core.workflow.blocking import gather, start
        >>> gather(start(len, "abc"))
        [3]
    """
    scope = scope_here("gather")
    if scope is None:
        return [each.result() for each in handles]
    _refuse_async(scope, "gather")
    found: list[T] = scope.run.combine(scope, handles, False, return_exceptions)  # type: ignore[attr-defined]
    return found


def first(*handles: Call[T]) -> tuple[int, T]:
    """Wait for the first of handles; return its index and its value. What the others wait for is cancelled.

    Args:
        handles: As of `gather`; at least one.

    Raises:
        Invalid: There is none.

    Example:
        >>> from resonate_core.workflow.blocking import first, start
        >>> first(start(len, "abc"))
        (0, 3)
    """
    if not handles:
        raise Invalid("first takes at least one handle, got none")
    scope = scope_here("first")
    if scope is None:
        return 0, handles[0].result()
    _refuse_async(scope, "first")
    found: tuple[int, T] = scope.run.combine(scope, handles, True, False)  # type: ignore[attr-defined]
    return found


def sleep(duration: Duration) -> None:
    """Wait; see `resonate_core.workflow.sleep`.

    Args:
        duration: In ms, or as a timedelta.

    Example:
        >>> from datetime import timedelta
        >>> from resonate_core.workflow.blocking import sleep
        >>> clock = rc.ManualClock()
        >>> worker = rc.worker.Worker(rc.Store(clock=clock))
        >>> @worker.workflow("remind")
        ... def remind() -> None:
        ...     sleep(timedelta(days=1))
        >>> _ = remind.delay()
        >>> _ = worker.run_until_idle(advance=True)
        >>> clock.now
        86400000
    """
    delay = milliseconds("duration", duration)
    scope = _blocking("sleep", "use time.sleep")
    scope.run.perform(StoredCall(scope, "sleep", any_reader(None, "sleep"), sleep_step("sleep", delay)))  # type: ignore[attr-defined]


def sleep_until(instant: int | datetime.datetime) -> None:
    """Wait until an instant; see `resonate_core.workflow.sleep_until`.

    Args:
        instant: In Unix ms, or as a datetime with a time zone.
    """
    at = instant_ms("instant", instant)
    scope = _blocking("sleep_until", "use time.sleep")
    step = sleep_step("sleep", max(0, at - scope.run.now()))
    scope.run.perform(StoredCall(scope, "sleep", any_reader(None, "sleep"), step))  # type: ignore[attr-defined]


@overload
def receive(topic: str, *, type: builtins.type[T], timeout: Duration | None = None) -> T: ...


@overload
def receive(topic: str, *, type: builtins.type[T], timeout: Duration | None = None, default: D) -> T | D: ...


@overload
def receive(topic: str, *, type: UnionType | None = None, timeout: Duration | None = None, default: Any = _UNSET) -> Any: ...


def receive(topic: str, *, type: Any = None, timeout: Duration | None = None, default: Any = _UNSET) -> Any:
    """Wait for the next message of a topic; see `resonate_core.workflow.receive`.

    Args:
        topic: Its name.
        type: What a message is converted to.
        timeout: How long it waits, in ms or as a timedelta; None: for ever.
        default: The value if none has come in this time.

    Raises:
        TimeoutError: None has come in this time, and there is no default.
    """
    scope = _blocking("receive", "a step or a handler has no messages")
    made = received(scope, topic, type, timeout, StoredCall.NO_DEFAULT if default is _UNSET else default)
    return scope.run.perform(made)  # type: ignore[attr-defined]


@overload
def promise(*, type: builtins.type[T], timeout: Duration | None = None, tags: Mapping[str, str] | None = None) -> Call[T]: ...


@overload
def promise(
    *, type: UnionType | None = None, timeout: Duration | None = None, tags: Mapping[str, str] | None = None
) -> Call[Any]: ...


def promise(*, type: Any = None, timeout: Duration | None = None, tags: Mapping[str, str] | None = None) -> Call[Any]:
    """Make a promise that a person or a program settles; `result` of the handle waits. See `resonate_core.workflow.promise`.

    Args:
        type: What its value is converted to.
        timeout: Until its deadline, in ms or as a timedelta; None: it has none.
        tags: Of the promise.
    """
    return promised(_blocking("promise", "use store.promises.create"), type, timeout, tags)


def rpc(
    function: str,
    *args: Any,
    target: str = "default",
    timeout: Duration | None = None,
    type: Any = None,
    version: int = 1,
    **kwargs: Any,
) -> Any:
    """Call a function of a program of a published Resonate SDK; see `resonate_core.workflow.rpc`.

    Args:
        function: The name under which it is registered there.
        args: Its arguments, JSON-able.
        target: The group of its workers, or an address.
        timeout: Until the deadline of the call, in ms or as a timedelta; None: it has none.
        type: What its result is converted to.
        version: Of the function.
        kwargs: Its keywords.

    Raises:
        StepFailed: It has raised, or was cancelled.
        TimeoutError: Its deadline has passed.
    """
    scope = _blocking("rpc", "call it by an SDK")
    return scope.run.perform(remote_call(scope, function, args, kwargs, target, timeout, type, version))  # type: ignore[attr-defined]


@overload
def result(id: str, *, type: builtins.type[T]) -> T: ...


@overload
def result(id: str, *, type: UnionType | None = None) -> Any: ...


def result(id: str, *, type: Any = None) -> Any:
    """Wait for the outcome of any promise or job; see `resonate_core.workflow.result`.

    Args:
        id: Of the promise or job.
        type: What its value is converted to.

    Raises:
        StepFailed: It has failed, was cancelled, or does not exist.
    """
    scope = _blocking("result", "use store.result")
    return scope.run.perform(ResultCall(scope, id, any_reader(type, f"result of {id}")))  # type: ignore[attr-defined]


def _drawn(called: str, draw: Callable[[], Any], stored: Callable[[Any], Any], read: Callable[[Any], T]) -> T:
    scope = scope_here(called)
    if scope is None:
        plain: T = draw()
        return plain
    _refuse_async(scope, called)
    value: T = scope.run.perform(Recorded(scope, called, lambda: stored(draw()), read))  # type: ignore[attr-defined]
    return value


def now() -> datetime.datetime:
    """Return the present instant of the store, in UTC, recorded.

    Example:
        >>> from resonate_core.workflow.blocking import now
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("when")
        ... def when() -> str:
        ...     return now().isoformat()
        >>> _ = when.delay()
        >>> worker.run_until_idle().runs[0].result
        '1970-01-01T00:00:00+00:00'
    """
    return _drawn("now", clock_of(), as_ms, instant_of)


def uuid4() -> uuid.UUID:
    """Return a random UUID, recorded."""
    return _drawn("uuid4", uuid.uuid4, str, uuid.UUID)


def random() -> float:
    """Return a random number from 0 up to 1, recorded."""
    return _drawn("random", random_numbers.random, float, float)
