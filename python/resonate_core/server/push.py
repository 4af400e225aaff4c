"""The push transport: messages to http and https addresses, with a pause for hosts and addresses that fail."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.stopwatch import doubled, seconds
from .delivery import Declined, Delivery, Send, is_execute
from .egress import NotCallable, parse_target
from .push_client import PushAttempt, PushClient, PushFailed
from .push_places import GivenBack, PushPlaces, Receiver
from .tenants import Tenants

if TYPE_CHECKING:
    from random import Random

    from .._core import Message
    from .metrics import Metrics
    from .settings import PushSettings

__all__ = ["Push"]

_log = logging.getLogger("resonate_core.delivery")

#: The most messages that this process holds; the others stay in the store. Hosts that have not answered leave half of it to the others.
_MOST_HELD = 10_000
#: The most addresses for which the outbox is read at a time, and those for each message that can be held.
_ADDRESSES_AT_ONCE, _ADDRESSES_PER_MESSAGE = 1000, 10
#: Seconds after which further addresses of a host are read, if the last ones had no messages.
_NEXT_ADDRESSES = 1.0
#: Seconds after which a delivery that is still under way at the end is cancelled again.
_CANCELLED_AGAIN = 1.0


class _Pause:
    """The state of an address, or of a host, that failed."""

    __slots__ = ("attempts", "failures", "over")

    def __init__(self) -> None:
        self.failures = 0
        self.over = True
        self.attempts = 0  # under way since the first failure


class Push:
    """Delivers by POST. After a failure there is a pause, longer each time; the messages stay in the store.

    A host that does not answer is paused with all its addresses; one that answers with an error only at the address.

    Args:
        delivery: Is notified of the end of each message.
        settings: Timeouts, pauses, and the networks that may be called.
        metrics: The counters.
        server_url: The URL that executes give to their receivers.
        random: Spreads the retries of addresses that failed together.
        tenants: The known prefixes of ids.
    """

    def __init__(
        self,
        delivery: Delivery,
        settings: PushSettings,
        metrics: Metrics,
        server_url: str | None,
        random: Random,
        tenants: Tenants,
    ) -> None:
        self._delivery = delivery
        self._settings = settings
        self._metrics = metrics
        self._server_url = server_url
        self._random = random
        self._tenants = tenants
        self._client = PushClient(settings)
        self._places = PushPlaces(settings.concurrency)
        self._pauses: dict[str | Receiver, _Pause] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._held = self._held_of_strangers = 0
        # Addresses with messages that were declined: those of receivers that had no room, and those for which nothing was left.
        self._declined: dict[Receiver, OrderedDict[str, None]] = {}
        self._left_out: OrderedDict[str, None] = OrderedDict()
        self._reading: set[Receiver] = set()  # whose next addresses are read in a moment

    def offer(self, message: Message) -> Send | Declined:
        """Accept it, unless its address or its host is paused, or its host has enough."""
        address = message.address
        if self._is_paused(address):
            return Declined.ADDRESS  # its messages are read again after the pause
        receiver = self._receiver(address, message.id)
        if not self._accepts(receiver, address):
            return Declined.TENANT if receiver.tenant else Declined.ADDRESS
        stranger = not self._places.is_known(receiver)
        self._places.hold(receiver)
        self._held += 1
        self._held_of_strangers += stranger

        def let_go(*_: object) -> None:
            self._places.let_go(receiver)
            self._held -= 1
            self._held_of_strangers -= stranger

        def send(deliver: bool) -> None:
            if not deliver:
                let_go()
                self._read_more(receiver)
                return
            task = asyncio.get_running_loop().create_task(self._push(message, receiver))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(let_go)
            task.add_done_callback(lambda _: self._read_more(receiver))

        return send

    def takes(self, addresses: str) -> bool:
        """Return whether there is room for another message; if not, the outbox is read again when there is."""
        if addresses.endswith("*"):
            return True  # each of them is asked
        if self._is_paused(addresses):
            return False
        # Which tenant a message is of, is not known before it is read.
        return self._tenants.any or self._accepts(self._receiver(addresses, ""), addresses)

    def _accepts(self, receiver: Receiver, address: str) -> bool:
        """Return whether a message to a receiver may be held; if not, remember that its address is to be read."""
        if self._is_paused(receiver) or not self._places.has_room(receiver):
            self._declined.setdefault(receiver, OrderedDict())[address] = None
            return False
        if self._held < _MOST_HELD and (self._places.is_known(receiver) or self._held_of_strangers < _MOST_HELD // 2):
            return True
        self._left_out[address] = None
        return False

    def _receiver(self, address: str, id: str) -> Receiver:
        tenant = self._tenants.of(id)
        try:
            scheme, host, port = _origin(address)
        except NotCallable:  # it fails at once
            scheme, host, port = b"", b"", 0
        return Receiver(tenant, scheme, host, port)

    def _is_paused(self, key: str | Receiver) -> bool:
        pause = self._pauses.get(key)
        return pause is not None and not pause.over

    # -- addresses to read --------------------------------------------------------------------------------------------

    def _read_more(self, receiver: Receiver) -> None:
        """Read the outbox for messages that were declined and may be accepted now."""
        found: list[str] = []
        for last in (True, False):  # of those that were left out, the newest and the oldest
            for _ in range(min(_ADDRESSES_PER_MESSAGE, len(self._left_out)) if self._held < _MOST_HELD else 0):
                found.append(self._left_out.popitem(last=last)[0])
        if receiver in self._declined and not self._is_paused(receiver) and self._places.half_empty(receiver):
            found += self._next_declined(receiver)
        self._delivery.read_again(found)

    def _next_declined(self, receiver: Receiver) -> list[str]:
        """Take the addresses of a receiver to read next: few, so that another one is first the next time."""
        declined = self._declined[receiver]
        count = min(_ADDRESSES_AT_ONCE, _ADDRESSES_PER_MESSAGE * self._places.room(receiver), len(declined))
        taken = [declined.popitem(last=False)[0] for _ in range(count)]
        if not declined:
            del self._declined[receiver]
        elif receiver not in self._reading:  # messages of the addresses that were taken may have been withdrawn
            self._reading.add(receiver)
            asyncio.get_running_loop().call_later(_NEXT_ADDRESSES, self._read_next, receiver)
        return taken

    def _read_next(self, receiver: Receiver) -> None:
        self._reading.discard(receiver)
        self._read_more(receiver)

    # -- one message --------------------------------------------------------------------------------------------------

    async def _push(self, message: Message, receiver: Receiver) -> None:
        kind = "execute" if is_execute(message) else "unblock"
        attempt = PushAttempt()
        held = seconds()
        try:
            async with self._places.taken(receiver, attempt):
                delivered = await self._deliver(message, receiver, attempt, kind)
        except GivenBack:
            delivered = False
        except BaseException:
            self._delivery.undelivered([message])
            raise
        if delivered:
            self._metrics.deliveries.labels("push", kind, "sent").inc()
            self._metrics.delivery_seconds.labels("push").observe(seconds() - held)
            self._delivery.delivered([message])
        else:
            self._delivery.undelivered([message])

    async def _deliver(self, message: Message, receiver: Receiver, attempt: PushAttempt, kind: str) -> bool:
        started = seconds()
        try:
            with self._attempt(message.address), self._attempt(receiver):
                await self._client.push(message.address, message.to_json(self._server_url), attempt)
        except PushFailed as failure:
            self._metrics.deliveries.labels("push", kind, "failed").inc()
            silent = failure.status is None and not failure.permanent
            if failure.status is not None:
                self._answered(receiver)
            # A host that has answered others in the meantime is only silent at this address.
            if silent and not self._places.answered_since(receiver, started):
                self._places.failed(receiver)
                self._failed(message, receiver, failure)
            else:
                self._failed(message, message.address, failure)
            return False
        self._pauses.pop(message.address, None)
        self._answered(receiver)
        return True

    def _answered(self, receiver: Receiver) -> None:
        self._pauses.pop(receiver, None)
        self._places.answered(receiver)

    @contextlib.contextmanager
    def _attempt(self, key: str | Receiver) -> Iterator[None]:
        """Keep the pause of an address or a host from being forgotten: if the attempt fails, it continues."""
        pause = self._pauses.get(key)
        if pause is None:
            yield
            return
        pause.attempts += 1
        try:
            yield
        finally:
            pause.attempts -= 1

    def _failed(self, message: Message, key: str | Receiver, failure: PushFailed) -> None:
        pause = self._pauses.setdefault(key, _Pause())
        if not pause.over:
            return  # several were under way at once: they count as one failure
        pause.failures += 1
        pause.over = False
        longest = self._settings.longest_retry
        wait = longest if failure.permanent else doubled(self._settings.first_retry, pause.failures - 1, longest)
        # ± 20 %, up to the longest: addresses that failed together are not tried again together.
        wait = self._random.uniform(0.8 * wait, min(1.2 * wait, longest))
        _log.warning(
            "a message about %r was not delivered: %s (failure %d of its %s; tried again in %.1f s)",
            message.id,
            failure.reason,  # it names the host alone: the rest of an address is often a secret
            pause.failures,
            "address" if isinstance(key, str) else "host",
            wait,
            extra={"id": message.id, "failures": pause.failures, "seconds": wait},
        )
        asyncio.get_running_loop().call_later(wait, self._try_again, key, pause)

    def _try_again(self, key: str | Receiver, pause: _Pause) -> None:
        pause.over = True
        if isinstance(key, str):
            self._delivery.read_again([key])
        else:
            self._read_more(key)
        # An address without further messages is forgotten. The time limit is room for a store that returns them late.
        forget = 2 * self._settings.longest_retry + self._settings.timeout
        asyncio.get_running_loop().call_later(forget, self._forget, key, pause, pause.failures)

    def _forget(self, key: str | Receiver, pause: _Pause, failures: int) -> None:
        if self._pauses.get(key) is pause and pause.over and pause.failures == failures and not pause.attempts:
            del self._pauses[key]
            if not isinstance(key, str):
                self._places.forget(key)

    async def close(self) -> None:
        """Cancel deliveries under way: unblocks stay in the store, the dispatch timer repeats executes."""
        # More than once: on Python 3.10 a cancellation may be lost if the scope around what it interrupts ends at that moment.
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks, timeout=_CANCELLED_AGAIN)
        self._places.close()
        await self._client.close()


def _origin(address: str) -> tuple[bytes, bytes, int]:
    origin = parse_target(address).url.origin
    return origin.scheme, origin.host, origin.port
