"""The poll transport: messages as server-sent events, one stream a client (WIRE 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._stopwatch import seconds
from .addresses import PollAddress, canonical_poll, parse_poll
from .delivery import Delivery, NotNow, Send, is_execute
from .streams import Stream, Streams

if TYPE_CHECKING:
    from starlette.types import Receive, Send as AsgiSend

    from .._core import Message
    from .metrics import Metrics
    from .settings import StreamSettings

__all__ = ["Poll"]

#: How many addresses are remembered that are written in another way than `canonical_poll` does ...
_ODD_REMEMBERED = 10_000
#: ... and beyond that how many seconds pass from one look through the whole outbox to the next.
_ODD_PAUSE = 60.0
_EVERYTHING = "*"

_HEADERS = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))
#: Seconds after its time for which a stream is still given what waits in it, if its client reads so slowly.
_LAST_PATIENCE = 10
# A comment. Some servers send no headers before there is a body.
_SILENCE = b":\n\n"


class Poll:
    """All poll streams of one server.

    Args:
        delivery: Is notified of the end of each message.
        settings: Lifetimes and sizes.
        metrics: The counters.
        server_url: The URL that executes give to their receivers.
        elsewhere: For how many seconds more another process may have the very stream that a message prefers.
    """

    def __init__(
        self,
        delivery: Delivery,
        settings: StreamSettings,
        metrics: Metrics,
        server_url: str | None,
        elsewhere: Callable[[Message], float] = lambda message: 0.0,
    ) -> None:
        self._delivery = delivery
        self._settings = settings
        self._metrics = metrics
        self._server_url = server_url
        self._elsewhere = elsewhere
        # Messages that nobody could take stay in the store, where a stream that opens finds them by the addresses that name it. What
        # is remembered here: that there are some for streams which are open and full, and addresses that are written in another way.
        self._parked: set[PollAddress] = set()
        self._odd: dict[str, set[str]] = {}  # by group
        self._odd_count = 0
        self._too_odd = False  # there are more of them than are remembered
        self._looking_through = False
        self._closed = False
        self.streams = Streams(settings.grace, seconds)

    # -- as a transport -----------------------------------------------------------------------------------------------

    def offer(self, message: Message) -> Send | NotNow:
        """Keeps a place in the stream that the address names."""
        address = parse_poll(message.address)
        if address is None:
            return NotNow.ADDRESS
        elsewhere = 0.0 if self.streams.has(address) else self._elsewhere(message)
        stream = None if elsewhere > 0 else self.streams.choose(address, message.id)
        if stream is None:
            self._park(address, message.address)
            wait = max(elsewhere, self.streams.returns_in(address))
            if wait > 0:
                asyncio.get_running_loop().call_later(wait + 0.001, self._delivery.look_at, [message.address])
            return NotNow.MESSAGE if self.streams.any_restricted(address.group) else NotNow.ADDRESS
        stream.reserved += 1

        def send(really: bool) -> None:
            stream.reserved -= 1
            if not really:
                return
            if stream.open and not stream.closing:
                stream.put(message, b"data: " + message.to_json(self._server_url) + b"\n\n")
            else:
                self._delivery.undelivered([message])

        return send

    def takes(self, addresses: str) -> bool:
        """Return whether a stream of the group of these addresses has room; if not, the outbox is read again when one has."""
        address = parse_poll(addresses.removesuffix("/*"))
        if address is None or self.streams.any_with_room(address.group):
            return address is not None
        self._park(address, addresses)
        return False

    def _park(self, address: PollAddress, written: str) -> None:
        if address.any_stream and self.streams.has_group(address.group):
            self._parked.add(PollAddress(True, address.group, None))
        elif address.id is not None and self.streams.has(address):
            self._parked.add(PollAddress(False, address.group, address.id))
        if written.removesuffix("/*") == canonical_poll(address):
            return
        odd = self._odd.setdefault(address.group, set())
        if written in odd:
            return
        if self._odd_count < _ODD_REMEMBERED:
            odd.add(written)
            self._odd_count += 1
        else:
            self._too_odd = True

    def end_all(self) -> None:
        """Ends every stream, each after what waits in it, and opens no new one: the server is about to stop."""
        self._closed = True
        for stream in list(self.streams):
            stream.end()

    async def close(self) -> None:
        """Ends every stream and waits for their ends, but not longer than a client takes to notice."""
        self.end_all()
        patience = seconds() + 1
        while len(self.streams) and seconds() < patience:
            await asyncio.sleep(0.01)

    def _look_again(self, stream: Stream) -> None:
        """Makes what waits for a stream be read: what waits for others may be as much as it likes."""
        self._parked.difference_update(_parked_of(stream))
        odd = self._odd.pop(stream.group, set())
        self._odd_count -= len(odd)
        anybody, own = map(canonical_poll, _parked_of(stream))
        self._delivery.look_at([anybody, f"{anybody}/*", own, *odd])
        if self._too_odd and not self._looking_through:
            self._looking_through = True
            asyncio.get_running_loop().call_later(_ODD_PAUSE, self._look_through)

    def _look_through(self) -> None:
        self._looking_through = self._too_odd = False
        self._delivery.look_at([_EVERYTHING])

    # -- one stream ---------------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether no stream is opened any more."""
        return self._closed

    async def serve(self, group: str, id: str, prefix: str, receive: Receive, send: AsgiSend) -> None:
        """Answers one GET with events about ids that begin with `prefix`, until its time is over or its client is gone."""
        stream = Stream(group, id, self._settings.buffer, prefix)
        await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
        await send({"type": "http.response.body", "body": _SILENCE, "more_body": True})
        gone = asyncio.get_running_loop().create_task(_until_gone(receive))
        gone.add_done_callback(lambda _: stream.end())
        self._opened(stream)
        # A client that does not read holds its connection for as long as it likes, but not the messages in its stream.
        late = asyncio.get_running_loop().call_later(self._settings.lifetime + _LAST_PATIENCE, self._ended, stream, False)
        clean = False
        try:
            clean = await self._write_events(stream, send, gone)
        finally:
            late.cancel()
            self._ended(stream, clean)
            gone.cancel()

    async def _write_events(self, stream: Stream, send: AsgiSend, gone: asyncio.Task[None]) -> bool:
        """Whether the stream ended by our own will, everything written."""
        ends_at = seconds() + self._settings.lifetime
        while not gone.done():
            left = ends_at - seconds()
            if left <= 0:
                stream.end()
            silence = self._settings.keepalive
            message = await stream.next(min(silence, max(left, 0)))
            if message is not None:
                await send({"type": "http.response.body", "body": stream.event, "more_body": True})
                if not stream.open:
                    break
                self._written(stream)
            elif stream.closing:
                if gone.done():
                    break
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return not gone.done()
            elif left >= silence:
                await send({"type": "http.response.body", "body": _SILENCE, "more_body": True})
        return False

    def _opened(self, stream: Stream) -> None:
        self.streams.add(stream)
        self._metrics.streams_opened.inc()
        self._look_again(stream)
        if self._closed:
            stream.end()

    def _written(self, stream: Stream) -> None:
        message = stream.written(seconds())
        self._metrics.deliveries.labels("poll", "execute" if is_execute(message) else "unblock", "sent").inc()
        if len(stream.unconfirmed) == 1:
            asyncio.get_running_loop().call_later(self._settings.acknowledge_after, self._confirm, stream)
        if stream.half_empty and not self._parked.isdisjoint(_parked_of(stream)):
            self._look_again(stream)

    def _confirm(self, stream: Stream) -> None:
        """A moment after an event was written its stream is still open: it counts as delivered."""
        now = seconds()
        confirmed = []
        while stream.unconfirmed and stream.unconfirmed[0][0] + self._settings.acknowledge_after <= now:
            confirmed.append(stream.unconfirmed.popleft()[1])
        self._delivery.delivered(confirmed)
        if stream.unconfirmed:
            wait = stream.unconfirmed[0][0] + self._settings.acknowledge_after - now
            asyncio.get_running_loop().call_later(wait, self._confirm, stream)

    def _ended(self, stream: Stream, clean: bool) -> None:
        if not stream.open:
            return
        self.streams.remove(stream)
        if not self._parked.isdisjoint(_parked_of(stream)):
            self._look_again(stream)  # others of its group, or of its name, may have room
        unwritten = stream.leave()
        unconfirmed = [message for _, message in stream.unconfirmed]
        stream.unconfirmed.clear()
        if clean:
            self._delivery.delivered(unconfirmed)
            self._delivery.undelivered(unwritten)
        else:
            self._delivery.undelivered(unconfirmed + unwritten)


def _parked_of(stream: Stream) -> tuple[PollAddress, PollAddress]:
    """What a stream takes messages of: its group's, and its own."""
    return PollAddress(True, stream.group, None), PollAddress(False, stream.group, stream.id)


async def _until_gone(receive: Receive) -> None:
    message: Any = None
    while message is None or message["type"] != "http.disconnect":
        message = await receive()
