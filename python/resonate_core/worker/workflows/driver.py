"""Runs the code of an `async def` workflow: continues it when a call has an outcome, and lets go of it when all of it waits."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import weakref
from collections.abc import Awaitable, Generator, MutableSet
from threading import get_ident
from typing import Any

from ..._core import Promise
from ...errors import StoreError
from ..context import JobContext, current
from .branches import Branches
from .calls import Call
from .failures import Dropped, Parked, RunEnded, StepTimeout
from .foreign import Foreign, InContext, log_failure
from .operations import Invoke, Operation, Pause, Record, Wait
from .records import is_pending
from .scope import Scope, current_scope, inside, place_outside
from .support import WorkflowSupport
from .waiting import WaitingRun

__all__ = ["AsyncRun"]

_log = logging.getLogger("resonate_core.workflow")
_NOTHING: Any = object()
#: The folder of asyncio, whose coroutines are no place in a program.
_ASYNCIO = asyncio.__file__.rpartition("__init__")[0]


class AsyncRun(WaitingRun):
    """A run of an `async def` workflow.

    Each branch that works, or waits for something foreign, is `busy`. When none is, the job is suspended, and the coroutines stay as
    they are, each at the call that it waits for.

    Args:
        support: Of the worker.
        context: Of the attempt.
        records: The history.
    """

    def __init__(self, support: WorkflowSupport, context: JobContext, records: dict[str, Promise]) -> None:
        super().__init__(support, context, records)
        self.main: Scope | None = None
        self.scopes: dict[str, Scope] = {}
        self.unwanted: MutableSet[asyncio.Future[None]] = weakref.WeakSet()

    # -- code ----------------------------------------------------------------------------------------------------------------------

    def resume(self, context: JobContext) -> None:
        """Continue in another attempt, with the parked coroutines."""
        self.context, self.job, self.version = context, context.job, context.job.version
        self.loop, self.suspended, self.busy = asyncio.get_running_loop(), False, 0
        self._waiters, self._foreign, self._joined, self.thread = {}, {}, {}, get_ident()
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
                value = await Foreign(yielded)
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
            if not coroutine.cr_code.co_filename.startswith(_ASYNCIO):
                frame = coroutine.cr_frame
            coroutine = coroutine.cr_await
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
        if record is not None and not is_pending(record) and call.by_record:
            call.settle(record)
            return call.outcome()
        if call in self._joined:
            await self._join(call)
            return await self.perform(call)
        self._joined[call] = []
        try:
            if isinstance(call, Branches):
                return await self._settled_by(call, call.combine(self) if record is None else call.again(self, record))
            return await self._settled_by(call, self._performed(call))
        finally:
            self._performed_for_others(call)

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
        if self.outbox.is_urgent or self._sender is not None or self._is_led:
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
                made = InContext(made, context)
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
            finally:
                if isinstance(made, InContext):
                    made.close()  # its task may have been cancelled before it began
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

    # -- drop ----------------------------------------------------------------------------------------------------------------------

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
                    task.add_done_callback(log_failure)
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
                value = await Foreign(yielded)
            except BaseException as raised:
                error = raised
            if error is not None:
                yielded = self._thrown(scope, error)
                continue
            try:
                yielded = scope.context.run(scope.coroutine.send, value)
            except (StopIteration, RunEnded):
                return
