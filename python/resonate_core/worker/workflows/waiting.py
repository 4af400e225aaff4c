"""The requests of a run in an event loop, and its waits: while nothing works, the job is suspended."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Iterable, MutableSet, Sequence
from typing import Any, NoReturn, TypeVar

from ..._core import Promise
from ...base.stopwatch import doubled
from ...calls.call import Call as Request
from ...errors import Conflict, NotFound, ResonateError, StoreError, Unprocessable
from ..context import JobContext
from .calls import Call, ChildCall
from .failures import Dropped, Parked, RunEnded
from .foreign import log_failure, seen, waits_only_for
from .operations import Refused, Wait
from .records import Step, is_pending
from .requests import NotHeld, Outbox, Sent, read_history, was_cancelled
from .scope import Run
from .support import WorkflowSupport

__all__ = ["WaitingRun"]

_log = logging.getLogger("resonate_core.workflow")
_T = TypeVar("_T")

#: Seconds between two looks at the promises that a branch waits for while another one works, and at whether it still works; of a store
#: that fails: the first and the longest pause.
_LOOK, _GLANCE, _FIRST_RETRY, _LONGEST_RETRY = 0.5, 0.05, 0.1, 5.0
#: The most ids that one suspension names.
_MOST_AWAITED = 10_000


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


class WaitingRun(Run):
    """The part of a run in an event loop that asks the store and waits.

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
        self._leading: asyncio.Task[list[Any]] | None = None  # the last requests that lead
        self._looking: asyncio.TimerHandle | None = None
        self._main: asyncio.Task[Any] | None = None
        self._suspending = False  # whether the store is asked to suspend the job
        self._asked = False  # whether a look is due at what the branches wait for
        self._to_end: MutableSet[asyncio.Task[Any]] = weakref.WeakSet()
        self._joints: MutableSet[asyncio.Future[None]] = weakref.WeakSet()
        self._joined: dict[Call[Any], list[asyncio.Future[None]]] = {}  # by the calls that are performed

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
        await self._behind_leading()

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
        answers = await self._in_order(sent)
        try:
            return sent.answered(self, answers)
        except NotHeld:
            await self._lost()

    async def _in_order(self, sent: Sent) -> list[Any]:
        """Send requests after those that lead. The cancellation of a branch does not end what others may wait for."""
        if not self.client.blocking:
            return await self._sent(sent.requests)
        if not sent.leads:
            await self._behind_leading()
            return await self._sent(sent.requests)
        leading = self._leading = self.loop.create_task(self._sent_after(self._leading, sent.requests))
        leading.add_done_callback(seen)
        return await asyncio.shield(leading)

    async def _sent_after(self, before: asyncio.Task[Any] | None, requests: Sequence[Request[Any]]) -> list[Any]:
        if before is not None:
            await asyncio.wait({before})
        return await self._sent(requests)

    @property
    def _is_led(self) -> bool:
        """Whether requests that lead have no answer yet."""
        return self._leading is not None and not self._leading.done()

    async def _behind_leading(self) -> None:
        while (leading := self._leading) is not None and not leading.done():
            await asyncio.wait({leading})

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

    async def _join(self, call: Call[Any]) -> None:
        """Wait until another branch has performed a call. If nothing else works, the job is suspended."""
        future = self.joint()
        self._joined[call].append(future)
        self.busy -= 1
        try:
            if self.busy == 0:
                await self._suspend(None)
            else:
                self._suspend_soon()
            await future
        except BaseException:
            if not future.done() or future.cancelled() or future.exception() is not None:
                self.busy += 1
            raise
        if self.fatal is not None:
            raise self.fatal

    def _performed_for_others(self, call: Call[Any]) -> None:
        """Let the branches go on that wait for a call."""
        for future in self._joined.pop(call, ()):
            if not future.done():
                future.set_result(None)
                self.busy += 1

    async def _make(self, wait: Wait) -> None:
        """Have the promise made, while other branches work."""
        if not self.outbox and wait.request is None:  # it is there, or under way
            await self._behind_leading()
            return
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
        self._suspending = True
        try:
            await self._suspend_while_quiet(wait)
        finally:
            self._suspending = False

    async def _suspend_while_quiet(self, wait: Wait | None) -> None:
        while self._waiters and self.busy == 0:
            ids = list(self._waiters)[:_MOST_AWAITED]
            sent = self.outbox.take((), None if wait is None else wait.request)
            self.outbox.suspend(sent, ids, self.context.progress)
            answers = await self._in_order(sent)
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
            if isinstance(suspension, ResonateError):
                if not isinstance(suspension, Unprocessable):  # of these ids one does not exist
                    raise suspension
            elif suspension.state != "running":
                self._park()
            if self.outbox:
                continue
            await self._look(ids)
            if self.busy == 0 and self._waiters:
                await asyncio.sleep(0.01)

    def joint(self) -> asyncio.Future[None]:
        """Return a future at which code waits for other code of the run, and for nothing else."""
        made: asyncio.Future[None] = self.loop.create_future()
        self._joints.add(made)
        return made

    async def quiet(self) -> None:
        """Suspend the job, if no branch works.

        Raises:
            Parked: The job waits.
        """
        if self.busy == 0 and self._sender is None:
            await self._suspend(None)
        else:
            self._suspend_soon()

    def _park(self) -> None:
        self.suspended = True
        for waiters in list(self._waiters.values()):
            for waiter in waiters:
                if not waiter.future.done():
                    waiter.future.set_exception(Parked())
                    waiter.future.exception()  # seen: one of them raises it itself
        for joined in self._joined.values():
            for future in joined:
                if not future.done():
                    future.set_exception(Parked())
                    future.exception()
        raise Parked

    def _found(self, promise: Promise) -> None:
        """Keep a promise, and let the branches that wait for it go on, if it is settled."""
        if is_pending(promise) or promise.id.startswith(f"{self.job.id}:"):
            self.keep(promise)
        else:
            self.begun.pop(promise.id, None)
        if not is_pending(promise):
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
        ids = [id for id in self.begun if id in self.records]
        if ids:
            self.note(await self._read(ids))

    def _look_later(self) -> None:
        """Look again and again at what a branch waits for while another one works."""
        if self._looking is None and self.support.live and self._waiters:
            self._looking = self.loop.call_later(_LOOK, self._begin_look)

    def _begin_look(self) -> None:
        self._looking = None
        if self._waiters and self.busy and not self.suspended and self.fatal is None:
            task = self.loop.create_task(self._look_again())
            task.add_done_callback(log_failure)

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
        if self._waiters and self.busy == len(self._foreign) and not self._asked:
            self._asked = True
            # The second turn of the loop is after that of an `asyncio.gather`, one of whose tasks has ended.
            self.loop.call_soon(self.loop.call_soon, self._suspend_if_quiet)

    def _suspend_if_quiet(self) -> None:
        self._asked = False
        if not (self._waiters and self.busy == len(self._foreign)) or self._suspending or self.suspended or self.fatal is not None:
            return
        futures: set[Any] = {waiter.future for waiters in self._waiters.values() for waiter in waiters}
        futures.update(self._joints)
        if not all(waits_only_for(each, futures) for each in self._foreign.values()):
            self._asked = True
            self.loop.call_later(_GLANCE, self._suspend_if_quiet)
            return
        task = self.loop.create_task(self._suspend_whole())
        task.add_done_callback(log_failure)

    async def _suspend_whole(self) -> None:
        """Suspend the job. Code that waits in tasks of its own is dropped, and replayed later."""
        busy, self.busy = self.busy, 0
        try:
            await self._suspend(None)
        except Parked:  # each branch that waits has got it
            if busy:
                self.end(Dropped())
                assert self._main is not None
                self._main.cancel()
        except RunEnded:
            assert self._main is not None
            self._main.cancel()
        finally:
            self.busy += busy
