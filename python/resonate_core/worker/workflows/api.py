"""The calls of an `async def` workflow."""

from __future__ import annotations

import asyncio
import builtins
import datetime
import inspect
import random as random_numbers
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from types import UnionType
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, cast, overload

from ..._core import Jobs
from ...calls.made import call
from ...calls.values import Duration, instant_ms, milliseconds
from ...errors import Invalid
from ..encoding import payload_encoded
from ..option_values import text, whole
from .branches import Branches
from .calls import Call, Recorded, ResultCall, StoredCall, any_reader
from .failures import StartedOver
from .records import NAME_TAG
from .scope import Scope, scope_here
from .steps import StepCall, plain_step

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
    "start_over",
    "uuid4",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
D = TypeVar("D")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
_UNSET: Any = object()
_UTC = datetime.timezone.utc


class Plain(Generic[T]):
    """Awaits a plain value, where a call is no call of a workflow."""

    __slots__ = ("_made",)

    def __init__(self, made: Callable[[], Any]) -> None:
        self._made = made

    def __await__(self) -> Generator[Any, Any, T]:
        made = self._made()
        if inspect.isawaitable(made):
            value: T = yield from made.__await__()
            return value
        return cast("T", made)


def scope_of(called: str, instead: str) -> Scope:
    """Return the scope of a call that only workflows have.

    Raises:
        RuntimeError: No workflow runs here.
    """
    scope = scope_here(called)
    if scope is None:
        raise RuntimeError(
            f"{called}() is a call of a workflow that a worker runs, and none runs here (a step is no part of it); {instead}"
        )
    return scope


def drawn(called: str, draw: Callable[[], Any], stored: Callable[[Any], Any], read: Callable[[Any], T]) -> Any:
    """Return the call of a value that is recorded; where no workflow runs, the value itself."""
    scope = scope_here(called)
    if scope is None:
        return Plain(draw)
    return Recorded(scope, called, lambda: stored(draw()), read)


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
    scope = scope_here(f"run({made.name})")
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

    The first failure is recorded and raised. The others are then cancelled: what they wait for (messages, promises, timers, child
    jobs), and their code by a CancelledError. Branches share no state that changes: their order is not replayed.

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
    scope = scope_here("gather")
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
        ...     return answer if index == 0 else "nobody answered"
        >>> _ = approve.delay()
        >>> worker.run_until_idle(advance=True).runs[-1].result
        'nobody answered'
    """
    if not awaitables:
        raise Invalid("first takes at least one awaitable, got none")
    scope = scope_here("first")
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
    scope = scope_of("sleep", "use asyncio.sleep or time.sleep")
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
    scope = scope_of("sleep_until", "use asyncio.sleep or time.sleep")
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
        default: What it returns if none has come in this time.

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
    scope = scope_of("receive", "a step or a handler has no messages")
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
    scope = scope_of("promise", "use store.promises.create")
    return promised(scope, type, timeout, tags)


def promised(scope: Scope, type: Any, timeout: Duration | None, tags: Mapping[str, str] | None) -> Call[Any]:
    """Return the call of `promise`, which has begun."""
    step: dict[str, Any] = {"tags": {**(tags or {}), NAME_TAG: "promise"}}
    if timeout is not None:
        step["timeout_in"] = milliseconds("timeout", timeout)
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
    return remote_call(scope_of("rpc", "call it by an SDK"), function, args, kwargs, target, timeout, type, version)


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
    scope = scope_of("result", "use store.result")
    return ResultCall(scope, text("id", id), any_reader(type, f"result of {id}"))


def now() -> Call[datetime.datetime]:
    """Return the present instant of the store, in UTC, recorded.

    Example:
        >>> from resonate_core.workflow import now
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("when")
        ... async def when() -> str:
        ...     return (await now()).isoformat()
        >>> _ = when.delay()
        >>> worker.run_until_idle().runs[0].result
        '1970-01-01T00:00:00+00:00'
    """
    return cast("Call[datetime.datetime]", drawn("now", clock_of(), _as_ms, instant_of))


def clock_of() -> Callable[[], datetime.datetime]:
    """Return what reads the clock: of the store in a workflow, otherwise of the machine."""
    scope = scope_here("now")
    if scope is None:
        return lambda: datetime.datetime.now(_UTC)
    return lambda: instant_of(scope.run.now())


def _as_ms(instant: datetime.datetime) -> int:
    return round(instant.timestamp() * 1000)


def instant_of(ms: int) -> datetime.datetime:
    """Return a datetime in UTC."""
    return datetime.datetime(1970, 1, 1, tzinfo=_UTC) + datetime.timedelta(milliseconds=ms)


def uuid4() -> Call[uuid.UUID]:
    """Return a random UUID, recorded: a key for an effect that must not happen twice, since a step that was interrupted runs again.

    Example:
        >>> from resonate_core.workflow import uuid4
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("pay")
        ... async def pay() -> int:
        ...     return (await uuid4()).version
        >>> _ = pay.delay()
        >>> worker.run_until_idle().runs[0].result
        4
    """
    return cast("Call[uuid.UUID]", drawn("uuid4", uuid.uuid4, str, uuid.UUID))


def random() -> Call[float]:
    """Return a random number from 0 up to 1, recorded.

    Example:
        >>> from resonate_core.workflow import random
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("draw")
        ... async def draw() -> bool:
        ...     return 0 <= await random() < 1
        >>> _ = draw.delay()
        >>> worker.run_until_idle().runs[0].result
        True
    """
    return cast("Call[float]", drawn("random", random_numbers.random, float, float))


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
