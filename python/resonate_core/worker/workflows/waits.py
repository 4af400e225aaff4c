"""The calls of an `async def` workflow that wait: for time, messages, people and other programs."""

from __future__ import annotations

import builtins
import datetime
from collections.abc import Mapping
from types import UnionType
from typing import Any, TypeVar, overload

from ..._core import Jobs
from ...calls.made import call
from ...calls.values import Duration, instant_ms, milliseconds
from ...errors import Invalid
from ..encoding import payload_encoded
from ..option_values import text, whole
from .calls import Call, ResultCall, StoredCall, any_reader
from .plain import awaited_scope_of
from .records import NAME_TAG
from .scope import Scope

__all__ = ["promise", "promised", "receive", "received", "remote_call", "result", "rpc", "sleep", "sleep_step", "sleep_until"]

T = TypeVar("T")
D = TypeVar("D")
_UNSET: Any = object()


def sleep_step(name: str, delay: int) -> dict[str, Any]:
    """Return the timer as `job.record` takes it."""
    return {"tags": {NAME_TAG: name, "resonate:timer": "true"}, "timeout_in": delay}


def sleep(duration: Duration) -> Call[None]:
    """Wait. A day or a year needs no process, and survives each restart.

    Args:
        duration: In ms, or as a timedelta.

    Raises:
        Invalid: It is negative.
        RuntimeError: No workflow runs here.

    Example:
        >>> from datetime import timedelta
        >>> from resonate_core.workflow import sleep
        >>> clock = rc.ManualClock()
        >>> worker = rc.worker.Worker(rc.Store(clock=clock))
        >>> @worker.workflow("remind")
        ... async def remind() -> str:
        ...     await sleep(timedelta(days=365))
        ...     return "a year later"
        >>> _ = remind.delay()
        >>> worker.run_until_idle(advance=True).runs[-1].result, clock.now
        ('a year later', 31536000000)
    """
    delay = milliseconds("duration", duration)
    scope = awaited_scope_of("sleep", "use asyncio.sleep or time.sleep")
    return StoredCall(scope, "sleep", any_reader(None, "sleep"), sleep_step("sleep", delay))


def sleep_until(instant: int | datetime.datetime) -> Call[None]:
    """Wait until an instant; do not wait if it has passed.

    Args:
        instant: In Unix ms, or as a datetime with a time zone.

    Raises:
        Invalid: It is no instant.
        RuntimeError: No workflow runs here.

    Example:
        >>> from datetime import datetime, timezone
        >>> from resonate_core.workflow import sleep_until
        >>> clock = rc.ManualClock()
        >>> worker = rc.worker.Worker(rc.Store(clock=clock))
        >>> @worker.workflow("new-year")
        ... async def new_year() -> None:
        ...     await sleep_until(datetime(1971, 1, 1, tzinfo=timezone.utc))
        >>> _ = new_year.delay()
        >>> _ = worker.run_until_idle(advance=True)
        >>> clock.now
        31536000000
    """
    at = instant_ms("instant", instant)
    scope = awaited_scope_of("sleep_until", "use asyncio.sleep or time.sleep")
    return StoredCall(scope, "sleep", any_reader(None, "sleep"), sleep_step("sleep", max(0, at - scope.run.now())))


@overload
def receive(topic: str, *, type: builtins.type[T], timeout: Duration | None = None) -> Call[T]: ...


@overload
def receive(topic: str, *, type: builtins.type[T], timeout: Duration | None = None, default: D) -> Call[T | D]: ...


@overload
def receive(topic: str, *, type: UnionType | None = None, timeout: Duration | None = None, default: Any = _UNSET) -> Call[Any]: ...


def receive(topic: str, *, type: Any = None, timeout: Duration | None = None, default: Any = _UNSET) -> Call[Any]:
    """Wait for the next message of a topic, which `store.workflows.send` sends. Messages that came before are kept, in order.

    Args:
        topic: Its name, without a colon.
        type: What a message is converted to, as an annotation would.
        timeout: How long it waits, in ms or as a timedelta; None: for ever.
        default: The value if none has come in this time.

    Raises:
        Invalid: The topic is empty or has a colon.
        TimeoutError: When awaited: none has come in this time, and there is no default.
        RuntimeError: No workflow runs here.

    Example:
        >>> from resonate_core.workflow import receive
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> worker = rc.worker.Worker(store)
        >>> @worker.workflow("approve")
        ... async def approve() -> str:
        ...     return await receive("approval", type=str, timeout=86_400_000, default="no")
        >>> _ = approve.using(id="order-7").delay()
        >>> _ = store.jobs.send("order-7", "approval", "yes")
        >>> worker.run_until_idle().runs[-1].result
        'yes'
    """
    scope = awaited_scope_of("receive", "a step or a handler has no messages")
    return received(scope, topic, type, timeout, default)


def received(scope: Scope, topic: str, type: Any, timeout: Duration | None, default: Any) -> Call[Any]:
    """Return the call of `receive`."""
    if not text("topic", topic) or ":" in topic:
        raise Invalid(f"topic must be a name without a colon, got {topic!r}")
    delay = None if timeout is None else milliseconds("timeout", timeout)
    reader, run_ = any_reader(type, f"message of topic {topic}"), scope.run
    unset = StoredCall.NO_DEFAULT if default is _UNSET else default
    return StoredCall(
        scope,
        f"receive {topic}",
        reader,
        request=lambda id: call(Jobs.receive, run_.job.id, run_.version, id, topic, timeout_in=delay),
        timed_out=unset,
        raises=True,
    )


@overload
def promise(*, type: builtins.type[T], timeout: Duration | None = None, tags: Mapping[str, str] | None = None) -> Call[T]: ...


