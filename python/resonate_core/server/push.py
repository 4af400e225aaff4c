"""The push transport: messages to http and https addresses, with a pause for addresses that fail."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.stopwatch import doubled, seconds
from .delivery import Declined, Delivery, Send, is_execute
from .push_client import PushClient, PushFailed

if TYPE_CHECKING:
    from random import Random

    from .._core import Message
    from .metrics import Metrics
    from .settings import PushSettings

__all__ = ["Push"]

_log = logging.getLogger("resonate_core.delivery")

#: The most messages that this process holds; the others stay in the store.
_MOST_HELD = 10_000


class _Pause:
    """The state of an address that failed."""

    __slots__ = ("attempts", "failures", "over")

    def __init__(self) -> None:
        self.failures = 0
        self.over = True
        self.attempts = 0  # under way since the first failure


class Push:
    """Delivers by POST. After a failure an address is paused, longer each time; its messages stay in the store.

    Args:
        delivery: Is notified of the end of each message.
        settings: Timeouts, pauses, and the networks that may be called.
        metrics: The counters.
        server_url: The URL that executes give to their receivers.
        random: Spreads the retries of addresses that failed together.
    """

    def __init__(
        self,
        delivery: Delivery,
        settings: PushSettings,
        metrics: Metrics,
        server_url: str | None,
        random: Random,
    ) -> None:
        self._delivery = delivery
        self._settings = settings
        self._metrics = metrics
        self._server_url = server_url
        self._random = random
        self._client = PushClient(settings)
        self._pauses: dict[str, _Pause] = {}
        self._declined: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reserved = 0

    def offer(self, message: Message) -> Send | Declined:
        """Accept it, unless its address is paused or too many are under way."""
        pause = self._pauses.get(message.address)
        if pause is not None and not pause.over:
            return Declined.ADDRESS  # its messages are read again after the pause
        if len(self._tasks) + self._reserved >= _MOST_HELD:
            self._declined.add(message.address)
            return Declined.ADDRESS
        self._reserved += 1

        def send(deliver: bool) -> None:
            self._reserved -= 1
            if deliver:
                task = asyncio.get_running_loop().create_task(self._push(message))
                self._tasks.add(task)
                task.add_done_callback(self._ended)

        return send

    def takes(self, addresses: str) -> bool:
        """Return whether there is room for another message."""
        return len(self._tasks) + self._reserved < _MOST_HELD

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._declined and len(self._tasks) < _MOST_HELD // 2:
            addresses, self._declined = self._declined, set()
            self._delivery.read_again(addresses)

    async def _push(self, message: Message) -> None:
        kind = "execute" if is_execute(message) else "unblock"
        started = seconds()
        try:
            with self._attempt(message.address):
                await self._client.push(message.address, message.to_json(self._server_url))
        except PushFailed as failure:
            self._metrics.deliveries.labels("push", kind, "failed").inc()
            self._failed(message, failure)
            self._delivery.undelivered([message])
            return
        except BaseException:
            self._delivery.undelivered([message])
            raise
        self._metrics.deliveries.labels("push", kind, "sent").inc()
        self._metrics.delivery_seconds.labels("push").observe(seconds() - started)
        self._pauses.pop(message.address, None)
        self._delivery.delivered([message])

    @contextlib.contextmanager
    def _attempt(self, address: str) -> Iterator[None]:
        """Keep the pause of an address from being forgotten: if the attempt fails, it continues."""
        pause = self._pauses.get(address)
        if pause is None:
            yield
            return
        pause.attempts += 1
        try:
            yield
        finally:
            pause.attempts -= 1

    def _failed(self, message: Message, failure: PushFailed) -> None:
        pause = self._pauses.setdefault(message.address, _Pause())
        if not pause.over:
            return  # several were under way at once: they count as one failure of the address
        pause.failures += 1
        pause.over = False
        longest = self._settings.longest_retry
        wait = longest if failure.permanent else doubled(self._settings.first_retry, pause.failures - 1, longest)
        # ± 20 %, up to the longest: addresses that failed together are not tried again together.
        wait = self._random.uniform(0.8 * wait, min(1.2 * wait, longest))
        _log.warning(
            "a message about %r was not delivered: %s (failure %d of its address; tried again in %.1f s)",
            message.id,
            failure.reason,  # it names the host alone: the rest of an address is often a secret
            pause.failures,
            wait,
            extra={"id": message.id, "failures": pause.failures, "seconds": wait},
        )
        asyncio.get_running_loop().call_later(wait, self._try_again, message.address, pause)

    def _try_again(self, address: str, pause: _Pause) -> None:
        pause.over = True
        self._delivery.read_again([address])
        # An address without further messages is forgotten. The time limit is room for a store that returns them late.
        forget = 2 * self._settings.longest_retry + self._settings.timeout
        asyncio.get_running_loop().call_later(forget, self._forget, address, pause, pause.failures)

    def _forget(self, address: str, pause: _Pause, failures: int) -> None:
        if self._pauses.get(address) is pause and pause.over and pause.failures == failures and not pause.attempts:
            del self._pauses[address]

    async def close(self) -> None:
        """Cancel deliveries under way: unblocks stay in the store, the dispatch timer repeats executes."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()
