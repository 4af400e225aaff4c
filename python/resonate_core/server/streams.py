"""Poll streams: the open streams, and the choice of a stream for a message (WIRE 3).

A message without a stream is not kept here: it stays in the store, and a stream that opens later gets it from there. So
nothing is lost between two streams of a client.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from .addresses import PollAddress

if TYPE_CHECKING:
    from .._core import Message

__all__ = ["Stream", "Streams"]


#: The most ids without a stream for which messages wait; beyond, the oldest one gives way.
_MOST_IN_GRACE = 10_000
#: The most tasks and promises of which the last receiver is remembered.
_MOST_RECEIVERS = 10_000


class Stream:
    """One open connection of a client.

    Args:
        group: The group whose messages it shares.
        id: Its name in the group.
        buffer: The most events that wait in it.
        prefix: It gets only messages about ids that begin with it.
    """

    def __init__(self, group: str, id: str, buffer: int, prefix: str = "") -> None:
        self.group = group
        self.id = id
        self.prefix = prefix
        self.open = True
        self.closing = False  # it ends after its queued events
        self.reserved = 0  # places for messages that are being taken out of the store
        self.unconfirmed: deque[tuple[float, Message]] = deque()  # when it was written, and the message
        self._buffer = buffer
        self._events: deque[tuple[Message, bytes]] = deque()
        self._changed = asyncio.Event()

    def __repr__(self) -> str:
        return f"<{'open' if self.open else 'closed'} Stream of {self.id!r} in group {self.group!r}>"

    @property
    def has_room(self) -> bool:
        """Whether it accepts another event now."""
        return self.open and not self.closing and len(self._events) + self.reserved < self._buffer

    @property
    def half_empty(self) -> bool:
        """Whether it has room for many events: reading the store for one event at a time would be slow."""
        return self.has_room and len(self._events) + self.reserved <= self._buffer // 2

    def put(self, message: Message, event: bytes) -> None:
        """Queue an event."""
        self._events.append((message, event))
        self._changed.set()

    def end(self) -> None:
        """End it after its queued events."""
        self.closing = True
        self._changed.set()

    async def next(self, timeout: float) -> Message | None:
        """Return the next message to write; None after the timeout (in seconds), or if it ends."""
        if not self._events and not self.closing:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), timeout)
            except asyncio.TimeoutError:
                return None
        return self._events[0][0] if self._events else None

    @property
    def event(self) -> bytes:
        """The next message, as a server-sent event."""
        return self._events[0][1]

    def written(self, now: float) -> Message:
        """Remove the next message from the queue, since the connection has it, and return it."""
        message, _ = self._events.popleft()
        self.unconfirmed.append((now, message))
        return message

    def close(self) -> list[Message]:
        """Mark it as closed; return the messages that were not written."""
        self.open = False
        left = [message for message, _ in self._events]
        self._events.clear()
        self._changed.set()
        return left


class Streams:
    """All open streams of one server, by group and id.

    Args:
        grace: Seconds for which messages that prefer an id wait for its next stream.
        now: Returns the seconds of a monotonic clock.
    """

    def __init__(self, grace: float, now: Callable[[], float]) -> None:
        self._grace = grace
        self._now = now
        # The newest stream of an id is the last one; the first id of a group gets the next message, and goes to the end.
        self._groups: dict[str, dict[str, list[Stream]]] = {}
        self._grace_until: dict[tuple[str, str], float] = {}
        self._receivers: OrderedDict[tuple[str, str], str] = OrderedDict()  # the last one, by group and what the message is about
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Stream]:
        for ids in self._groups.values():
            for streams in ids.values():
                yield from streams

    def add(self, stream: Stream) -> None:
        """Open a stream."""
        self._groups.setdefault(stream.group, {}).setdefault(stream.id, []).append(stream)
        self._grace_until.pop((stream.group, stream.id), None)
        self._count += 1

    def remove(self, stream: Stream) -> None:
        """Close a stream."""
        ids = self._groups[stream.group]
        ids[stream.id].remove(stream)
        self._count -= 1
        if ids[stream.id]:
            return
        del ids[stream.id]
        if not ids:
            del self._groups[stream.group]
        self._drop_expired()
        self._grace_until[stream.group, stream.id] = self._now() + self._grace
        if len(self._grace_until) > _MOST_IN_GRACE:
            del self._grace_until[next(iter(self._grace_until))]

    def choose(self, address: PollAddress, about: str) -> Stream | None:
        """Return the stream that gets a message about an id now.

        None: no permitted stream has room, or the preferred id is still in its grace.
        """
        ids = self._groups.get(address.group)
        if ids is None:
            return None
        if address.id is not None:
            newest = _newest(ids.get(address.id, ()), about)
            if newest is not None or not address.any_stream:
                return newest
            if self.grace_left(address) > 0:
                return None
        elif not address.any_stream:
            return None
        return self._next_in_turn(ids, address.group, about)

    def _next_in_turn(self, ids: dict[str, list[Stream]], group: str, about: str) -> Stream | None:
        """Return the stream whose turn it is.

        A task that its last receiver has released goes to another one, and takes that one's turn.
        """
        last = self._receivers.get((group, about))
        for id in chain((id for id in ids if id != last), (id for id in (last,) if id in ids)):
            chosen = _newest(ids[id], about)
            if chosen is not None:
                ids[id] = ids.pop(id)  # to the end
                self._receivers[group, about] = id
                self._receivers.move_to_end((group, about))
                if len(self._receivers) > _MOST_RECEIVERS:
                    self._receivers.popitem(last=False)
                return chosen
        return None

    def has(self, address: PollAddress) -> bool:
        """Return whether the id that an address names is connected; true if it names none."""
        return address.id is None or address.id in self._groups.get(address.group, ())

    def any_restricted(self, group: str) -> bool:
        """Return whether a stream of the group gets messages about some ids only."""
        return any(stream.prefix for streams in self._groups.get(group, {}).values() for stream in streams)

    def has_group(self, group: str) -> bool:
        """Return whether a stream of a group is open."""
        return group in self._groups

    def any_with_room(self, group: str) -> bool:
        """Return whether a stream of the group accepts another event now."""
        return any(stream.has_room for streams in self._groups.get(group, {}).values() for stream in streams)

    def grace_left(self, address: PollAddress) -> float:
        """Return the seconds for which messages still wait for the preferred id of an address; 0 if they do not."""
        if address.id is None or not address.any_stream:
            return 0
        until = self._grace_until.get((address.group, address.id))
        return max(0.0, until - self._now()) if until is not None else 0

    def _drop_expired(self) -> None:
        """Drop the ids whose grace is over; they are in the order in which their streams ended."""
        now = self._now()
        while self._grace_until:
            oldest = next(iter(self._grace_until))
            if self._grace_until[oldest] > now:
                return
            del self._grace_until[oldest]


def _newest(streams: list[Stream] | tuple[()], about: str) -> Stream | None:
    """Return the newest stream of an id, if it has room: an older one may be a dead connection."""
    for stream in reversed(streams):
        if not stream.closing and about.startswith(stream.prefix):
            return stream if stream.has_room else None
    return None
