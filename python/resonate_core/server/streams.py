"""Poll streams: the open streams, and the choice of a stream for a message (WIRE 3).

A message without a stream is not kept here: it stays in the store, and a stream that opens later gets it from there. So
nothing is lost between two streams of a client.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .addresses import PollAddress

if TYPE_CHECKING:
    from .._core import Message

__all__ = ["Stream", "Streams"]


class Stream:
    """One open connection of a client.

    Args:
        group: The group whose messages it takes a part of.
        id: Its name in the group.
        buffer: How many events wait for it at most.
        prefix: It is given only messages about ids that begin so.
    """

    def __init__(self, group: str, id: str, buffer: int, prefix: str = "") -> None:
        self.group = group
        self.id = id
        self.prefix = prefix
        self.open = True
        self.closing = False  # it ends once everything that waits is written
        self.reserved = 0  # places that are kept for messages which are being taken out of the store
        self.unconfirmed: deque[tuple[float, Message]] = deque()  # written a moment ago, and when
        self._buffer = buffer
        self._events: deque[tuple[Message, bytes]] = deque()
        self._news = asyncio.Event()

    def __repr__(self) -> str:
        return f"<{'open' if self.open else 'closed'} Stream of {self.id!r} in group {self.group!r}>"

    @property
    def has_room(self) -> bool:
        """Whether it takes another event now."""
        return self.open and not self.closing and len(self._events) + self.reserved < self._buffer

    @property
    def half_empty(self) -> bool:
        """Whether it has room for more than a few: reading the store for one event at a time would be slow."""
        return self.has_room and len(self._events) + self.reserved <= self._buffer // 2

    def put(self, message: Message, event: bytes) -> None:
        """Adds an event to be written."""
        self._events.append((message, event))
        self._news.set()

    def end(self) -> None:
        """Asks for its end: what waits is still written."""
        self.closing = True
        self._news.set()

    async def next(self, timeout: float) -> Message | None:
        """The next message to write; None when none came within so many seconds, or none comes any more."""
        if not self._events and not self.closing:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), timeout)
            except asyncio.TimeoutError:
                return None
        return self._events[0][0] if self._events else None

    @property
    def event(self) -> bytes:
        """The next message as it is written."""
        return self._events[0][1]

    def written(self, now: float) -> Message:
        """The next message was handed to the connection."""
        message, _ = self._events.popleft()
        self.unconfirmed.append((now, message))
        return message

    def leave(self) -> list[Message]:
        """Mark it as closed; return the messages that were not written."""
        self.open = False
        left = [message for message, _ in self._events]
        self._events.clear()
        self._news.set()
        return left


class Streams:
    """All open streams of one server, by group and id.

    Args:
        grace: Seconds for which messages that prefer an id wait for it, after its stream ended.
        now: Seconds of a clock that does not go back.
    """

    def __init__(self, grace: float, now: Callable[[], float]) -> None:
        self._grace = grace
        self._now = now
        # The newest stream of an id is the last; the ids of a group take turns from the front.
        self._groups: dict[str, dict[str, list[Stream]]] = {}
        self._left: dict[tuple[str, str], float] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Stream]:
        for ids in self._groups.values():
            for streams in ids.values():
                yield from streams

    def add(self, stream: Stream) -> None:
        """Opens one."""
        self._groups.setdefault(stream.group, {}).setdefault(stream.id, []).append(stream)
        self._left.pop((stream.group, stream.id), None)
        self._count += 1

    def remove(self, stream: Stream) -> None:
        """Closes one."""
        ids = self._groups[stream.group]
        ids[stream.id].remove(stream)
        self._count -= 1
        if ids[stream.id]:
            return
        del ids[stream.id]
        if not ids:
            del self._groups[stream.group]
        self._forget()
        self._left[stream.group, stream.id] = self._now() + self._grace

    def choose(self, address: PollAddress, about: str) -> Stream | None:
        """The stream that a message about an id goes to now.

        None: no stream may have it or has room, or the preferred one may be about to return.
        """
        ids = self._groups.get(address.group)
        if ids is None:
            return None
        if address.id is not None:
            newest = _newest(ids.get(address.id, ()), about)
            if newest is not None or not address.any_stream:
                return newest
            if self.returns_in(address) > 0:
                return None
        elif not address.any_stream:
            return None
        for id, streams in ids.items():
            chosen = _newest(streams, about)
            if chosen is not None:
                ids[id] = ids.pop(id)  # to the end of the line
                return chosen
        return None

    def has(self, address: PollAddress) -> bool:
        """Whether the id that an address names is connected, or it names none."""
        return address.id is None or address.id in self._groups.get(address.group, ())

    def any_restricted(self, group: str) -> bool:
        """Whether a stream of the group is given messages about some ids only."""
        return any(stream.prefix for streams in self._groups.get(group, {}).values() for stream in streams)

    def has_group(self, group: str) -> bool:
        """Return whether a stream of a group is open."""
        return group in self._groups

    def any_with_room(self, group: str) -> bool:
        """Whether a stream of the group takes another event now."""
        return any(stream.has_room for streams in self._groups.get(group, {}).values() for stream in streams)

    def returns_in(self, address: PollAddress) -> float:
        """For how many more seconds the preferred id of an address is waited for; 0: it is not, or is here."""
        if address.id is None or not address.any_stream:
            return 0
        until = self._left.get((address.group, address.id))
        return max(0.0, until - self._now()) if until is not None else 0

    def _forget(self) -> None:
        """Drops the ids whose grace is over; they are in order of leaving."""
        now = self._now()
        while self._left:
            oldest = next(iter(self._left))
            if self._left[oldest] > now:
                return
            del self._left[oldest]


def _newest(streams: list[Stream] | tuple[()], about: str) -> Stream | None:
    """Return the newest stream of an id, if it has room: the older ones may be dead connections that were not noticed yet."""
    for stream in reversed(streams):
        if not stream.closing and about.startswith(stream.prefix):
            return stream if stream.has_room else None
    return None
