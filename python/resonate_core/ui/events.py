"""Live updates: "something changed", at most twice a second, as server-sent events."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .._core import Watch
from ..base.stopwatch import seconds
from ..errors import ResonateError
from .access import Refused
from .principal import Principal
from .receiving import until_disconnect
from .rooms import DASHBOARD, Room, RoomPlaces, room_of

if TYPE_CHECKING:
    from starlette.types import Receive, Send

    from .._core import Store

__all__ = ["Ticker"]

#: Seconds between two looks at the store; a look that takes long is repeated later.
_PAUSE, _SHARE = 0.5, 10
#: Seconds without an event after which a comment is sent, and the lifetime of a stream.
_QUIET, _LIFETIME = 15.0, 240.0
#: Seconds between two events of a principal with a prefix.
_PACE = 2.0


class Ticker:
    """Reads a store while a stream is open, and notifies all streams when it has changed.

    Args:
        store: The store.
        call: Runs a function of a room beside the event loop.
        most: The most streams of a room.
    """

    def __init__(self, store: Store, call: Callable[[Room, Callable[[], Any]], Awaitable[Any]], most: int) -> None:
        self._store = store
        self._call = call
        self._streams = 0
        self._places = RoomPlaces(most, "ui.streams", "streams of events", 503)
        self._changed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._number = 0
        self._seen: Any = None
        self._ended = False
        self._reader, self._writer = -1, -1

    def end(self) -> None:
        """End every stream. Call it on the event loop."""
        self._ended = True
        self._stop_looking()
        self._wake()

    async def closed(self) -> None:
        """Wait until nothing of it runs any more."""
        if self._looking is not None:
            await asyncio.gather(self._looking, return_exceptions=True)

    def _stop_looking(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def _wake(self) -> None:
        """Wake every stream that waits for a change."""
        woken, self._changed = self._changed, asyncio.Event()
        woken.set()

    async def serve(self, principal: Principal, headers: list[tuple[bytes, bytes]], receive: Receive, send: Send) -> None:
        """Send events until the client disconnects, or the stream has lived long enough.

        Raises:
            Refused: Too many streams of the same room are open, or the server stops.
        """
        if self._ended:
            raise Refused(503, "the server stops")
        room = room_of(principal)
        self._places.take(room)  # before anything is awaited, so that no other stream takes the same place
        self._streams += 1
        try:
            await self._serve(principal, room, headers, receive, send)
        finally:
            self._streams -= 1
            self._places.leave(room)
            if not self._streams:
                self._stop_looking()

    async def _serve(
        self, principal: Principal, room: Room, headers: list[tuple[bytes, bytes]], receive: Receive, send: Send
    ) -> None:
        kept = [header for header in headers if header[0] != b"cache-control"]
        stream = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": [*kept, *stream]})
        await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
        gone = asyncio.ensure_future(until_disconnect(receive))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        try:
            until = seconds() + _LIFETIME
            number = -1
            event = await self._present(room)
            while not gone.done() and not self._ended and seconds() < until:
                if event is None:
                    waited = min(_PACE if principal.prefix else _QUIET, until - seconds())
                    event = await (_paced(waited, gone) if principal.prefix else self._next(number, waited, gone))
                if event is None:
                    body = b":\n\n"
                else:
                    number, facts = _visible(event, number, principal)
                    body = f"event: tick\ndata: {json.dumps(facts, separators=(',', ':'))}\n\n".encode()
                event = None
                if not gone.done():
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            if not gone.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()

    async def _present(self, room: Room) -> tuple[int, dict[str, Any]] | None:
        """Look at the store for a new stream: the last change may be old, and so is its instant. None if the store fails."""
        try:
            seen = await self._call(room, self._facts)
        except ResonateError:
            return None
        self._note(seen, written=False)
        return self._number, {"n": self._number, "changed": False, **seen}

    def _note(self, seen: dict[str, Any], *, written: bool) -> None:
        """Notify all streams if the store was written, or its facts differ from those that were seen last."""
        if written or _but_now(seen) != _but_now(self._seen):
            self._seen = seen
            self._number += 1
            self._wake()

    async def _next(self, number: int, timeout: float, gone: asyncio.Future[None]) -> tuple[int, dict[str, Any]] | None:
        """Return the next change after one; None after the timeout."""
        if self._number == number or self._seen is None:
            waiting: asyncio.Future[Any] = asyncio.ensure_future(self._changed.wait())
            both: set[asyncio.Future[Any]] = {waiting, gone}
            await asyncio.wait(both, timeout=max(timeout, 0), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        if self._ended or self._number == number or self._seen is None:
            return None
        return self._number, {"n": self._number, "changed": number >= 0, **self._seen}

    async def _look(self) -> None:
        """Look at the store again and again, as long as there is a stream."""
        watch = self._open_watch()
        try:
            while self._streams and not self._ended:
                began = seconds()
                # Before the facts are read: an event about a commit that follows the reading would have the facts of before it.
                woken = self._was_written()
                if woken and watch is not None:
                    watch.rearm()
                try:
                    seen = await self._call(DASHBOARD, self._facts)
                except ResonateError:  # a request to a view says what is wrong
                    seen = self._seen
                if seen is not None:
                    self._note(seen, written=woken)
                await asyncio.sleep(max(_PAUSE, _SHARE * (seconds() - began)))
        finally:
            if watch is not None:
                watch.close()
            for descriptor in (self._reader, self._writer):
                if descriptor >= 0:
                    os.close(descriptor)
            self._reader = self._writer = -1

    def _open_watch(self) -> Watch | None:
        """Watch the commits of this process; those of other processes show in the counts."""
        try:
            self._reader, self._writer = os.pipe()
            for descriptor in (self._reader, self._writer):
                os.set_blocking(descriptor, False)
            return self._store.watch(self._writer, settled=True)
        except (ResonateError, OSError):
            return None

    def _was_written(self) -> bool:
        with suppress(BlockingIOError, OSError):
            return bool(os.read(self._reader, 4096))
        return False

    def _facts(self) -> dict[str, Any]:
        queues = self._store.views.queue_totals(0, aged=0)
        together = queues["others"]
        messages = self._store.outbox_counts()["waiting"]
        return {
            "now": self._store.now,
            "counts": together["counts"] if together["queues"] else {},
            "paused": queues["paused"],
            "messages": messages,
            "nextDue": self._store.next_due(),
        }


def _but_now(facts: dict[str, Any] | None) -> Any:
    return None if facts is None else {name: value for name, value in facts.items() if name != "now"}


def _visible(event: tuple[int, dict[str, Any]], number: int, principal: Principal) -> tuple[int, dict[str, Any]]:
    """Return an event as a principal sees it after its event `number`: with a prefix, it has numbers of its own, and no counts."""
    if not principal.prefix:
        return event
    nothing = {"counts": None, "messages": None, "nextDue": None, "paused": None}
    return number + 1, {**event[1], **nothing, "n": number + 1}


async def _paced(timeout: float, gone: asyncio.Future[None]) -> tuple[int, dict[str, Any]]:
    """Return an event after a time, whatever happened: when the store changes tells what others do."""
    await asyncio.wait({gone}, timeout=max(timeout, 0))
    return 0, {"changed": True, "now": None}  # `_visible` numbers it
