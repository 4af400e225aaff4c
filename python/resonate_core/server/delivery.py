"""Delivery of messages: read from the outbox, given to the transport of their address, acknowledged.

A process takes an execute out of the store just before it delivers it: of several processes on one store one gets it, and the
dispatch timer repeats an execute that is lost. Nothing repeats an unblock, so it is taken out only once it has been delivered;
meanwhile the process has a lease on it (PROTOCOL 5).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from ..calls.delivery import handled_schemes, on_handler_end
from ..errors import NotFound, StoreError
from .addresses import scheme_of

if TYPE_CHECKING:
    from .._core import Message, Store
    from ..base.release_delay import Damper
    from ..calls.serial_executor import Call
    from .leases import Leases
    from .metrics import Metrics

__all__ = ["Declined", "Delivery", "Send", "Transport", "is_execute"]

#: A transport's promise about one message: called with True it sends the message, with False it drops it.
Send = Callable[[bool], None]


class Declined(Enum):
    """Why a transport does not accept a message now.

    No message to this address is accepted, none to it about the ids of this message's tenant, or only this one is not.
    """

    ADDRESS = "address"
    TENANT = "tenant"
    MESSAGE = "message"


_log = logging.getLogger("resonate_core.delivery")

#: The number of tasks that one call reads.
_TASKS_AT_ONCE = 1000
#: Seconds after which a message whose delivery raised is tried again.
_RETRY_PAUSE = 1.0


def is_execute(message: Message) -> bool:
    """Return whether it is an execute, which the dispatch timer repeats."""
    return message.version is not None


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return whether an address is one of these, or begins with one that ends in ``*``."""
    whole = set(patterns)
    beginnings = tuple(one[:-1] for one in whole if one.endswith("*"))
    return lambda address: address in whole or address.startswith(beginnings)


class Transport(Protocol):
    """One way to deliver messages. It reports the end of each to the `Delivery`."""

    def offer(self, message: Message) -> Send | Declined:
        """Reserve a place for a message. A transport that declines it calls `Delivery.read_again` when it can accept it."""

    def takes(self, addresses: str) -> bool:
        """Return whether it may accept a message now for this address, or for an address that begins with it (``*``)."""

    async def close(self) -> None:
        """Close it. After that, each of its messages is delivered or undelivered."""


