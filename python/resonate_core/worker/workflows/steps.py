"""Steps: functions whose results are recorded, and how their failures are retried."""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import sys
import types
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar, overload

from ...base.step_lines import raised_line
from ...calls.values import Duration, milliseconds
from ...errors import Invalid, StoreError
from ..conversion import read_hints
from ..groups import is_retried
from ..option_values import flag, text, whole
from ..outcomes import Retry, decisive
from ..signature import is_async, is_generator
from ..task_rules import RetryOn, retry_predicate
from ..tracebacks import of_program
from .calls import Call
from .failures import failed, recorded_failure, text_of
from .operations import Invoke, Pause, Performance, Record, Wait
from .records import NAME_TAG, Reader, is_pending, settled
from .scope import Scope, scope_here

__all__ = ["Step", "StepCall", "plain_step", "step"]

P = ParamSpec("P")
R = TypeVar("R")
_log = logging.getLogger("resonate_core.workflow")

#: The longest delay before a retry, and the shortest that is a recorded timer (ms).
_LONGEST_DELAY, _RECORDED_DELAY = 3_600_000, 10_000
_FIRST_DELAY = 1000
#: The most attempts of which a replay looks for timers with gaps between them.
_MOST_SOUGHT = 1000


class Step:
    """A function as a step, with its policy.

    Args:
        function: The function.
        name: Under which its results are recorded; None: its name.
        retries: How often it is tried again.
        backoff: The first delay, in ms; each next one is twice as long, up to an hour.
        retry_on: The exceptions that are retried.
        timeout: How long one attempt may take, in ms.
        at_most_once: Whether an attempt that was interrupted is a failure.
        names: The names of the scope in which it is defined, for its annotation.
    """

    __slots__ = (
        "_hint",
        "_reader",
        "at_most_once",
        "backoff",
        "function",
        "is_async",
        "name",
        "original",
        "retries",
        "retry_on",
        "timeout",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        retries: int = 0,
        backoff: Duration | None = None,
        retry_on: RetryOn | None = None,
        timeout: Duration | None = None,
        at_most_once: bool = False,
        names: Mapping[str, Any] = types.MappingProxyType({}),
    ) -> None:
        if not callable(function):
            raise TypeError(f"a step must be a function, got {function!r}")
        if is_generator(function):
            raise TypeError(f"a step must return its result, got {function!r}, which yields")
        self.function = self.original = function
        self.name = _name_of_function(function) if name is None else text("name", name)
        if not self.name or self.name.startswith("patched "):
            raise Invalid(f"name of a step must not be empty and not begin with 'patched ', got {self.name!r}")
        self.is_async = is_async(function)
        self.retries = whole("retries", retries, 0)
        self.backoff = _FIRST_DELAY if backoff is None else milliseconds("backoff", backoff)
        self.retry_on = retry_predicate(retry_on)
        self.timeout = None if timeout is None else milliseconds("timeout", timeout, 1)
        self.at_most_once = flag("at_most_once", at_most_once)
        self._hint = _result_hint(function, names)
        self._reader: Reader | None = None

    def reader(self) -> Reader:
        """Return what reads its results."""
        if self._reader is None:
            if isinstance(self._hint, str):  # it names what is defined below it
                self._hint = _result_hint(self.function, {})
            self._reader = Reader(self._hint, f"result of step {self.name}")
        return self._reader

    def under(self, name: str, function: Callable[..., Any]) -> Step:
        """Return a step with the same policy and result, which is recorded under another name, and calls another function.

        Args:
            name: Under which its results are recorded.
            function: The function; the `original` one stays.
        """
        other = copy.copy(self)
        other.name, other.function = name, function
        return other

    def retried(self, error: BaseException) -> bool:
        """Whether its ``retry_on`` retries this error; an error's own ``retryable`` decides first."""
        own = getattr(error, "retryable", None)
        if isinstance(own, bool):
            return own
        try:
            return is_retried(error, self.retry_on)
        except Exception:
            _log.exception("retry_on of step %s raised; it is retried", self.name)
            return True

    def delay(self, attempt: int) -> int:
        """The delay after a failed attempt, in ms."""
        delay: int = min(self.backoff * 2 ** min(attempt - 1, 40), _LONGEST_DELAY)
        return delay


