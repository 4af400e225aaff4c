"""Runs the code of an `async def` workflow: goes on with it when a call has an outcome, and lets go of it when all of it waits."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import weakref
from collections.abc import Awaitable, Callable, Generator, Iterable, MutableSet, Sequence
from threading import get_ident
from typing import Any, NoReturn, TypeVar

from ..._core import Promise
from ...base.stopwatch import doubled
from ...calls.call import Call as Request
from ...errors import Conflict, NotFound, ResonateError, StoreError
from ..context import JobContext, current
from .branches import Branches
from .calls import Call, ChildCall
from .failures import Dropped, Parked, RunEnded, StepTimeout
from .operations import Invoke, Operation, Pause, Record, Refused, Wait
from .records import Step, is_pending
from .requests import NotHeld, Outbox, Sent, read_history, was_cancelled
from .scope import Run, Scope, current_scope, inside, place_outside
from .support import WorkflowSupport

__all__ = ["AsyncRun"]

_log = logging.getLogger("resonate_core.workflow")
_T = TypeVar("_T")
_NOTHING: Any = object()

#: Seconds between two looks at the promises that a branch waits for while another one works, and of a store that fails: the first
#: and the longest pause.
_LOOK, _FIRST_RETRY, _LONGEST_RETRY = 0.5, 0.1, 5.0
#: The most ids that one suspension names.
_MOST_AWAITED = 10_000


class _Foreign:
    """Awaits, for the code of a workflow, what it awaits besides calls."""

    __slots__ = ("_yielded",)

    def __init__(self, yielded: Any) -> None:
        self._yielded = yielded

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self._yielded)


class _Waiter:
    """A branch that waits for a promise.

    Attributes:
        future: Gets the promise.
        made: Whether the promise was made, if it is of this run.
    """

    __slots__ = ("future", "made")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[Promise | None] = loop.create_future()
        self.made = False


class AsyncRun(Run):
    """A run of an `async def` workflow.

    Each branch that works, or waits for something foreign, is `busy`. When none is, the job is suspended, and the coroutines stay as
    they are, each at the call that it waits for.

    Args:
        support: Of the worker.
        context: Of the attempt.
        records: The history.
    """

    def __init__(self, support: WorkflowSupport, context: JobContext, records: dict[str, Promise]) -> None:
        super().__init__(context, records)
        self.support = support
        self.client = support.client
        self.manual = support.client.manual
        self.loop = asyncio.get_running_loop()
        self.outbox = Outbox(self)
        self.unsent = self.outbox
        self.busy = 0
        self.suspended = False
        self._waiters: dict[str, list[_Waiter]] = {}
        self._foreign: dict[Any, Any] = {}  # what branches wait for besides calls
        self._sender: asyncio.Task[None] | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._main: asyncio.Task[Any] | None = None
        self.main: Scope | None = None
        self.scopes: dict[str, Scope] = {}
        self.unwanted: MutableSet[asyncio.Future[None]] = weakref.WeakSet()
        self._to_end: MutableSet[asyncio.Task[Any]] = weakref.WeakSet()

    # -- code ----------------------------------------------------------------------------------------------------------------------

    def resume(self, context: JobContext) -> None:
        """Go on in another attempt, with what is parked."""
        self.context, self.job, self.version = context, context.job, context.job.version
        self.loop, self.suspended, self.busy = asyncio.get_running_loop(), False, 0
        self._waiters, self._foreign, self.thread = {}, {}, get_ident()
        for scope in self.scopes.values():
            scope.context.run(current.set, context)
            if context.trace is not None:
                scope.context.run(context.trace.enter)

    async def run(self, scope: Scope) -> Any:
        """Run the code of the workflow to its end, or until it waits.

        Raises:
            Parked: The job waits.
            RunEnded: The run is over.
        """
        self.main, self._main = scope, asyncio.current_task()
        self.busy = 1
        try:
            try:
                result = await self.drive(scope)
            except Exception as error:
                scope.finish(error)
                raise
            if self.fatal is not None:
                raise self.fatal
            scope.finish()
            await self.send_all()
            return result
        finally:
            if self._looking is not None:
                self._looking.cancel()
                self._looking = None
            for task in self._to_end:
                task.cancel()

    async def drive(self, scope: Scope) -> Any:
        """Run the code of a scope to its end."""
        self.scopes[scope.id] = scope
        coroutine, in_context = scope.coroutine, scope.context.run
        send, throw = coroutine.send, coroutine.throw
        value: Any = None
        error: BaseException | None = None
        call, scope.waits = scope.waits, None
        while True:
            if call is not None:
                value = error = None
                try:
                    value = await self.perform(call)
                except Parked:
                    scope.waits = call
                    raise
                except BaseException as raised:
                    error = self._unwinding(raised)
            self.stepping = scope
            try:
                yielded = in_context(send, value) if error is None else in_context(throw, error)
            except StopIteration as ended:
                del self.scopes[scope.id]
                return ended.value
            except BaseException:
                self.scopes.pop(scope.id, None)
                raise
            finally:
                self.stepping = None
            if isinstance(yielded, Call):
                call = yielded
                continue
            call, value, error = None, None, None
            self._foreign[scope] = yielded
            try:
                value = await _Foreign(yielded)
            except BaseException as raised:
                error = self._unwinding(raised)
            finally:
                del self._foreign[scope]

    def is_called_off(self) -> bool:
        """As of `Run`: the asyncio task that runs here was cancelled, and not one inside of the step."""
        task = asyncio.current_task()
        cancelling = getattr(task, "cancelling", None)  # from Python 3.11 on
        unwanted = task in self.unwanted if cancelling is None else cancelling() > 0
        return unwanted or self.fatal is not None or self.context.reason is not None

    def place_of(self, id: str) -> str:
        """As of `Run`; the code of a scope that waits is not on the stack."""
        scope = self.scopes.get(id.rpartition(":")[0])
        coroutine: Any = None if scope is None or self.stepping is scope else scope.coroutine
        frame: Any = None
        while getattr(coroutine, "cr_frame", None) is not None:
            frame, coroutine = coroutine.cr_frame, coroutine.cr_await
        return place_outside() if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def _unwinding(self, error: BaseException) -> BaseException:
        """Return what the code gets for an exception: a cancelled attempt is a CancelledError, one that is lost or stopped a `Dropped`."""
        if self.fatal is not None:
            return self.fatal
        if isinstance(error, asyncio.CancelledError):
            reason = self.context.reason
            if reason in ("cancelled", "timeout"):
                self.over = "cancelled"
            elif reason is not None:
                return self.end(Dropped())
        return error

    def awaiting(self, call: Call[Any]) -> Generator[Any, Any, Any]:
        """Await a call, in the code of the workflow or in a task that it has made."""
        if self.stepping is not None and self.thread == get_ident():
            return (yield call)
        return (yield from self._elsewhere(call).__await__())

    async def _elsewhere(self, call: Call[Any]) -> Any:
        """Await a call in a task of the program, such as one of `asyncio.gather`."""
        self.busy += 1
        try:
            return await self.perform(call)
        except Parked:
            raise self.fatal or Dropped() from None
        finally:
            self.busy -= 1
            self._suspend_soon()

    async def perform(self, call: Call[Any]) -> Any:
        """Perform a call, and set its outcome."""
        if call.is_done:
            return call.outcome()
        record = self.records.get(call.id)
        if isinstance(call, Branches):
            return await self._settled_by(call, call.combine(self) if record is None else call.again(self, record))
        if record is not None and not is_pending(record):
            call.settle(record)
            return call.outcome()
        return await self._settled_by(call, self._performed(call))

    async def _settled_by(self, call: Call[Any], performance: Awaitable[Any]) -> Any:
        try:
            return call.set_value(await performance)
        except Exception as error:
            if not isinstance(error, (StoreError, OSError)) or self.fatal is None:
                call.set_error(error)
            raise

    async def _performed(self, call: Call[Any]) -> Any:
        operations = call.perform()
        try:
            operation = operations.send(None)
            while True:
                try:
                    answer = await self._do(operation)
                except (Exception, asyncio.CancelledError) as error:
                    operation = operations.throw(error)
                else:
                    operation = operations.send(answer)
        except StopIteration as ended:
            return ended.value
        finally:
            operations.close()

    async def _do(self, operation: Operation) -> Any:
        if isinstance(operation, Record):
            return await self.record(operation.steps)
        if isinstance(operation, Invoke):
            return await self._invoke(operation)
        if isinstance(operation, Wait):
            return await self._wait(operation)
        assert isinstance(operation, Pause)
        return await asyncio.sleep(operation.delay / 1000)

    # -- steps ---------------------------------------------------------------------------------------------------------------------

    async def _invoke(self, step: Invoke) -> Any:
        """Call the function of a step: an asynchronous one here, any other in a thread."""
        if self.outbox.is_urgent or self._sender is not None:
            await self.send_all()
        support = self.support
        await support.slot.acquire()
        span = None
        try:
            span = support.under_way.begin(self.context, step)
            scope: Scope = step.scope
            made: Any
            if step.is_async or support.threads is None:
                context = scope.context.copy()
                context.run(current_scope.set, None)
                if span is not None:
                    context.run(span.enter)
                made = context.run(step.function, *step.args, **step.kwargs)
                if not step.is_async and not inspect.isawaitable(made):
                    return made
                made = _InContext(made, context)
            else:
                function = functools.partial(step.function, *step.args, **step.kwargs)
                made = self.loop.run_in_executor(support.threads, functools.partial(inside, scope, function, span))
            if step.timeout is None or self.manual:
                return await self._after(await made)
            under_way = asyncio.ensure_future(made)
            try:
                return await self._after(await asyncio.wait_for(under_way, step.timeout / 1000))
            except asyncio.TimeoutError as error:
                if under_way.done() and not under_way.cancelled():  # the function has raised it
                    raise
                raise StepTimeout(step.name, step.timeout) from error
        except BaseException as error:
            if span is not None:
                span.failed(error)
            raise
        finally:
            if span is not None:
                span.end()
            support.under_way.end(step)
            support.slot.release()

    async def _after(self, made: Any) -> Any:
        """Return what a function has returned; await what a wrapper of an asynchronous one has."""
        return made if made is None or not inspect.isawaitable(made) else await made

    # -- requests ------------------------------------------------------------------------------------------------------------------

    async def record(self, steps: Sequence[Step]) -> list[Promise]:
        """Record steps, after what was to be sent before; return their promises."""
        if self.fatal is not None:
            raise self.fatal
        if not self.client.blocking and not self.outbox:  # no request is made, which is faster
            try:
                found = list(self.client.record(self.job.id, self.version, steps))
            except (Conflict, NotFound):
                await self._lost()
            except (StoreError, OSError) as error:
                _log.debug("workflow %s: %s; the steps are sent again", self.job.id, error)
            else:
                self.note(found)
                return found
        recorded, _ = await self._send(self.outbox.take(steps))
        return recorded[len(recorded) - len(steps) :]

    async def send_all(self) -> None:
        """Send what is to be sent."""
        if self._sender is not None:
            await self._sender
        while self.outbox:
            await self._send(self.outbox.take())

    def soon(self, steps: Iterable[Step]) -> None:
        """Send steps without a wait for them."""
        self.outbox.extend(steps)
        self._send_soon()

    def soon_request(self, child: ChildCall[Any]) -> None:
        """Enqueue a child job without a wait for it."""
        self.outbox.enqueue(child)
        self._send_soon()

    def _send_soon(self) -> None:
        if self._sender is None:
            self.busy += 1
            self._sender = self.loop.create_task(self._sending())

    async def _sending(self) -> None:
        try:
            while self.outbox:
                await self._send(self.outbox.take())
        except RunEnded:
            if self._main is not None:
                self._main.cancel()
        finally:
            self._sender = None
            self.busy -= 1
            self._suspend_soon()

    async def _send(self, sent: Sent) -> tuple[list[Promise], Any]:
        answers = await self._sent(sent.requests)
        try:
            return sent.answered(self, answers)
        except NotHeld:
            await self._lost()

    async def _lost(self) -> NoReturn:
        """End the run, since its job does not run here any more. If it was cancelled, the code gets a CancelledError and cleans up.

        Raises:
            Dropped: The job was not cancelled.
        """
        if self.fatal is None and self.context.reason is None:
            cancelled = await self._apart(lambda: was_cancelled(self.client, self.job))
            if cancelled and self.fatal is None and self.context.reason is None:
                self.context.cancel("cancelled")
                self._cancel_main()
        if self.over is None and self.context.reason == "cancelled" and self.fatal is None:  # all tasks are cancelled, each once
            task = asyncio.current_task()
            if task is not None and task is not self._main:
                self._to_end.add(task)
            await self.loop.create_future()
        raise self.end(Dropped())

    def _cancel_main(self) -> None:
        assert self._main is not None
        self._main.cancel()

    async def requested(self, requests: Sequence[Request[Any]]) -> list[Any]:
        """Send requests, after what was to be sent before; return their answers, of which some may be refusals."""
        await self.send_all()
        return await self._sent(requests)

    async def _sent(self, requests: Sequence[Request[Any]]) -> list[Any]:
        return await self._answered(lambda: self.client.send_async(requests))

    async def _answered(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Ask the store, again and again while it fails: what was recorded is answered as it is. A drain drops the run instead.

        Raises:
            RunEnded: The run is over.
        """
        failed = 0
        while True:
            if self.fatal is not None:
                raise self.fatal
            try:
                return await ask()
            except (StoreError, OSError) as error:
                if not self.support.live:
                    _log.error("workflow %s: %r: %s; its lease will expire", self.job.id, self.client, error)
                    raise self.end(Dropped()) from error
                pause = doubled(_FIRST_RETRY, failed, _LONGEST_RETRY)
                failed += 1
                _log.error("workflow %s: %r: %s; again in %.1f s", self.job.id, self.client, error, pause)
                await asyncio.sleep(pause)

    async def history(self) -> dict[str, Promise]:
        """Read what is recorded of the job.

        Raises:
            RunEnded: The run is over.
        """
        return await self._answered(lambda: self._apart(lambda: read_history(self.client, self.job.id)))

    async def _apart(self, ask: Callable[[], _T]) -> _T:
        return await self.client.apart(ask) if self.client.blocking else ask()

    # -- waiting -------------------------------------------------------------------------------------------------------------------

    async def _wait(self, wait: Wait) -> Promise:
        """Wait for a promise. If nothing else works, the job is suspended."""
        record = self.records.get(wait.id)
        if record is not None and not is_pending(record):
            return record
        waiter = _Waiter(self.loop)
        self._waiters.setdefault(wait.id, []).append(waiter)
        try:
            if self.busy > 1 or self._sender is not None:
                await self._make(wait)
                waiter.made = True
            self.busy -= 1
            try:
                if self.busy == 0:
                    await self._suspend(wait)
                else:
                    self._look_later()
                    self._suspend_soon()
                found = await waiter.future
            except BaseException:
                if not waiter.future.done() or waiter.future.cancelled() or waiter.future.exception() is not None:
                    self.busy += 1
                raise
            if found is None:
                raise Refused(NotFound(f'promise "{wait.id}" does not exist'))
            return found
        finally:
            waiters = self._waiters.get(wait.id, [])
            if waiter in waiters:
                waiters.remove(waiter)
                if not waiters:
                    del self._waiters[wait.id]

    async def _make(self, wait: Wait) -> None:
        """Have the promise made, while other branches work."""
        _, answer = await self._send(self.outbox.take((), wait.request))
        if wait.request is not None:
            self._take_made(wait, answer)

    def _take_made(self, wait: Wait, answer: Any) -> None:
        """Take the answer of the request that makes a promise."""
        if isinstance(answer, ResonateError):
            raise Refused(answer)
        if isinstance(answer, Promise):
            self._found(answer)

    async def _suspend(self, wait: Wait | None) -> None:
        """Suspend the job until one of the awaited promises is settled. If one is already, the branches that wait for it go on.

        Raises:
            Parked: The job waits.
        """
        while self._waiters and self.busy == 0:
            ids = list(self._waiters)[:_MOST_AWAITED]
            sent = self.outbox.take((), None if wait is None else wait.request)
            self.outbox.suspend(sent, ids, self.context.progress)
            answers = await self._sent(sent.requests)
            try:
                _, answer = sent.answered(self, answers[:-1])
            except NotHeld:
                await self._lost()
            if wait is not None and wait.request is not None:
                self._take_made(wait, answer)
                wait = None
            suspension = answers[-1]
            if isinstance(suspension, (Conflict, NotFound)):
                await self._lost()
            if not isinstance(suspension, ResonateError) and suspension.state != "running":
                self._park()
            if self.outbox:
                continue
            await self._look(ids)
            if self.busy == 0 and self._waiters:
                await asyncio.sleep(0.01)

    async def quiet(self) -> None:
        """Suspend the job, if no branch works.

        Raises:
            Parked: The job waits.
        """
        if self.busy == 0 and self._sender is None:
            await self._suspend(None)

    def drop(self) -> None:
        """Unwind what is parked. What its cleanup awaits is awaited in a task; calls raise, and its outcome is ignored."""
        error = self.end(Dropped())
        for scope in reversed(list(self.scopes.values())):
            yielded = self._thrown(scope, error)
            if yielded is not _NOTHING:
                try:
                    loop = asyncio.get_running_loop()
                except RuntimeError:
                    scope.coroutine.close()
                else:
                    task = loop.create_task(self._clean_up(scope, yielded))
                    self.support.cleanups.add(task)
                    task.add_done_callback(self.support.cleanups.discard)
                    task.add_done_callback(_log_failure)
        self.scopes.clear()

    def _thrown(self, scope: Scope, error: BaseException) -> Any:
        try:
            return scope.context.run(scope.coroutine.throw, error)
        except (StopIteration, RunEnded):
            return _NOTHING
        except BaseException as raised:
            _log.debug("workflow %s raised while it was dropped", self.job.id, exc_info=raised)
            return _NOTHING

    async def _clean_up(self, scope: Scope, yielded: Any) -> None:
        while yielded is not _NOTHING:
            value: Any = None
            error: BaseException | None = None
            try:
                value = await _Foreign(yielded)
            except BaseException as raised:
                error = raised
            if error is not None:
                yielded = self._thrown(scope, error)
                continue
            try:
                yielded = scope.context.run(scope.coroutine.send, value)
            except (StopIteration, RunEnded):
                return

    def _park(self) -> None:
        self.suspended = True
        for waiters in list(self._waiters.values()):
            for waiter in waiters:
                if not waiter.future.done():
                    waiter.future.set_exception(Parked())
                    waiter.future.exception()  # seen: one of them raises it itself
        raise Parked

    def _found(self, promise: Promise) -> None:
        """Keep a promise, and let the branches that wait for it go on, if it is settled."""
        if is_pending(promise):
            self.records[promise.id] = promise
            return
        self.begun.discard(promise.id)
        if promise.id.startswith(f"{self.job.id}:"):
            self.records[promise.id] = promise
        self._answer(promise.id, promise)

    def _answer(self, id: str, found: Promise | None) -> None:
        for waiter in self._waiters.pop(id, ()):
            if not waiter.future.done():
                waiter.future.set_result(found)
                self.busy += 1

    async def _look(self, ids: Sequence[str]) -> None:
        """Read promises, and let the branches that wait for settled ones go on."""
        self._take(ids, await self._read(ids))

    def _take(self, ids: Sequence[str], found: Sequence[Promise | None]) -> None:
        for id, promise in zip(ids, found, strict=True):
            if promise is None:
                self._answer(id, None)
            else:
                self._found(promise)

    async def _read(self, ids: Sequence[str]) -> list[Promise | None]:
        return await self._answered(lambda: self._apart(lambda: self.client.promises(ids)))

    async def refresh(self) -> None:
        """Read what the parked branches wait for, which another process may have settled."""
        ids = [id for id, record in self.records.items() if is_pending(record)]
        if ids:
            for promise in await self._read(ids):
                if promise is not None:
                    self.records[promise.id] = promise

    def _look_later(self) -> None:
        """Look again and again at what a branch waits for while another one works."""
        if self._looking is None and self.support.live and self._waiters:
            self._looking = self.loop.call_later(_LOOK, self._begin_look)

    def _begin_look(self) -> None:
        self._looking = None
        if self._waiters and self.busy and not self.suspended and self.fatal is None:
            task = self.loop.create_task(self._look_again())
            task.add_done_callback(_log_failure)

    async def _look_again(self) -> None:
        try:
            ids = [id for id, waiters in self._waiters.items() if any(waiter.made for waiter in waiters)][:_MOST_AWAITED]
            found = await self._read(ids)
            if self.busy and not self.suspended:  # otherwise a suspension is under way, which looks by itself
                self._take(ids, found)
        except (ResonateError, OSError) as error:
            _log.warning("workflow %s: %s", self.job.id, error)
        self._look_later()

    # -- asyncio's own combinations of calls ---------------------------------------------------------------------------------------

    def _suspend_soon(self) -> None:
        """Suspend the job if all that works waits for calls in turn, such as an `asyncio.gather` over calls."""
        if self._waiters and self.busy == len(self._foreign):
            self.loop.call_soon(self._suspend_if_quiet)

    def _suspend_if_quiet(self) -> None:
        if not (self._waiters and self.busy == len(self._foreign)) or self.suspended or self.fatal is not None:
            return
        if not all(_waits_for_calls(each, self) for each in self._foreign.values()):
            return
        task = self.loop.create_task(self._suspend_whole())
        task.add_done_callback(_log_failure)

    async def _suspend_whole(self) -> None:
        """Suspend the job, whose code waits in tasks of its own: it is dropped, and replayed later."""
        busy, self.busy = self.busy, 0
        try:
            await self._suspend(None)
        except Parked:
            self.end(Dropped())
            assert self._main is not None
            self._main.cancel()
        except RunEnded:
            assert self._main is not None
            self._main.cancel()
        finally:
            self.busy += busy


def _waits_for_calls(awaited: Any, run: AsyncRun) -> bool:
    """Whether a future waits only for calls of a run."""
    if any(awaited is waiter.future for waiters in run._waiters.values() for waiter in waiters):
        return True
    if isinstance(awaited, asyncio.Task):
        inner = getattr(awaited, "_fut_waiter", None)
        return inner is not None and _waits_for_calls(inner, run)
    children = getattr(awaited, "_children", None)  # of `asyncio.gather`
    return isinstance(children, list) and all(each.done() or _waits_for_calls(each, run) for each in children)


def _log_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("a workflow could not look at what it waits for", exc_info=task.exception())


class _InContext:
    """Awaits in context variables of its own.

    Args:
        awaitable: What is awaited.
        context: The variables.
    """

    __slots__ = ("_awaitable", "_context")

    def __init__(self, awaitable: Any, context: Any) -> None:
        self._awaitable = awaitable
        self._context = context

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
