"""How messages leave a store: read from its outbox, given to the transport that serves their address, acknowledged.

A process takes an execute out of the store just before it delivers it: of several processes on one store one gets it, and the
dispatch timer repeats an execute that is lost. Nothing repeats an unblock, so it is taken out only once it has been delivered
(PROTOCOL 5).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from .._messages import handled_schemes, tell_of_ends
from ..errors import NotFound, StoreError
from .addresses import scheme_of

if TYPE_CHECKING:
    from .._core import Message, Store
    from .._damper import Damper
    from .metrics import Metrics

__all__ = ["Call", "Delivery", "NotNow", "Send", "Transport", "is_execute"]

#: Runs a function of the store off the loop's thread.
Call = Callable[[Callable[[], Any]], "asyncio.Future[Any]"]
#: What a transport promises to do with a message: called with True it sends it, with False it forgets it.
Send = Callable[[bool], None]


class NotNow(Enum):
    """Why a transport does not take a message: because of its address, or of this message."""

    ADDRESS = "address"
    MESSAGE = "message"


_log = logging.getLogger("resonate_core.delivery")

#: How many tasks are looked at in one go.
_LOOKED_AT_ONCE = 1000
#: Seconds until a message whose delivery raised is looked at again.
_PAUSE = 1.0


def is_execute(message: Message) -> bool:
    """Whether the dispatch timer stands behind it."""
    return message.version is not None


def _is_among(address: str, patterns: Iterable[str]) -> bool:
    return any(address == one or (one.endswith("*") and address.startswith(one[:-1])) for one in patterns)


class Transport(Protocol):
    """One way to deliver messages. It tells the `Delivery` what became of each."""

    def offer(self, message: Message) -> Send | NotNow:
        """Keeps a place for a message. Where it cannot be taken now the transport asks again when it can."""

    def takes(self, addresses: str) -> bool:
        """Return whether it may take a message now for this address, or for one that begins with it (``*``)."""

    async def close(self) -> None:
        """Close it. After that, each of its messages is delivered or undelivered."""


class Delivery:
    """Hands out the messages of one store, on one event loop.

    Args:
        store: The store.
        call: Runs a function of it off the loop's thread.
        metrics: The counters.
        wake: Called when the outbox is to be read again.
        damper: The delays of tasks that were released again and again.
        keep: Seconds for which an execute that was taken out of the store waits here for a receiver.
    """

    def __init__(self, store: Store, call: Call, metrics: Metrics, wake: Callable[[], None], damper: Damper, keep: float) -> None:
        self._store = store
        self._call = call
        self._metrics = metrics
        self._wake = wake
        self.transports: dict[str, Transport] = {}
        self._under_way: set[int] = set()  # numbers of messages that a transport has
        self._gone: set[int] = set()  # acknowledged since what is being looked at was read
        self._again: set[str] = set()
        self._damper = damper
        self._keep = keep
        self._homeless: dict[int, Message] = {}  # executes that are ours, and whose stream ended before they were delivered
        self._expiring: set[int] = set()  # of the homeless, those that are forgotten when `keep` is over
        self._doubtful: set[int] = set()  # of the homeless, those whose tasks are looked at before they are offered again
        self._looking: asyncio.Task[None] | None = None
        self._closed = False
        self._delivered: list[int] = []  # unblocks that are still in the store
        self._acknowledging: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        tell_of_ends(store, self._handler_ended)

    def _handler_ended(self) -> None:
        """Read the outbox again for messages that were left to a function of this process. From any thread."""
        if self._loop is not None:  # else nothing was left to it
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.look_at, ["*"])

    async def deliver(self, messages: Sequence[Message]) -> set[str]:
        """Sends what can be sent now, of messages that were read from the outbox in order; the addresses that take no more."""
        self._loop = asyncio.get_running_loop()
        useless: list[int] = []
        chosen: list[tuple[Message, Send]] = []
        blocked: set[str] = set()
        for message in messages:
            if message.number in self._under_way or message.number in self._gone:
                continue
            if message.stale:
                useless.append(message.number)
                continue
            if message.address in blocked or (self._damper and self._damps(message)):
                continue
            send = self._offer(message)
            if send is NotNow.ADDRESS:
                blocked.add(message.address)
            elif send is not NotNow.MESSAGE:
                self._under_way.add(message.number)
                chosen.append((message, send))
        if useless or any(is_execute(message) for message, _ in chosen):
            chosen = await self._take(useless, chosen)
        for message, send in chosen:
            self._send(message, send)
        return blocked

    def still_taken(self, addresses: Iterable[str], blocked: set[str]) -> list[str]:
        """Return the addresses whose transports may take more messages."""
        return [one for one in addresses if one not in blocked and self._takes(one)]

    def _takes(self, addresses: str) -> bool:
        transport = self.transports.get(scheme_of(addresses))
        return transport is None or transport.takes(addresses)

    def _send(self, message: Message, send: Send) -> None:
        try:
            send(True)
        except Exception as error:
            self._under_way.discard(message.number)
            self._failed(message, error)

    def _failed(self, message: Message, error: Exception) -> None:
        """Log that a transport raised for one message, and read the outbox again for its address later."""
        kind = "execute" if is_execute(message) else "unblock"
        self._metrics.deliveries.labels("none", kind, "failed").inc()
        _log.error("%s %s to %s was not delivered: %s", message.kind, message.id, message.address, error, exc_info=error)
        asyncio.get_running_loop().call_later(_PAUSE, self.look_at, [message.address])

    def _damps(self, message: Message) -> bool:
        wait = self._damper.wait(message.id) if is_execute(message) else 0.0
        if wait > 0:
            asyncio.get_running_loop().call_later(wait + 0.001, self.look_at, [message.address])
        return wait > 0

    def _offer(self, message: Message) -> Send | NotNow:
        scheme = scheme_of(message.address)
        if scheme in handled_schemes(self._store):
            return NotNow.ADDRESS  # a function of this process has them
        transport = self.transports.get(scheme)
        if transport is None:
            return NotNow.ADDRESS
        try:
            return transport.offer(message)
        except Exception as error:
            self._failed(message, error)
            return NotNow.MESSAGE

    async def _take(self, useless: list[int], chosen: list[tuple[Message, Send]]) -> list[tuple[Message, Send]]:
        """Take executes and stale messages out of the store; return the messages that this process sends."""
        wanted = {message.number for message, _ in chosen if is_execute(message)}
        try:
            taken = set(await self._call(lambda: self._store.acknowledge([*useless, *wanted])))
        except BaseException:
            for message, send in chosen:
                self._under_way.discard(message.number)
                send(False)
            self._again.update(message.address for message, _ in chosen)
            raise
        self._count_stale(len(useless))
        ours = []
        for message, send in chosen:
            if message.number in wanted and message.number not in taken:  # another process was faster
                self._under_way.discard(message.number)
                send(False)
            else:
                ours.append((message, send))
        return ours

    # -- what transports tell -----------------------------------------------------------------------------------------

    def look_at(self, addresses: Iterable[str]) -> None:
        """Makes the outbox be read again for these addresses; one that ends in ``*`` stands for all that begin so."""
        self._again.update(addresses)
        if self._again:
            self._wake()

    def addresses_to_look_at(self) -> list[str]:
        """Return the addresses that `look_at` was given since the last call."""
        addresses, self._again = sorted(self._again), set()
        self._place_again(number for number, message in self._homeless.items() if _is_among(message.address, addresses))
        return addresses

    def about_to_read(self) -> None:
        """Forget the acknowledged numbers: pages that are read from now on do not hold them, and no earlier page is delivered any more."""
        self._gone.clear()

    def delivered(self, messages: Iterable[Message]) -> None:
        """These arrived."""
        for message in messages:
            if is_execute(message):
                self._under_way.discard(message.number)
            else:
                self._delivered.append(message.number)
        if self._delivered and self._acknowledging is None:
            self._acknowledging = asyncio.get_running_loop().create_task(self._acknowledge())

    def undelivered(self, messages: Sequence[Message]) -> None:
        """Offer these messages to other receivers: they did not arrive, or that is unknown."""
        again = []
        for message in messages:
            self._under_way.discard(message.number)
            if is_execute(message):
                self._homeless[message.number] = message  # it is out of the store
            else:
                again.append(message.address)
        self._place_again(message.number for message in messages if is_execute(message))
        self.look_at(again)

    def _place_again(self, numbers: Iterable[int]) -> None:
        """Offer executes of this process to other receivers, if their tasks are still pending.

        The previous receiver may have acquired the task before its stream ended; another receiver could not use the message then.
        """
        self._doubtful.update(numbers)
        if self._doubtful and self._looking is None and not self._closed:
            self._looking = asyncio.get_running_loop().create_task(self._look_at_tasks())

    async def _look_at_tasks(self) -> None:
        try:
            while self._doubtful:
                numbers = sorted(self._doubtful)[:_LOOKED_AT_ONCE]
                self._doubtful.difference_update(numbers)
                messages = [self._homeless[number] for number in numbers if number in self._homeless]
                try:
                    wanted = await self._call(lambda messages=messages: self._wanted(messages))  # type: ignore[misc]
                except StoreError as error:
                    _log.warning("%d executes are not offered again, their dispatch timers make others: %s", len(messages), error)
                    wanted = set()
                else:
                    self._count_stale(len(messages) - len(wanted))
                for message in messages:
                    if message.number not in wanted:
                        self._forget(message.number)
                    elif message.number in self._homeless:
                        self._place_or_keep(message)
        finally:
            self._looking = None

    def _wanted(self, messages: Sequence[Message]) -> set[int]:
        """In a thread: the numbers of those whose tasks are still pending at the version that they offer."""
        wanted = set()
        for message in messages:
            try:
                task = self._store.tasks.get(message.id)
            except NotFound:
                continue
            if task.state == "pending" and task.version == message.version:
                wanted.add(message.number)
        return wanted

    def _count_stale(self, count: int) -> None:
        if count:
            self._metrics.deliveries.labels("none", "execute", "stale").inc(count)

    def _place_or_keep(self, message: Message) -> None:
        """Give it to a receiver now, or to one that connects within `keep` seconds; otherwise the dispatch timer makes another one."""
        if self._place(message):
            self._forget(message.number)
        elif message.number not in self._expiring:
            self._expiring.add(message.number)
            asyncio.get_running_loop().call_later(self._keep, self._forget, message.number)

    def _forget(self, number: int) -> None:
        self._homeless.pop(number, None)
        self._expiring.discard(number)

    def _place(self, message: Message) -> bool:
        send = self._offer(message)
        if isinstance(send, NotNow):
            return False
        self._under_way.add(message.number)
        self._send(message, send)
        return True

    async def _acknowledge(self) -> None:
        try:
            while self._delivered:
                numbers, self._delivered = self._delivered, []
                try:
                    await self._call(lambda numbers=numbers: self._store.acknowledge(numbers))  # type: ignore[misc]
                except Exception:
                    # They stay under way here: this process does not send them twice, and goes on trying.
                    _log.exception("%d messages were delivered and could not be taken out of the store; trying again", len(numbers))
                    self._delivered += numbers
                    await asyncio.sleep(1)
                else:
                    self._gone.update(numbers)
                    self._under_way.difference_update(numbers)
        finally:
            self._acknowledging = None

    async def close(self, patience: float) -> None:
        """Ends all transports, and waits so many seconds at most until what was delivered is acknowledged."""
        self._closed = True  # nothing is offered to anybody else any more
        for transport in dict.fromkeys(self.transports.values()):
            await transport.close()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        if self._acknowledging is not None:
            acknowledging = self._acknowledging
            await asyncio.wait([acknowledging], timeout=patience)
            if not acknowledging.done():
                _log.error("%d delivered messages stay in the store, and will be delivered again", len(self._delivered))
                acknowledging.cancel()
                await asyncio.gather(acknowledging, return_exceptions=True)