def _result_hint(function: Callable[..., Any], names: Mapping[str, Any]) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return read_hints(function if inspect.isroutine(function) else type(function).__call__, names).get(
        "return", inspect.Parameter.empty
    )


def _name_of_function(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


class StepCall(Call[R]):
    """A call of a step."""

    __slots__ = ("_failed", "args", "kwargs", "scope", "step")

    def __init__(self, scope: Scope, step: Step, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        super().__init__(scope, step.name)
        self._failed = 0  # the attempts that have failed here
        self.scope = scope
        self.step = step
        self.args = args
        self.kwargs = kwargs

    def read(self, record: Any) -> Any:
        """As of `Call`."""
        return self.value_by(self.step.reader(), record)

    def perform(self) -> Performance:
        """Run it until it has a result or has failed for good, and record that."""
        run, step, id = self.run, self.step, self.id
        attempt = self._failed_attempts() + 1
        begun = id if attempt == 1 else f"{id}:b{attempt}"
        if step.at_most_once and begun in run.records:
            failure = {"code": "StepInterrupted", "message": f"step {step.name} had begun when its worker was lost"}
            self._logged(failure, attempt)
            yield from self._fail(failure)
        timer = run.records.get(f"{id}:{attempt - 1}")
        if timer is not None and is_pending(timer):
            yield Wait(timer.id)
        if step.at_most_once and attempt == 1:
            yield Record([{"id": id, "tags": {NAME_TAG: step.name}}])
        elif step.at_most_once:
            yield Record([settled(begun, f"begun {step.name}", "resolved", None)])
        step.reader()  # an annotation without JSON, or without its library, is found before the effect
        while True:
            started = run.now()
            try:
                result = yield Invoke(
                    step.function, self.args, self.kwargs, self.scope, step.name, step.is_async, step.timeout, id, attempt, started
                )
            except (Exception, CancelledError) as error:
                if isinstance(error, CancelledError) and run.is_called_off():
                    raise
                error.__traceback__ = of_program(error.__traceback__)
                yield from self._retry(error, attempt, started)
                attempt += 1
                continue
            try:
                stored, value = step.reader().checked(result)
                yield Record([settled(id, step.name, "resolved", stored, _param(started, attempt))])
            except (StoreError, OSError):
                raise
            except Exception as error:  # it has no JSON, or the store refuses it
                failure = {"code": "InvalidResult", "message": f"what step {step.name} returned cannot be stored: {text_of(error)}"}
                self._logged(failure, attempt, error)
                yield from self._fail(failure, started, attempt, error)
            return value

    def _failed_attempts(self) -> int:
        """The number of the last attempt that is known to have failed: here, or with a timer. Those before it may have none."""
        records, number = self.run.records, 1
        if self.run.replaying:
            while number <= min(self.step.retries, _MOST_SOUGHT) or f"{self.id}:{number}" in records:
                if f"{self.id}:{number}" in records:
                    self._failed = max(self._failed, number)
                number += 1
        return self._failed

    def may_retry(self, error: BaseException, attempt: int) -> bool:
        """Whether another attempt follows the one that has failed."""
        return attempt <= self.step.retries and self.step.retried(error)

    def _retry(self, error: BaseException, attempt: int, started: int) -> Performance:
        """Wait before the next attempt, or record the failure and raise it."""
        step, run = self.step, self.run
        decided = decisive(error)
        again = self.may_retry(decided, attempt)
        after_own = getattr(decided, "after", None) if isinstance(decided, Retry) else None
        delay = step.delay(attempt) if after_own is None else after_own
        failure = failed(error)
        line = self._logged(failure, attempt, error, delay if again else None)
        if not again:
            yield from self._fail(failure, started, attempt, error)
        self._failed = attempt
        run.context.report(line)
        if delay < _RECORDED_DELAY and not run.manual:
            yield Pause(delay)
            return
        id, tags = f"{self.id}:{attempt}", {NAME_TAG: f"retry {step.name}", "resonate:timer": "true"}
        run.unsent.append({"id": id, "tags": tags, "timeout_in": delay, "param": {"startedAt": started, **failure}})
        run.begun[id] = f"retry {step.name}"
        yield Wait(id)

    def _logged(
        self, failure: Mapping[str, Any], attempt: int, error: BaseException | None = None, again_in: int | None = None
    ) -> str:
        """Log a failed attempt with its traceback; return the line about it."""
        line = raised_line(self.step.name, self.id, attempt, f"{failure['code']}: {failure['message']}", again_in)
        named = {"job": self.run.job.id, "step": self.id, "attempt": attempt}
        _log.warning("workflow %s: %s", self.run.job.id, line, exc_info=error, extra=named)
        return line

    def _fail(
        self, failure: dict[str, Any], started: int | None = None, attempt: int = 1, cause: BaseException | None = None
    ) -> Performance:
        param = None if started is None else _param(started, attempt)
        yield Record([settled(self.id, self.step.name, "rejected", failure, param)])
        raise recorded_failure(failure["code"], failure["message"], failure.get("data")) from cause


def _param(started: int, attempt: int) -> bytes:
    """Return the param of a step's record; as text, which is faster than a dict."""
    return b'{"startedAt":%d}' % started if attempt == 1 else b'{"startedAt":%d,"attempts":%d}' % (started, attempt)


@overload
def step(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def step(
    *,
    name: str | None = None,
    retries: int = 0,
    backoff: timedelta | int | None = None,
    retry_on: RetryOn | None = None,
    timeout: timedelta | int | None = None,
    at_most_once: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def step(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    retries: int = 0,
    backoff: timedelta | int | None = None,
    retry_on: RetryOn | None = None,
    timeout: timedelta | int | None = None,
    at_most_once: bool = False,
) -> Any:
    """Make a function a step; a decorator, with or without arguments. The function keeps its type.

    In a workflow a call is recorded: it runs once, and a replay gets its result. Elsewhere, and in another step, it is a plain call.
    An `async def` workflow calls a `def` step by ``await run(step, ...)``.

    Args:
        function: The function.
        name: Under which its results are recorded; None: its name. Keep it when the function is renamed.
        retries: How often it is tried again after a failure.
        backoff: The first delay before that, in ms or as a timedelta; each next one is twice as long, up to an hour. A delay of 10 s
            or more is a recorded timer, during which the workflow needs no process.
        retry_on: The exceptions that are retried: types, or a function of the exception; None: all. A `JobError` with its own
            ``retryable`` overrides it.
        timeout: How long one attempt may take, in ms or as a timedelta; then it fails with `StepTimeout`, and is retried.
        at_most_once: Record its beginning, too. If the worker is lost then, the step fails with `StepInterrupted`, and is not run again.

    Raises:
        TypeError: It is no function, or yields.
        Invalid: An option out of its range.

    Example:
        >>> from resonate_core.workflow import step
        >>> @step(retries=3, backoff=500)
        ... def charge(order: str, cents: int) -> str:
        ...     return f"receipt of {order}"
        >>> charge("7", 1200)
        'receipt of 7'
    """
    names = sys._getframe(1).f_locals

    def decorate(function: Callable[..., Any]) -> Any:
        made = Step(function, name, retries, backoff, retry_on, timeout, at_most_once, names)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            scope = scope_here(made.name)
            if scope is None:
                return function(*args, **kwargs)
            if scope.run.blocking:
                if made.is_async:
                    raise TypeError(f"step {made.name} is asynchronous, and the workflow is a def: make the workflow an async def")
                return scope.run.perform(StepCall(scope, made, args, kwargs))  # type: ignore[attr-defined]
            if not made.is_async:
                raise TypeError(f"step {made.name} is a def, and the workflow an async def: call it by await run({made.name}, ...)")
            return StepCall(scope, made, args, kwargs)

        called.__step__ = made  # type: ignore[attr-defined]
        mark = getattr(inspect, "markcoroutinefunction", None)  # from Python 3.12 on
        if made.is_async and mark is not None:
            mark(called)
        return called

    if function is None:
        return decorate
    return decorate(function)


def plain_step(function: Callable[..., Any]) -> Step:
    """Return the step of a decorated function; of any other one, a step with the usual policy."""
    made: Step | None = getattr(function, "__step__", None)
    return made if made is not None else Step(function)
