"""`Connection`: one worker's way into a store, as the SDK's ``Network`` and ``Source``."""

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
from .addresses import anycast, unicast
from .exchange import Exchange
from .sdk import sdk_module
from .timekeeper import milliseconds
from .work import current_work, tasks_of

if TYPE_CHECKING:
    from resonate.handle import ResonateHandle
    from resonate.resonate import Resonate

    from .. import Fired

__all__ = ["Connection"]

_T = TypeVar("_T")


class Connection:
    """One worker of the SDK on a store in this process.

    It is both halves of what ``Resonate(network=...)`` takes: requests are answered by the store at once, and messages
    for ``poll://any@<group>`` and ``poll://uni@<group>/<pid>`` are handed to the worker that they name. Any number of
    connections may stand on one store; those of one group share its work in turn. Messages for other addresses stay
    in the store's outbox.

    It belongs to the event loop that it was first used on, and is to be used from that loop's thread.

    Args:
        store: The store, on system or manual time; rule set "compatible" (the SDK breaks strict rules).
        group: The group whose work this worker takes, in an address as it is: no ``/`` and no ``*``.
        pid: The name that it leases tasks under. By default a fresh one: random on system time, and on a manual clock
            ``<group>-1``, ``<group>-2`` ... in order of first use, so that runs repeat.

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

    def __init__(self, store: Store, group: str = "default", pid: str | None = None) -> None:
        self._connector_error = sdk_module("resonate_base.error").ConnectorError
        self._sdk = sdk_module("resonate.resonate")
        if not group or any(sign in group for sign in "/*\0"):
            raise ValueError(f"a group is a non-empty text without '/', '*' and NUL, unlike {group!r}")
        if pid is not None and (not pid or any(sign in pid for sign in "*\0")):
            raise ValueError(f"a pid is a non-empty text without '*' and NUL, unlike {pid!r}")
        self.store = store
        self.group = group
        self._pid = pid
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
        """What this worker shares with the others on its store and event loop.

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
        """The name that this worker leases tasks under."""
        if self._pid is None:
            exchange = self.exchange
            self._pid = exchange.next_name(self.group) if exchange.manual else uuid.uuid4().hex
        return self._pid

    # -- what the SDK is given ----------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """Returns the arguments that make a ``resonate.resonate.Resonate`` a worker of this connection.

        They are ``network``, ``group``, ``pid``, the store's time as ``clock`` and ``sleeper``, and no refresh of
        subscriptions, since there is no wire on which an unblock could get lost.
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
        """Returns ``resonate.resonate.Resonate(**connection.settings())``, with any of its arguments added or replaced."""
        made: Resonate = self._sdk.Resonate(**{**self.settings(), **overrides})
        return made

    def clock(self) -> int:
        """Returns the store's time in ms: the SDK's clock."""
        return self.store.now

    async def sleeper(self, seconds: float) -> None:
        """Waits in the store's time: the SDK's sleeper (heartbeats, retries)."""
        await self.exchange.time.sleep(self, seconds)

    # -- Network and Source -------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begins to receive. The SDK calls it."""
        exchange = self.exchange
        if self._crashed:
            raise self._connector_error(ConnectionError(f"{self!r} does not come back; make another"))
        self.stopped = False
        exchange.join(self)

    async def stop(self) -> None:
        """Ends receiving; requests go on being answered, so that work under way can finish. The SDK calls it.

        Work that waits for another attempt of a function that failed is cancelled: its lease runs out, and another worker takes
        it over.
        """
        self.stopped = True
        self.exchange.leave(self)
        self._receivers.clear()
        self.exchange.time.give_up(self)

    async def send(self, req: str, headers: dict[str, str] | None = None) -> str:
        """Answers one request, from the store and at once.

        Args:
            req: The envelope, JSON.
            headers: Ignored: one store holds every origin.

        Raises:
            resonate_base.ConnectorError: The store failed, or this worker crashed.
        """
        if self._crashed:
            await self._die()
        try:
            reply: bytes = self.store.apply_json(req)
        except Exception as error:
            raise self._connector_error(error) from error
        answer = json.loads(reply)
        if answer["head"]["status"] != 400:  # a malformed request was not run, and may be no JSON either
            self.exchange.answered(self, json.loads(req), answer)
        return reply.decode()

    def unicast(self) -> str:
        """Returns the address of this worker alone."""
        return unicast(self.group, self.pid)

    def resolve_target(self, target: str) -> str:
        """Returns the address of any one worker of a group."""
        return anycast(target)

    def recv(self, callback: Callable[[str], None]) -> None:
        """Registers what messages are handed to, as JSON. The SDK calls it, before `start`."""
        self._receivers.append(callback)
        # What a message starts belongs to the worker, not to whoever happened to cause the message.
        self._context = contextvars.copy_context()
        self._context.run(current_work.set, None)

    @property
    def receives(self) -> bool:
        """Whether anybody listens here; with ``Resonate(sources=[])`` nobody does, and no message is taken."""
        return bool(self._receivers)

    def receive(self, message: str) -> None:
        """Hands one message to the worker. For the exchange."""
        for callback in list(self._receivers):
            self._context.copy().run(callback, message)

    # -- the end of a worker ------------------------------------------------------------------------------------------

    def crash(self) -> None:
        """Makes this worker disappear between two requests, as a killed process does.

        Nothing more is sent or received: its durable functions are cancelled where they stand, their leases lapse in
        their own time, and what they did not yet record is lost. Any other worker of the group takes their tasks over.
        May be called from a durable function, which then ends at its next ``await``.
        """
        exchange = self.exchange
        self._crashed = True
        exchange.leave(self)
        exchange.ledger.drop(self)
        exchange.time.cancel(self)
        for task, work in tasks_of(exchange.loop):
            if work.connection is self:
                task.cancel()
        exchange.time.stir()

    async def _die(self) -> None:
        work = current_work.get()
        task = asyncio.current_task()
        if task is not None and work is not None and work.connection is self:
            task.cancel()
            await asyncio.sleep(0)
        raise self._connector_error(ConnectionError(f"{self!r}"))

    # -- time ---------------------------------------------------------------------------------------------------------

    async def run_until(self, awaitable: Awaitable[_T] | ResonateHandle[_T], *, limit: int | timedelta | None = None) -> _T:
        """Waits for something, and on a manual clock moves the clock as far as that takes.

        The clock goes from one due instant to the next, and each time all programs of this event loop run until they
        cannot do anything more before time moves: the same run every time, however long the machine takes. Held
        tasks that wait for something real (a thread, a socket) keep the clock where it is; so does `hold`. Anything
        else that waits does not.

        Args:
            awaitable: A handle of the SDK (waits for its result), or any awaitable: a coroutine, a task, a future.
            limit: How much time may pass: ms or `timedelta`, on the store's clock.

        Returns:
            Its result; what it raises is raised.

        Raises:
            Stalled: Nothing is left that could happen, or not within the limit. (On system time only the limit.)
            RuntimeError: Called from code that such a call runs, such as a durable function.
        """
        if isinstance(awaitable, Awaitable):
            return await self.exchange.time.run_until(awaitable, limit)
        return await self.exchange.time.run_until(awaitable.result(), limit)

    async def settle(self) -> None:
        """Lets everything happen that can at this instant, without moving the clock.

        Right after ``clock.advance(...)`` it delivers what that caused and wakes who slept until then. (Soon after,
        that happens by itself too; this waits for it, and for the programs to be through.)
        """
        await self.exchange.time.settle()

    async def advance(self, duration: int | timedelta) -> list[Fired]:
        """Moves a manual clock, with the programs there: at each due instant on the way they run to the end of it.

        ``clock.advance`` itself moves it in one go, as if all programs were frozen meanwhile.

        Args:
            duration: ms or `timedelta`.

        Returns:
            What fired, in order.

        Raises:
            RuntimeError: The store is on system time, or this is called from code that such a call runs.
        """
        return await self.exchange.time.advance_to(self.store.now + milliseconds(duration))

    async def advance_to(self, instant: int) -> list[Fired]:
        """Moves a manual clock to an instant in ms; otherwise as `advance`."""
        return await self.exchange.time.advance_to(instant)

    def hold(self) -> AbstractContextManager[None]:
        """Returns a context in which `run_until` and `advance` do not move the clock.

        For code outside durable functions that waits for something real: ``with connection.hold(): await fetch()``.
        """
        return self.exchange.time.hold()
