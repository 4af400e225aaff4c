"""The poll transport: messages as server-sent events, one stream per client (WIRE 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..base.stopwatch import seconds
from . import event_stream
from .addresses import PollAddress, canonical_poll, parse_poll
from .delivery import Declined, Delivery, Send, is_execute
from .streams import Stream, Streams

if TYPE_CHECKING:
    from starlette.types import Receive, Send as AsgiSend

    from .._core import Message
    from .metrics import Metrics
    from .settings import StreamSettings

__all__ = ["Poll"]

#: The most addresses in another form than that of `canonical_poll` that are remembered ...
_MOST_OTHER_FORMS = 10_000
#: ... and, if there are more, the seconds between two reads of the whole outbox.
_READ_ALL_PAUSE = 60.0
_EVERYTHING = "*"

#: Seconds after its lifetime for which a stream still sends its queued messages to a slow client.
_LAST_TIMEOUT = 10


class Poll:
    """All poll streams of one server.

    Args:
        delivery: Is notified of the end of each message.
        settings: Lifetimes and sizes.
        metrics: The counters.
        server_url: The URL that executes give to their receivers.
        wait_for_others: Returns the seconds for which another process may still give a message to the stream that it prefers.
    """

    def __init__(
        self,
        delivery: Delivery,
        settings: StreamSettings,
        metrics: Metrics,
        server_url: str | None,
        wait_for_others: Callable[[Message], float] = lambda message: 0.0,
    ) -> None:
        self._delivery = delivery
        self._settings = settings
        self._metrics = metrics
        self._server_url = server_url
        self._wait_for_others = wait_for_others
        # Messages without a stream stay in the store, and a stream that opens finds them by its addresses. Remembered here are the
        # streams that are open and full while messages wait for them, and the addresses in another form.
        self._full: set[PollAddress] = set()
        self._other_forms: dict[str, set[str]] = {}  # by group
        self._other_forms_count = 0
        self._too_many_forms = False  # there are more of them than can be remembered
        self._reading_all = False
        self._closed = False
        self.streams = Streams(settings.grace, seconds)

    # -- as a transport -----------------------------------------------------------------------------------------------

    def offer(self, message: Message) -> Send | Declined:
        """Reserve a place in the stream that the address names."""
        address = parse_poll(message.address)
        if address is None:
            return Declined.ADDRESS
        others = 0.0 if self.streams.has(address) else self._wait_for_others(message)
        stream = None if others > 0 else self.streams.choose(address, message.id)
        if stream is None:
            self._remember(address, message.address)
            wait = max(others, self.streams.grace_left(address))
            if wait > 0:
                asyncio.get_running_loop().call_later(wait + 0.001, self._delivery.read_again, [message.address])
            return Declined.MESSAGE if self.streams.any_restricted(address.group) else Declined.ADDRESS
        stream.reserved += 1

        def send(deliver: bool) -> None:
            stream.reserved -= 1
            if not deliver:
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
        self._remember(address, addresses)
        return False

    def listens(self, address: str) -> bool | None:
        """Return whether a stream of this server takes messages to an address; None for an address of another kind."""
        parsed = parse_poll(address)
        if parsed is None:
            return None
        if parsed.id is not None and self.streams.has(parsed):
            return True
        return parsed.any_stream and self.streams.has_group(parsed.group)

    def _remember(self, address: PollAddress, written: str) -> None:
        if address.any_stream and self.streams.has_group(address.group):
            self._full.add(PollAddress(True, address.group, None))
        elif address.id is not None and self.streams.has(address):
            self._full.add(PollAddress(False, address.group, address.id))
        if written.removesuffix("/*") == canonical_poll(address):
            return
        other_forms = self._other_forms.setdefault(address.group, set())
        if written in other_forms:
            return
        if self._other_forms_count < _MOST_OTHER_FORMS:
            other_forms.add(written)
            self._other_forms_count += 1
        else:
            self._too_many_forms = True

    def end_all(self) -> None:
        """End every stream after its queued messages, and open no new one: the server stops."""
        self._closed = True
        for stream in list(self.streams):
            stream.end()

    async def close(self) -> None:
        """End every stream, and wait for their ends for a second at most."""
        self.end_all()
        until = seconds() + 1
        while len(self.streams) and seconds() < until:
            await asyncio.sleep(0.01)

    def _read_again(self, stream: Stream) -> None:
        """Read the messages for one stream again, without those for other streams."""
        self._full.difference_update(_addresses_of(stream))
        other_forms = self._other_forms.pop(stream.group, set())
        self._other_forms_count -= len(other_forms)
        any_stream, own = map(canonical_poll, _addresses_of(stream))
        self._delivery.read_again([any_stream, f"{any_stream}/*", own, *other_forms])
        if self._too_many_forms and not self._reading_all:
            self._reading_all = True
            asyncio.get_running_loop().call_later(_READ_ALL_PAUSE, self._read_all)

    def _read_all(self) -> None:
        self._reading_all = self._too_many_forms = False
        self._delivery.read_again([_EVERYTHING])

    # -- one stream ---------------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether no stream is opened any more."""
        return self._closed

    async def serve(self, group: str, id: str, prefix: str, receive: Receive, send: AsgiSend) -> None:
        """Answer one GET with events about ids that begin with `prefix`, until its lifetime is over or its client disconnects."""
        stream = Stream(group, id, self._settings.buffer, prefix)
        await event_stream.begin(send)
        disconnect = asyncio.get_running_loop().create_task(event_stream.until_disconnect(receive))
        disconnect.add_done_callback(lambda _: stream.end())
        self._opened(stream)
        # A client that does not read keeps its connection, and loses the messages in its stream.
        timer = asyncio.get_running_loop().call_later(self._settings.lifetime + _LAST_TIMEOUT, self._ended, stream, False)
        clean = False
        try:
            clean = await self._write_events(stream, send, disconnect)
        finally:
            timer.cancel()
            self._ended(stream, clean)
            disconnect.cancel()

    async def _write_events(self, stream: Stream, send: AsgiSend, disconnect: asyncio.Task[None]) -> bool:
        """Write events until the stream ends; return whether the server ended it after all messages were written."""
        ends_at = seconds() + self._settings.lifetime
        while not disconnect.done():
            left = ends_at - seconds()
            if left <= 0:
                stream.end()
            keepalive = self._settings.keepalive
            message = await stream.next(min(keepalive, max(left, 0)))
            if message is not None:
                await event_stream.write(send, stream.event)
                if not stream.open:
                    break
                self._written(stream)
            elif stream.closing:
                if disconnect.done():
                    break
                await event_stream.end(send)
                return not disconnect.done()
            elif left >= keepalive:
                await event_stream.write(send, event_stream.COMMENT)
        return False

    def _opened(self, stream: Stream) -> None:
        self.streams.add(stream)
        self._metrics.streams_opened.inc()
        self._read_again(stream)
        if self._closed:
            stream.end()

    def _written(self, stream: Stream) -> None:
        message = stream.written(seconds())
        self._metrics.deliveries.labels("poll", "execute" if is_execute(message) else "unblock", "sent").inc()
        if len(stream.unconfirmed) == 1:
            asyncio.get_running_loop().call_later(self._settings.acknowledge_after, self._confirm, stream)
        if stream.half_empty and not self._full.isdisjoint(_addresses_of(stream)):
            self._read_again(stream)

    def _confirm(self, stream: Stream) -> None:
        """Report events as delivered whose stream is still open `acknowledge_after` seconds after they were written."""
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
        if not self._full.isdisjoint(_addresses_of(stream)):
            self._read_again(stream)  # other streams of its group, or of its id, may have room
        unwritten = stream.close()
        unconfirmed = [message for _, message in stream.unconfirmed]
        stream.unconfirmed.clear()
        if clean:
            self._delivery.delivered(unconfirmed)
            self._delivery.undelivered(unwritten)
        else:
            self._delivery.undelivered(unconfirmed + unwritten)


def _addresses_of(stream: Stream) -> tuple[PollAddress, PollAddress]:
    """The addresses of a stream: its group's and its own."""
    return PollAddress(True, stream.group, None), PollAddress(False, stream.group, stream.id)
