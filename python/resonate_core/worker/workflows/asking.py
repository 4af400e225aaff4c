"""The requests of a run in an event loop: in order, and again while the store fails."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Iterable, MutableSet, Sequence
from typing import Any, NoReturn, TypeVar

from ..._core import Promise
from ...base.stopwatch import doubled
from ...calls.call import Call as Request
from ...errors import Conflict, NotFound, StoreError
from ..context import JobContext
from ..losses import why_lost
from .calls import ChildCall
from .failures import Dropped, RunEnded
from .foreign import seen
from .records import Step
from .requests import NotHeld, Outbox, Sent, read_history
from .scope import Run
from .support import WorkflowSupport

__all__ = ["AskingRun"]

_log = logging.getLogger("resonate_core.workflow")
_T = TypeVar("_T")

#: Seconds between two requests to a store that fails: the first and the longest pause.
_FIRST_RETRY, _LONGEST_RETRY = 0.1, 5.0


class AskingRun(Run):
    """The part of a run in an event loop that asks the store.

    Args:
        support: Of the worker.
        context: Of the attempt.
        records: The history.

    Attributes:
        busy: The number of branches that work, or wait for something foreign; and the requests that nothing waits for.
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
        self._sender: asyncio.Task[None] | None = None
        self._leading: asyncio.Task[list[Any]] | None = None  # the last requests that lead
        self._main: asyncio.Task[Any] | None = None
        self._to_end: MutableSet[asyncio.Task[Any]] = weakref.WeakSet()

    def _suspend_soon(self) -> None:
        """Suspend the job, if nothing works any more."""
        raise NotImplementedError

    async def record(self, steps: Sequence[Step]) -> Sequence[Promise]:
        """Record steps, after what was to be sent before; return their promises."""
        if self.fatal is not None:
            raise self.fatal
        if not self.outbox:  # no call is made, which is faster
            try:
                found = await self._recorded_alone(steps)
            except (Conflict, NotFound):
                await self._lost()
            self.note(found)
            return found
        recorded, _ = await self._send(self.outbox.take(steps))
        return recorded[len(recorded) - len(steps) :]

    async def _recorded_alone(self, steps: Sequence[Step]) -> Sequence[Promise]:
        client, id, version = self.client, self.job.id, self.version
        if not client.blocking:
            try:
                return client.record(id, version, steps)
            except (StoreError, OSError) as error:
                _log.debug("workflow %s: %s; the steps are sent again", id, error)
        else:
            await self._behind_leading()
        return await self._answered(lambda: client.record_async(id, version, steps))

    async def send_all(self) -> None:
        """Send what is to be sent."""
        if self._sender is not None:
            await asyncio.shield(self._sender)  # the cancellation of a branch does not end it
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
        """End the run, since its job does not run here any more.

        If the job was cancelled or its attempt timed out, the code gets a CancelledError and cleans up.

        Raises:
            Dropped: Another worker may have the job.
        """
        if self.fatal is None and self.context.reason is None:
            (reason,) = await self._apart(lambda: why_lost(self.client, [self.context]))
            if reason != "lost" and self.fatal is None and self.context.reason is None:
                self.context.cancel(reason)
                self._cancel_main()
        cleans_up = self.context.reason in ("cancelled", "timeout")
        if cleans_up and self.over is None and self.fatal is None:  # all tasks are cancelled, each once
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
        """Ask the store, again and again while it fails: a step that is recorded is answered as it is. A drain drops the run instead.

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