@overload
def promise(
    *, type: UnionType | None = None, timeout: Duration | None = None, tags: Mapping[str, str] | None = None
) -> Call[Any]: ...


def promise(*, type: Any = None, timeout: Duration | None = None, tags: Mapping[str, str] | None = None) -> Call[Any]:
    """Make a promise that a person or a program settles. Its ``id`` is known at once, to be handed out; await it for its value.

    Args:
        type: What its value is converted to, as an annotation would.
        timeout: Until its deadline, in ms or as a timedelta; None: it has none.
        tags: Of the promise.

    Raises:
        TypeError: The tags are not text by text.
        TimeoutError: When awaited: its deadline has passed.
        StepFailed: When awaited: it was rejected or cancelled.
        RuntimeError: No workflow runs here.

    Example:
        >>> from resonate_core.workflow import promise, run
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> worker = rc.worker.Worker(store)
        >>> def ask(id: str) -> None:
        ...     print("settle", id)
        >>> @worker.workflow("approve")
        ... async def approve() -> str:
        ...     answer = promise(type=str)
        ...     await run(ask, answer.id)
        ...     return await answer
        >>> _ = approve.using(id="order-7").delay()
        >>> _ = worker.run_until_idle()
        settle order-7:1
        >>> _ = store.promises.resolve("order-7:1", "yes")
        >>> worker.run_until_idle().runs[-1].result
        'yes'
    """
    scope = awaited_scope_of("promise", "use store.promises.create")
    return promised(scope, type, timeout, tags)


def promised(scope: Scope, type: Any, timeout: Duration | None, tags: Mapping[str, str] | None) -> Call[Any]:
    """Return the call of `promise`, which has begun."""
    step: dict[str, Any] = {"tags": {**(tags or {}), NAME_TAG: "promise"}}
    if timeout is not None:
        step["timeout_in"] = milliseconds("timeout", timeout)
    call(Jobs.record, scope.run.job.id, scope.run.version, [{"id": "", **step}])  # raises if it cannot be written
    made: StoredCall[Any] = StoredCall(scope, "promise", any_reader(type, "value of a promise"), step, raises=True)
    made.begin()
    scope.run.unsent.is_urgent = True
    return made


def rpc(
    function: str,
    *args: Any,
    target: str = "default",
    timeout: Duration | None = None,
    type: Any = None,
    version: int = 1,
    **kwargs: Any,
) -> Call[Any]:
    """Call a function of a program of a published Resonate SDK, as these programs call each other.

    Args:
        function: The name under which it is registered there.
        args: Its arguments, JSON-able.
        target: The group of its workers, or an address such as ``poll://any@group``.
        timeout: Until the deadline of the call, in ms or as a timedelta; None: it has none.
        type: What its result is converted to, as an annotation would.
        version: Of the function.
        kwargs: Its keywords.

    Raises:
        StepFailed: When awaited: it has raised (its exception is not unpickled), or was cancelled.
        TimeoutError: When awaited: its deadline has passed.
        RuntimeError: No workflow runs here.

    Example:
        >>> from resonate_core.workflow import rpc
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> worker = rc.worker.Worker(store)
        >>> @worker.workflow("greet")
        ... async def greet(name: str) -> str:
        ...     return await rpc("hello", name, target="greeters", type=str)
        >>> _ = greet.using(id="g").delay("ada")
        >>> _ = worker.run_until_idle()
        >>> store.promises.get("g:1").tags["resonate:target"], store.promises.get("g:1").param.json()
        ('poll://any@greeters', {'func': 'hello', 'args': ['ada'], 'kwargs': {}, 'version': 1})
        >>> _ = store.promises.resolve("g:1", "hello, ada")
        >>> worker.run_until_idle().runs[-1].result
        'hello, ada'
    """
    return remote_call(awaited_scope_of("rpc", "call it by an SDK"), function, args, kwargs, target, timeout, type, version)


def remote_call(
    scope: Scope,
    function: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    target: str,
    timeout: Duration | None,
    type: Any,
    version: int,
) -> Call[Any]:
    """Return the call of `rpc`."""
    address = target if "://" in text("target", target) else f"poll://any@{target}"
    if not text("function", function) or not target:
        raise Invalid(f"function and target must not be empty, got {function!r} and {target!r}")
    name = f"rpc {function}"
    param = payload_encoded({"func": function, "args": list(args), "kwargs": dict(kwargs), "version": whole("version", version, 1)})
    step: dict[str, Any] = {"tags": {NAME_TAG: name, "resonate:target": address}, "param": param}
    if timeout is not None:
        step["timeout_in"] = milliseconds("timeout", timeout)
    return StoredCall(scope, name, any_reader(type, f"result of {function}"), step, raises=True)


@overload
def result(id: str, *, type: builtins.type[T]) -> Call[T]: ...


@overload
def result(id: str, *, type: UnionType | None = None) -> Call[Any]: ...


def result(id: str, *, type: Any = None) -> Call[Any]:
    """Wait for the outcome of any promise or job, and record a copy of it.

    Args:
        id: Of the promise or job.
        type: What its value is converted to, as an annotation would.

    Raises:
        Invalid: It is the workflow itself.
        StepFailed: When awaited: it has failed, was cancelled, or does not exist (code NotFound).
        RuntimeError: No workflow runs here.

    Example:
        >>> from resonate_core.workflow import result
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("report", timeout=1000)
        >>> worker = rc.worker.Worker(store)
        >>> @worker.workflow("publish")
        ... async def publish() -> str:
        ...     return await result("report", type=str)
        >>> _ = publish.delay()
        >>> _ = store.promises.resolve("report", "done")
        >>> worker.run_until_idle().runs[-1].result
        'done'
    """
    scope = awaited_scope_of("result", "use store.result")
    return ResultCall(scope, text("id", id), any_reader(type, f"result of {id}"))