class Delivery:
    """Delivers the messages of one store, on one event loop.

    Args:
        store: The store.
        call: Calls a function of the store in a thread.
        metrics: The counters.
        wake: Called when the outbox is to be read again.
        damper: The delays of tasks that were released again and again.
        keep: Seconds for which an undelivered execute that has left the store waits here for a receiver.
        leases: The leases on unblocks under way; None if no other process delivers messages of this store.
    """

    def __init__(
        self,
        store: Store,
        call: Call,
        metrics: Metrics,
        wake: Callable[[], None],
        damper: Damper,
        keep: float,
        leases: Leases | None = None,
    ) -> None:
        self._store = store
        self._call = call
        self._metrics = metrics
        self._wake = wake
        self.transports: dict[str, Transport] = {}
        self._under_way: set[int] = set()  # numbers of messages that a transport holds
        self._acknowledged: set[int] = set()  # numbers that were acknowledged after the current page was read
        self._to_read: set[str] = set()
        self._damper = damper
        self._keep = keep
        self._leases = leases
        self._leased_elsewhere: set[str] = set()  # addresses that are read again when the leases of other processes end
        self._unplaced: dict[int, Message] = {}  # executes that have left the store, and whose stream ended before their delivery
        self._expiring: set[int] = set()  # unplaced executes that are dropped when `keep` is over
        self._unverified: set[int] = set()  # unplaced executes whose tasks are read before the next offer
        self._verifying: asyncio.Task[None] | None = None
        self._closed = False
        self._to_acknowledge: list[int] = []  # unblocks that are still in the store
        self._acknowledging: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        on_handler_end(store, self._handler_ended)

    def _handler_ended(self) -> None:
        """Read the outbox again for the messages of a function of this process that was unsubscribed. From any thread."""
        if self._loop is not None:  # otherwise no message was declined yet
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.read_again, ["*"])

    async def deliver(self, messages: Sequence[Message]) -> set[str]:
        """Send the messages of a page that can be sent now; return the addresses that accept no more."""
        self._loop = asyncio.get_running_loop()
        stale: list[int] = []
        chosen: list[tuple[Message, Send]] = []
        blocked: set[str] = set()
        blocked_for_tenants: set[str] = set()  # the other messages of the page to them are offered
        for message in messages:
            if message.number in self._under_way or message.number in self._acknowledged:
                continue
            if message.stale:
                stale.append(message.number)
                continue
            if message.address in blocked or (self._damper and self._damps(message)) or self._is_leased_elsewhere(message):
                continue
            send = self._offer(message)
            if send is Declined.ADDRESS:
                blocked.add(message.address)
            elif send is Declined.TENANT:
                blocked_for_tenants.add(message.address)
            elif not isinstance(send, Declined):
                self._under_way.add(message.number)
                chosen.append((message, send))
        if stale or (chosen and self._leases) or any(is_execute(message) for message, _ in chosen):
            chosen = await self._take(stale, chosen)
        for message, send in chosen:
            self._send(message, send)
        return blocked | blocked_for_tenants

    def accepting(self, addresses: Iterable[str], blocked: set[str]) -> list[str]:
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
            self._give_up([message.number])
            self._failed(message, error)

    def _give_up(self, numbers: Iterable[int]) -> None:
        if self._leases is not None:
            self._leases.give_up(numbers)

    def _is_leased_elsewhere(self, message: Message) -> bool:
        wait = self._leases.wait_for_other(message) if self._leases is not None else 0.0
        if wait > 0:
            self._read_after_leases(message.address, wait)
        return wait > 0

    def _read_after_leases(self, address: str, wait: float) -> None:
        """Read the outbox again for an address after this many seconds: the process with the lease may have ended."""

        def read() -> None:
            self._leased_elsewhere.discard(address)
            self.read_again([address])

        if address not in self._leased_elsewhere:
            self._leased_elsewhere.add(address)
            asyncio.get_running_loop().call_later(wait + 0.001, read)

    def _failed(self, message: Message, error: Exception) -> None:
        """Log that a transport raised for one message, and read the outbox again for its address later."""
        kind = "execute" if is_execute(message) else "unblock"
        self._metrics.deliveries.labels("none", kind, "failed").inc()
        _log.error("%s %s to %s was not delivered: %s", message.kind, message.id, message.address, error, exc_info=error)
        asyncio.get_running_loop().call_later(_RETRY_PAUSE, self.read_again, [message.address])

    def _damps(self, message: Message) -> bool:
        wait = self._damper.wait(message.id) if is_execute(message) else 0.0
        if wait > 0:
            asyncio.get_running_loop().call_later(wait + 0.001, self.read_again, [message.address])
        return wait > 0

    def _offer(self, message: Message) -> Send | Declined:
        scheme = scheme_of(message.address)
        if scheme in handled_schemes(self._store):
            return Declined.ADDRESS  # a function of this process gets them
        transport = self.transports.get(scheme)
        if transport is None:
            return Declined.ADDRESS
        try:
            return transport.offer(message)
        except Exception as error:
            self._failed(message, error)
            return Declined.MESSAGE

    async def _take(self, stale: list[int], chosen: list[tuple[Message, Send]]) -> list[tuple[Message, Send]]:
        """Take executes and stale messages out of the store, and lease unblocks; return the messages that this process sends."""
        executes = {message.number for message, _ in chosen if is_execute(message)}
        unblocks = {message.number for message, _ in chosen} - executes if self._leases is not None else set()

        def take() -> list[int]:
            leased = self._leases.take(unblocks) if self._leases is not None and unblocks else []
            return leased + (self._store.acknowledge([*stale, *executes]) if stale or executes else [])

        try:
            taken = set(await self._call(take))
        except BaseException:
            for message, send in chosen:
                self._under_way.discard(message.number)
                send(False)
            self._to_read.update(message.address for message, _ in chosen)
            raise
        self._count_stale(len(stale))
        if self._leases is not None:
            self._leases.hold(unblocks & taken)
        wanted = executes | unblocks
        ours = []
        for message, send in chosen:
            if message.number in taken or message.number not in wanted:
                ours.append((message, send))
                continue
            self._under_way.discard(message.number)  # another process took it first
            send(False)
            if self._leases is not None and message.number in unblocks:
                self._read_after_leases(message.address, self._leases.length)
        return ours

    # -- reports of the transports ------------------------------------------------------------------------------------

    def read_again(self, addresses: Iterable[str]) -> None:
        """Read the outbox again for these addresses; a final ``*`` matches by prefix."""
        self._to_read.update(addresses)
        if self._to_read:
            self._wake()

    def take_addresses(self) -> list[str]:
        """Return the addresses that `read_again` was given since the last call, and offer the unplaced executes to them again."""
        addresses, self._to_read = sorted(self._to_read), set()
        matches = _matcher(addresses)
        self._offer_again(number for number, message in self._unplaced.items() if matches(message.address))
        return addresses

    def before_read(self) -> None:
        """Forget the acknowledged numbers: the next page does not contain them, and no earlier page is delivered any more."""
        self._acknowledged.clear()

    def delivered(self, messages: Iterable[Message]) -> None:
        """Acknowledge messages that have arrived."""
        for message in messages:
            if is_execute(message):
                self._under_way.discard(message.number)
            else:
                self._to_acknowledge.append(message.number)
        if self._to_acknowledge and self._acknowledging is None:
            self._acknowledging = asyncio.get_running_loop().create_task(self._acknowledge())

    def undelivered(self, messages: Sequence[Message]) -> None:
        """Offer these messages to other receivers: they did not arrive, or that is unknown."""
        again = []
        for message in messages:
            self._under_way.discard(message.number)
            if is_execute(message):
                self._unplaced[message.number] = message  # it has left the store
            else:
                again.append(message.address)
        self._give_up(message.number for message in messages)
        self._offer_again(message.number for message in messages if is_execute(message))
        self.read_again(again)

    def _offer_again(self, numbers: Iterable[int]) -> None:
        """Offer executes of this process to other receivers, if their tasks are still pending.

        The previous receiver may have acquired the task before its stream ended; another receiver could not use the message then.
        """
        self._unverified.update(numbers)
        if self._unverified and self._verifying is None and not self._closed:
            self._verifying = asyncio.get_running_loop().create_task(self._verify())

    async def _verify(self) -> None:
        try:
            while self._unverified:
                numbers = sorted(self._unverified)[:_TASKS_AT_ONCE]
                self._unverified.difference_update(numbers)
                messages = [self._unplaced[number] for number in numbers if number in self._unplaced]
                try:
                    wanted = await self._call(lambda messages=messages: self._still_pending(messages))  # type: ignore[misc]
                except StoreError as error:
                    _log.warning("%d executes are dropped, and their dispatch timers repeat them: %s", len(messages), error)
                    wanted = set()
                else:
                    self._count_stale(len(messages) - len(wanted))
                for message in messages:
                    if message.number not in wanted:
                        self._drop(message.number)
                    elif message.number in self._unplaced:
                        self._offer_or_keep(message)
        finally:
            self._verifying = None

    def _still_pending(self, messages: Sequence[Message]) -> set[int]:
        """In a thread: return the numbers of the executes whose tasks are still pending at that version."""
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

    def _offer_or_keep(self, message: Message) -> None:
        """Give it to a receiver now, or to one that connects within `keep` seconds; otherwise the dispatch timer repeats it."""
        if self._offer_now(message):
            self._drop(message.number)
        elif message.number not in self._expiring:
            self._expiring.add(message.number)
            asyncio.get_running_loop().call_later(self._keep, self._drop, message.number)

    def _drop(self, number: int) -> None:
        self._unplaced.pop(number, None)
        self._expiring.discard(number)

    def _offer_now(self, message: Message) -> bool:
        send = self._offer(message)
        if isinstance(send, Declined):
            return False
        self._under_way.add(message.number)
        self._send(message, send)
        return True

    async def _acknowledge(self) -> None:
        try:
            while self._to_acknowledge:
                numbers, self._to_acknowledge = self._to_acknowledge, []
                try:
                    await self._call(lambda numbers=numbers: self._store.acknowledge(numbers))  # type: ignore[misc]
                except Exception:
                    # They stay under way: this process does not send them twice, and tries again.
                    _log.exception("%d delivered messages could not be acknowledged; trying again", len(numbers))
                    self._to_acknowledge += numbers
                    await asyncio.sleep(1)
                else:
                    self._acknowledged.update(numbers)
                    self._under_way.difference_update(numbers)
                    if self._leases is not None:
                        self._leases.end(numbers)
        finally:
            self._acknowledging = None

    async def close(self, timeout: float) -> None:
        """End all transports, and wait until delivered messages are acknowledged, for at most this many seconds."""
        self._closed = True  # no message is offered any more
        for transport in dict.fromkeys(self.transports.values()):
            await transport.close()
        if self._leases is not None:
            await self._leases.close()
        if self._verifying is not None:
            self._verifying.cancel()
            await asyncio.gather(self._verifying, return_exceptions=True)
        if self._acknowledging is not None:
            acknowledging = self._acknowledging
            await asyncio.wait([acknowledging], timeout=timeout)
            if not acknowledging.done():
                _log.error("%d delivered messages are not acknowledged, and will be delivered again", len(self._to_acknowledge))
                acknowledging.cancel()
                await asyncio.gather(acknowledging, return_exceptions=True)
