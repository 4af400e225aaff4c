"""`Connection`: connects one SDK worker to a store, as the SDK's ``Network`` and ``Source``."""

from __future__ import annotations

import asyncio
import contextvars
import json
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from .. import Store
from ..calls.values import rounded_milliseconds
from .codecs import codec_behind, codec_of, follow
from .delivery import anycast, unicast
from .exchange import Exchange
from .sdk import sdk_module
from .timekeeper import ROUNDS_OF_RETRIES
from .work import current_work, tasks_of

if TYPE_CHECKING:
    from resonate.handle import ResonateHandle
    from resonate.resonate import Resonate

    from .. import Fired

__all__ = ["Connection"]

_T = TypeVar("_T")


def random_pid() -> str:
    """Return a name that no other worker has, on any machine."""
    return uuid.uuid4().hex


class Connection:
    """One worker of the SDK on a store in this process.

    It is both the network and the source of ``Resonate(...)``: the store answers requests, and messages
    to ``poll://any@<group>`` and ``poll://uni@<group>/<pid>`` are delivered to the worker that they name. Any number of
    connections may use one store; those of one group share its work in rotation. Messages to other addresses stay
    in the store's outbox.

    It belongs to the event loop and the thread of its first use.

    Args:
        store: The store, with the system's or a manual clock; rule set "compatible" (the SDK breaks strict rules).
        group: The group of this worker, as in an address: without ``/`` and ``*``.
        pid: The name under which it holds leases. Default: a random one with the system's clock, and with a manual clock
            ``<group>-1``, ``<group>-2`` ... in order of first use, so that runs are repeatable.
        new_pid: Returns a new name, with the system's clock. A simulator passes its own function, so that runs are repeatable.

    Raises:
        SdkMissing: The SDK is not installed, or Python is older than 3.12.
        ValueError: `group` or `pid` cannot be part of an address.

    Example:
        >>> import asyncio
        >>> import resonate_core as rc
        >>> async def greet(ctx, name):
        ...     return f"hello {name}"
        >>> async def main():
        ...     connection = Connection(rc.Store())
        ...     resonate = connection.resonate()
        ...     resonate.register(greet)
        ...     print(await resonate.run("greet-1", greet, "world").result())
        ...     await resonate.stop()
        >>> asyncio.run(main())
        hello world
    """

    def __init__(
        self, store: Store, group: str = "default", pid: str | None = None, *, new_pid: Callable[[], str] = random_pid
    ) -> None:
        self._connector_error = sdk_module("resonate_base.error").ConnectorError
        self._sdk = sdk_module("resonate.resonate")
        if not group or any(sign in group for sign in "/*\0"):
            raise ValueError(f"group must be a non-empty text without '/', '*' and NUL, got {group!r}")
        if pid is not None and (not pid or any(sign in pid for sign in "*\0")):
            raise ValueError(f"pid must be a non-empty text without '*' and NUL, got {pid!r}")
        self.store = store
        self.group = group
        self._pid = pid
        self._new_pid = new_pid
        self._exchange: Exchange | None = None
        self._receivers: list[Callable[[str], None]] = []
        self._context = contextvars.Context()
        self._crashed = False
        self.stopped = False

    def __repr__(self) -> str:
        state = "crashed " if self._crashed else ""
        return f"<{state}Connection {self._pid!r} in group {self.group!r}>"

    @property
    def exchange(self) -> Exchange:
        """The exchange that this worker shares with the others on its store and event loop.

        Raises:
            RuntimeError: No event loop is running, or the connection is in use on another one.
        """
        running = asyncio.get_running_loop()
        if self._exchange is None or self._exchange.loop is not running:
            if self._exchange is not None and not self._exchange.loop.is_closed():
                raise RuntimeError(f"{self!r} is in use on another event loop")
            self._exchange = Exchange.here(self.store)
            self._exchange.ledger.waits_for_time(sdk_module("resonate.handle").ResonateHandle.result.__code__)
        return self._exchange

    @property
    def pid(self) -> str:
        """The name under which this worker holds leases."""
        if self._pid is None:
            exchange = self.exchange
            self._pid = exchange.next_name(self.group) if exchange.manual else self._new_pid()
        return self._pid

    # -- what the SDK is given ----------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """Return the arguments that make a ``resonate.resonate.Resonate`` a worker of this connection.

        They are ``network``, ``group``, ``pid``, the store's time as ``clock`` and ``sleeper``, and no refresh of
        subscriptions, since no unblock can be lost within a process.
        """
        return {
            "network": self,
            "group": self.group,
            "pid": self.pid,
            "clock": self.clock,
            "sleeper": self.sleeper,
            "subscription_refresh_secs": 0.0,
        }

    def resonate(self, **overrides: Any) -> Resonate:
        """Return ``resonate.resonate.Resonate(**connection.settings())``, with arguments added or replaced."""
        made: Resonate = self._sdk.Resonate(**{**self.settings(), **overrides})
        follow(codec_of(made), self.exchange.attempts.encodes)  # one without sources never calls `recv`
        return made

    def clock(self) -> int:
        """Return the store's time in ms: the SDK's clock."""
        return self.store.now

    async def sleeper(self, seconds: float) -> None:
        """Wait on the store's clock: the SDK's sleeper (heartbeats, retries)."""
        await self.exchange.time.sleep(self, seconds)

    # -- Network and Source -------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start receiving. The SDK calls it."""
        exchange = self.exchange
        if self._crashed:
            raise self._connector_error(ConnectionError(f"{self!r} does not come back; make another"))
        self.stopped = False
        exchange.join(self)

    async def stop(self) -> None:
        """Stop receiving. Requests are still answered, so that running work can finish. The SDK calls it.

        Work that waits for a retry is cancelled: its lease expires, and another worker acquires the
        task.
        """
        self.stopped = True
        exchange = self.exchange
        exchange.leave(self)
        self._receivers.clear()
        exchange.time.give_up(self)
        exchange.attempts.left(self)
        await exchange.ended()

    async def send(self, req: str, headers: dict[str, str] | None = None) -> str:
        """Answer one request from the store.

        A store in memory, or on manual time, answers at once. Another one may wait for a lock, a disk or a database: a thread calls it,
        so that the event loop serves others meanwhile.

        Args:
            req: The envelope, JSON.
            headers: Ignored: one store holds every origin.

        Raises:
            resonate_base.ConnectorError: The store failed, or this worker crashed.
        """
        if self._crashed:
            await self._die()
        exchange = self.exchange
        try:
            reply: bytes = await exchange.call(self.store.apply_json, req)
        except Exception as error:
            raise self._connector_error(error) from error
        if self._crashed:  # while it waited: the request has an effect, and its reply is lost
            await self._die()
        answer = json.loads(reply)
        if answer["head"]["status"] != 400:  # a malformed request was not run, and may be no JSON either
            exchange.answered(self, json.loads(req), answer)
        return reply.decode()

    def unicast(self) -> str:
        """Return the address of this worker."""
        return unicast(self.group, self.pid)

    def resolve_target(self, target: str) -> str:
        """Return the address of any one worker of a group."""
        return anycast(target)

    def recv(self, callback: Callable[[str], None]) -> None:
        """Register the function that gets messages, as JSON. The SDK calls it before `start`."""
        self._receivers.append(callback)
        follow(codec_behind(callback), self.exchange.attempts.encodes)
        # Tasks that a message starts belong to the worker, not to the task that caused the message.
        self._context = contextvars.copy_context()
        self._context.run(current_work.set, None)

    @property
    def receives(self) -> bool:
        """Whether a function is registered. With ``Resonate(sources=[])`` there is none, and no message is taken."""
        return bool(self._receivers)

    def receive(self, message: str) -> None:
        """Deliver one message to the worker. The exchange calls it."""
        for callback in list(self._receivers):
            self._context.copy().run(callback, message)

    # -- the end of a worker ------------------------------------------------------------------------------------------

    def crash(self) -> None:
        """End this worker between two requests, like a killed process.

        Nothing more is sent or received: its durable functions are cancelled at their current statement, their leases expire at
        their instants, and unrecorded steps are lost. Another worker of the group acquires their tasks.
        A durable function that calls it ends at its next ``await``.
        """
        exchange = self.exchange
        self._crashed = True
        exchange.leave(self)
        exchange.ledger.drop(self)
        exchange.attempts.left(self)
        exchange.time.cancel(self)
        for task, work in tasks_of(exchange.loop):
            if work.connection is self:
                task.cancel()
        exchange.time.note_activity()

    async def _die(self) -> None:
        work = current_work.get()
        task = asyncio.current_task()
        if task is not None and work is not None and work.connection is self:
            task.cancel()
            await asyncio.sleep(0)
        raise self._connector_error(ConnectionError(f"{self!r}"))

    # -- time ---------------------------------------------------------------------------------------------------------

    async def run_until(
        self,
        awaitable: Awaitable[_T] | ResonateHandle[_T],
        *,
        limit: int | timedelta | None = None,
        rounds: int | None = ROUNDS_OF_RETRIES,
    ) -> _T:
        """Wait for an awaitable; a manual clock is moved as far as necessary.

        The clock moves from one due instant to the next. At each, all programs of this event loop run until they
        wait for time, so every run gives the same result on any machine. Acquired tasks that wait for something real
        (a thread, a socket) stop the clock, and so does `hold`. Other code that waits does not.

        Args:
            awaitable: A handle of the SDK (waits for its result), or any awaitable: a coroutine, a task, a future.
            limit: The time that may pass on the store's clock: ms or `timedelta`.
            rounds: How many rounds of the programs may pass while a function that failed waits for its next attempt. The default policy of
                the SDK retries for as long as the promise is pending, and each round renews the lease. None for no limit.

        Returns:
            Its result; its exception is raised.

        Raises:
            Stalled: Nothing more can happen, or a limit has passed; the error names the tasks that are retried. (With the system's
                clock only `limit`.)
            RuntimeError: It is called inside such a call, for example from a durable function.
        """
        if isinstance(awaitable, Awaitable):
            return await self.exchange.time.run_until(awaitable, limit, rounds)
        return await self.exchange.time.run_until(awaitable.result(), limit, rounds)

    async def settle(self) -> None:
        """Run everything that can run at this instant, without moving the clock.

        After ``clock.advance(...)`` it delivers the resulting messages and wakes the sleeps that have ended. (Both also happen
        by themselves soon after; this call waits for them, and until the programs wait for time.)
        """
        exchange = self.exchange
        await exchange.time.settle(exchange.call)

    async def advance(self, duration: int | timedelta, *, rounds: int | None = ROUNDS_OF_RETRIES) -> list[Fired]:
        """Move a manual clock; at each due instant on the way, the programs run until they wait for time.

        In contrast, ``clock.advance`` runs no program on the way.

        Args:
            duration: ms or `timedelta`.
            rounds: As of `run_until`.

        Returns:
            The steps that fired, in order.

        Raises:
            Stalled: For `rounds` rounds, a function that failed has waited for its next attempt.
            RuntimeError: The store uses the system's clock, or it is called inside such a call.
        """
        return await self.exchange.time.advance_to(self.store.now + rounded_milliseconds("duration", duration), rounds)

    async def advance_to(self, instant: int, *, rounds: int | None = ROUNDS_OF_RETRIES) -> list[Fired]:
        """Move a manual clock to an instant in ms; otherwise like `advance`."""
        return await self.exchange.time.advance_to(instant, rounds)

    def hold(self) -> AbstractContextManager[None]:
        """Return a context in which `run_until` and `advance` do not move the clock.

        Use it for code outside durable functions that waits for something real: ``with connection.hold(): await fetch()``.
        """
        return self.exchange.time.hold()
