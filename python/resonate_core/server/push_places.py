"""The places of pushes: which delivery begins next, so that receivers that do not answer take no place from the others.

A place belongs to a delivery under way, and a delivery without an answer keeps its place until the time limit. So one host has at
most a quarter of the places, and a few until it has answered for the first time; the ids of one tenant have at most half of them; and
hosts that have not answered leave a quarter to those that have. Hosts with nothing under way are served in turn, and among the new
ones the last one may be the first: an enemy can name any number of hosts, but nothing tells which of them is his. While a host has
nothing under way and finds no place, deliveries without an answer keep half of the places, and beyond those, one that is older than
`PATIENCE` gives way.

Hosts are not told apart by their addresses: an enemy needs no host of his own, as any address that does not answer will do.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

from ..base.stopwatch import seconds
from .push_client import PATIENCE, PushAttempt

__all__ = ["GivenBack", "PushPlaces", "Receiver"]

#: The most places of a host that has not answered yet, and of one that failed.
_OF_NEW, _OF_FAILED = 4, 1
#: For each place of a host that has answered, this many messages are held, so that none stays empty.
_HELD_PER_PLACE = 4
#: The most hosts of which it is remembered that they answered.
_MOST_KNOWN = 10_000


_Key = TypeVar("_Key")


class Receiver(NamedTuple):
    """A host, for the ids of one tenant: a tenant cannot have the messages of others delayed by making their host fail."""

    tenant: str
    scheme: bytes
    host: bytes
    port: int


class GivenBack(Exception):
    """The receiver of a delivery that waited for a place has failed."""


class _Place:
    """One delivery: in a queue until its turn, then under way."""

    __slots__ = ("attempt", "receiver", "started", "stranger", "turn")

    def __init__(self, receiver: Receiver, attempt: PushAttempt) -> None:
        self.receiver = receiver
        self.attempt = attempt
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.started: float | None = None
        self.stranger = False


class _Queues:
    """The receivers of one tenant that wait and may have another place, by what is known of them."""

    def __init__(self) -> None:
        self.known: OrderedDict[Receiver, None] = OrderedDict()  # which answered
        self.new: OrderedDict[Receiver, None] = OrderedDict()  # have neither answered nor failed, and nothing is under way
        self.others: OrderedDict[Receiver, None] = OrderedDict()
        self._turn = 0

    def __iter__(self) -> Iterator[OrderedDict[Receiver, None]]:
        return iter((self.known, self.new, self.others))

    def next(self, strangers: bool) -> Receiver | None:
        """Return the receiver whose turn it is; a host that has not answered only if `strangers` may have a place."""
        # Of the new ones the last and the first in turn: those that came with it do not delay the last, nor those after it the first.
        choices = [(self.known, False)]
        if strangers:
            choices += [(self.new, True), (self.others, False), (self.new, False)]
        for step in range(len(choices)):
            queue, last = choices[(self._turn + step) % len(choices)]
            if queue:
                self._turn += step + 1
                return next(reversed(queue)) if last else next(iter(queue))
        return None


class PushPlaces:
    """The places of one server. Call its methods on its event loop.

    Args:
        most: How many deliveries are under way at a time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_receiver = max(1, most // 4)
        self._of_tenant = max(1, most // 2)
        self._of_strangers = max(1, most - most // 4)
        self._known: OrderedDict[Receiver, float] = OrderedDict()  # when it answered
        self._failed: set[Receiver] = set()
        self._waiting: dict[Receiver, deque[_Place]] = {}
        self._tenants: OrderedDict[str, _Queues] = OrderedDict()  # those with receivers in their queues
        self._under_way: dict[_Place, None] = {}
        self._taken: Counter[Receiver] = Counter()
        self._taken_by_tenant: Counter[str] = Counter()
        self._taken_by_strangers = 0
        self._held: Counter[Receiver] = Counter()  # reserved, waiting and under way
        self._timer: asyncio.TimerHandle | None = None

    # -- what is held -------------------------------------------------------------------------------------------------

    def has_room(self, receiver: Receiver) -> bool:
        """Whether another message of a receiver may be held; the others stay in the store."""
        return self._held[receiver] < self._most_held(receiver)

    def half_empty(self, receiver: Receiver) -> bool:
        """Whether so much room is left that the store is to be read for more."""
        return 2 * self._held[receiver] <= self._most_held(receiver)

    def room(self, receiver: Receiver) -> int:
        """Return how many more messages of a receiver may be held."""
        return self._most_held(receiver) - self._held[receiver]

    def hold(self, receiver: Receiver) -> None:
        """Count a message as held, until `let_go`."""
        self._held[receiver] += 1

    def let_go(self, receiver: Receiver) -> None:
        """Count a message as held no more."""
        _decrement(self._held, receiver)

    def _most_held(self, receiver: Receiver) -> int:
        limit = self._limit(receiver)
        return limit * _HELD_PER_PLACE if self.is_known(receiver) else limit

    # -- what is known of a receiver ----------------------------------------------------------------------------------

    def is_known(self, receiver: Receiver) -> bool:
        """Whether it has answered, and has not failed since then."""
        return receiver in self._known

    def answered_since(self, receiver: Receiver, started: float) -> bool:
        """Whether it has answered at this instant or later."""
        return self._known.get(receiver, -math.inf) >= started

    def answered(self, receiver: Receiver) -> None:
        """Let a receiver have its full part of the places."""
        self._failed.discard(receiver)
        self._known[receiver] = seconds()
        self._known.move_to_end(receiver)
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        self._queue(receiver)
        self._start()

    def failed(self, receiver: Receiver) -> None:
        """Let a receiver that did not answer have one place from now on; what waits for another is given back."""
        self._known.pop(receiver, None)
        self._failed.add(receiver)
        for place in self._waiting.pop(receiver, ()):
            if not place.turn.done():
                place.turn.set_exception(GivenBack())
        self._queue(receiver)

    def forget(self, receiver: Receiver) -> None:
        """Forget that a receiver failed."""
        self._failed.discard(receiver)
        self._queue(receiver)

    def _limit(self, receiver: Receiver) -> int:
        if receiver in self._failed:
            return _OF_FAILED
        return self._of_receiver if receiver in self._known else min(_OF_NEW, self._of_receiver)

    # -- turns --------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def taken(self, receiver: Receiver, attempt: PushAttempt) -> AsyncIterator[None]:
        """Wait for a place, and keep it while the block runs.

        Raises:
            GivenBack: The receiver failed in the meantime.
        """
        place = _Place(receiver, attempt)
        self._waiting.setdefault(receiver, deque()).append(place)
        self._queue(receiver)
        self._start()
        try:
            await place.turn
            yield
        finally:
            self._leave(place)

    def close(self) -> None:
        """End no more deliveries."""
        if self._timer is not None:
            self._timer.cancel()

    def _leave(self, place: _Place) -> None:
        receiver = place.receiver
        if place.started is None:
            waiting = self._waiting.get(receiver)
            if waiting is not None:
                with contextlib.suppress(ValueError):
                    waiting.remove(place)
                if not waiting:
                    del self._waiting[receiver]
        else:
            del self._under_way[place]
            _decrement(self._taken, receiver)
            _decrement(self._taken_by_tenant, receiver.tenant)
            self._taken_by_strangers -= place.stranger
        self._queue(receiver)
        self._start()

    def _queue(self, receiver: Receiver) -> None:
        """Put a receiver into the queue that fits it, or into none."""
        queues = self._tenants.get(receiver.tenant)
        fitting = None
        if receiver in self._waiting and self._taken[receiver] < self._limit(receiver):
            if queues is None:
                queues = self._tenants[receiver.tenant] = _Queues()
            if receiver in self._known:
                fitting = queues.known
            else:
                fitting = queues.others if receiver in self._failed or self._taken[receiver] else queues.new
            fitting.setdefault(receiver)  # one that waits there keeps its turn
        if queues is None:
            return
        for queue in queues:
            if queue is not fitting:
                queue.pop(receiver, None)
        if not any(queues):
            del self._tenants[receiver.tenant]

    def _start(self) -> None:
        """Begin what has a place."""
        while (receiver := self._next()) is not None:
            waiting = self._waiting[receiver]
            place = waiting.popleft()
            if not waiting:
                del self._waiting[receiver]
            if not place.turn.done():  # otherwise its delivery was cancelled
                place.started = seconds()
                place.stranger = receiver not in self._known
                self._under_way[place] = None
                self._taken[receiver] += 1
                self._taken_by_tenant[receiver.tenant] += 1
                self._taken_by_strangers += place.stranger
                place.turn.set_result(None)
            for queue in self._tenants[receiver.tenant]:
                queue.pop(receiver, None)
            self._queue(receiver)  # behind the others
        if self._tenants and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE / 4, self._make_way)

    def _next(self) -> Receiver | None:
        if len(self._under_way) >= self._most:
            return None
        strangers = self._taken_by_strangers < self._of_strangers
        for tenant, queues in self._tenants.items():
            if self._is_full(tenant):
                continue
            receiver = queues.next(strangers)
            if receiver is not None:
                self._tenants.move_to_end(tenant)
                return receiver
        return None

    def _is_full(self, tenant: str) -> bool:
        return tenant != "" and self._taken_by_tenant[tenant] >= self._of_tenant

    # -- deliveries that give way -------------------------------------------------------------------------------------

    def _make_way(self) -> None:
        """End deliveries without an answer, for the receivers that have nothing under way."""
        self._timer = None
        now = seconds()
        slow = [place for place in self._under_way if self._is_slow(place, now)]
        for receiver in list(self._starving()):
            victim = self._victim(receiver, slow)
            if victim is not None:
                slow.remove(victim)
                victim.attempt.give_way()
        self._start()

    def _is_slow(self, place: _Place, now: float) -> bool:
        assert place.started is not None
        return not place.attempt.gave_way and not place.attempt.has_answer and now - place.started >= PATIENCE

    def _starving(self) -> Iterator[Receiver]:
        """Return receivers that wait with nothing under way, at most as many as there are places."""
        waiting = (receiver for queues in self._tenants.values() for queue in queues for receiver in queue)
        return islice((receiver for receiver in waiting if not self._taken[receiver]), self._most)

    def _victim(self, receiver: Receiver, slow: list[_Place]) -> _Place | None:
        """Return the slow delivery that gives its place to this receiver; None if it finds one, or if half is not exceeded."""
        if self._is_full(receiver.tenant):
            most, found = self._of_tenant, [place for place in slow if place.receiver.tenant == receiver.tenant]
        elif receiver not in self._known and self._taken_by_strangers >= self._of_strangers:
            most, found = self._of_strangers, [place for place in slow if place.stranger]
        elif len(self._under_way) >= self._most:
            most, found = self._most, slow
        else:
            return None
        if len(found) <= most // 2:
            return None
        of_tenants = Counter(place.receiver.tenant for place in found if place.receiver.tenant)
        of_receivers = Counter(place.receiver for place in found)

        def order(place: _Place) -> tuple[bool, int, int, float]:
            assert place.started is not None
            receiver = place.receiver
            return receiver not in self._known, of_tenants[receiver.tenant], of_receivers[receiver], place.started

        # Of hosts that have not answered, of the tenant and the host with the most, the youngest: the oldest ones keep their places, so
        # that a slow receiver can end its answer.
        return max(found, key=order)


def _decrement(counter: Counter[_Key], key: _Key) -> None:
    counter[key] -= 1
    if counter[key] <= 0:
        del counter[key]
