"""The waits of a run in an event loop: while nothing works, the job is suspended."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import MutableSet, Sequence
from typing import Any, TypeVar

from ..._core import Promise
from ...errors import Conflict, NotFound, ResonateError, Unprocessable
from ..context import JobContext
from .asking import AskingRun
from .calls import Call
from .failures import Dropped, Parked, RunEnded
from .foreign import log_failure, waits_only_for
from .operations import Refused, Wait
from .records import is_pending
from .requests import NotHeld
from .support import WorkflowSupport

__all__ = ["WaitingRun"]

_log = logging.getLogger("resonate_core.workflow")
_T = TypeVar("_T")

#: Seconds between two looks at the promises that a branch waits for while another one works, and at whether it still works.
_LOOK, _GLANCE = 0.5, 0.05
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


class WaitingRun(AskingRun):
    """The part of a run in an event loop that waits.

    Each branch that works, or waits for something foreign, is `busy`. When none is, the job is suspended, and the coroutines stay as
    they are, each at the call that it waits for.

    Args:
        support: Of the worker.
        context: Of the attempt.
        records: The history.
    """

    def __init__(self, support: WorkflowSupport, context: JobContext, records: dict[str, Promise]) -> None:
        super().__init__(support, context, records)
        self.suspended = False
        self._waiters: dict[str, list[_Waiter]] = {}
        self._foreign: dict[Any, Any] = {}  # what branches wait for besides calls
        self._looking: asyncio.TimerHandle | None = None
        self._suspending = False  # whether the store is asked to suspend the job
        self._asked = False  # whether a look is due at what the branches wait for
        self._joints: MutableSet[asyncio.Future[None]] = weakref.WeakSet()
        self._joined: dict[Call[Any], list[asyncio.Future[None]]] = {}  # by the calls that are performed

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
        """Let the branches continue that wait for a call."""
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
        """Suspend the job until one of the awaited promises is settled. If one is already, the branches that wait for it continue.

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
        """Keep a promise, and let the branches that wait for it continue, if it is settled."""
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
        """Read promises, and let the branches that wait for settled ones continue."""
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
