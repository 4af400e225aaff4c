"""Leases on messages: of several servers on one store, one delivers each message (PROTOCOL 5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import Closed

if TYPE_CHECKING:
    from .._core import Message, Store
    from ..calls.serial_executor import Call

__all__ = ["Leases"]

_log = logging.getLogger("resonate_core.delivery")


class Leases:
    """The messages that this server has leased. It renews their leases until they have arrived or are given up.

    Args:
        store: The store.
        call: Calls a function of the store in a thread, one after the other.
        holder: The name of this server, unique among those of the store.
        length: The length of a lease, in ms.
    """

    def __init__(self, store: Store, call: Call, holder: str, length: int) -> None:
        self._store = store
        self._call = call
        self._holder = holder
        self._length = length
        self._held: set[int] = set()  # numbers of messages
        self._renewing: asyncio.Task[None] | None = None

    @property
    def length(self) -> float:
        """The length of a lease, in seconds."""
        return self._length / 1000

    def wait_for_other(self, message: Message) -> float:
        """Return the seconds until another server's lease on this message ends; 0 if there is none."""
        if message.leased_until is None or message.holder == self._holder:
            return 0.0
        return min(max(0.0, (message.leased_until - self._store.now) / 1000), self.length)

    def take(self, numbers: Iterable[int]) -> list[int]:
        """In a thread: lease these messages; return the numbers of those that this server has now."""
        return self._store.lease_messages(numbers, holder=self._holder, lease=self._length)

    def hold(self, numbers: Iterable[int]) -> None:
        """Renew the leases on these messages from now on."""
        self._held.update(numbers)
        if self._held and self._renewing is None:
            self._renewing = asyncio.get_running_loop().create_task(self._renew())

    def end(self, numbers: Iterable[int]) -> None:
        """Forget messages that were acknowledged."""
        self._held.difference_update(numbers)

    def give_up(self, numbers: Iterable[int]) -> None:
        """End the leases on messages that did not arrive, so that any server may deliver them."""
        ended = self._held.intersection(numbers)
        if not ended:
            return
        self._held -= ended
        self._call(lambda: self._store.lease_messages(ended, holder=self._holder, lease=0)).add_done_callback(_log_failure)

    async def _renew(self) -> None:
        try:
            while self._held:
                await asyncio.sleep(self.length / 3)
                numbers = sorted(self._held)
                try:
                    if numbers:
                        await self._call(lambda numbers=numbers: self.take(numbers))  # type: ignore[misc]
                except Closed:
                    return
                except Exception as error:
                    _log.warning(
                        "%d messages under way are not leased any more, and may be delivered twice: %s", len(numbers), error
                    )
        finally:
            self._renewing = None

    async def close(self) -> None:
        """Renew no more leases."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)


def _log_failure(ended: asyncio.Future[object]) -> None:
    if not ended.cancelled() and ended.exception() is not None:
        _log.warning("leases on messages last until they end by themselves: %s", ended.exception())
