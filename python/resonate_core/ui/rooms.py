"""Rooms: what the senders of requests may take of the memory and the threads of a dashboard, so that no sender takes those of others.

A room belongs to a prefix, or to a role without a prefix. The rooms of prefixes share a total; those of roles do not, so an
administrator is served whatever tenants do.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias

from .access import Refused
from .principal import Principal

__all__ = ["DASHBOARD", "TENANTS", "Room", "RoomPlaces", "Turns", "room_of"]

#: A prefix and "", or "" and a role.
Room: TypeAlias = "tuple[str, str]"
#: That of the dashboard itself.
DASHBOARD: Room = ("", "dashboard")
#: All prefixes together may have this many times what one may have.
TENANTS = 8


def room_of(principal: Principal) -> Room:
    """Return the room of a principal.

    Example:
        >>> from resonate_core.ui.principal import Principal
        >>> from resonate_core.ui.rooms import room_of
        >>> room_of(Principal("read", "ann", prefix="shop.")), room_of(Principal("operate", "bob"))
        (('shop.', ''), ('', 'operate'))
    """
    return (principal.prefix, "") if principal.prefix else ("", principal.role)


class RoomPlaces:
    """A number of places in each room. Call its methods on one thread at a time.

    Args:
        each: The places of a room.
        name: Of the setting that has this number.
        what: Takes a place, in the plural.
        status: Refuses a principal without a free place.
    """

    def __init__(self, each: int, name: str, what: str, status: int) -> None:
        self._each, self._name, self._what, self._status = each, name, what, status
        self._taken: Counter[Room] = Counter()
        self._by_tenants = 0

    def take(self, room: Room) -> None:
        """Take a place.

        Raises:
            Refused: None is free.
        """
        if self._taken[room] >= self._each:
            raise Refused(
                self._status, f"at most {self._each} {self._what} may be open at a time ({self._name}); try again in a second"
            )
        if room[0]:
            if self._by_tenants >= TENANTS * self._each:
                raise Refused(503, f"too many {self._what} of all tenants are open ({self._name}); try again in a second")
            self._by_tenants += 1
        self._taken[room] += 1

    def leave(self, room: Room) -> None:
        """Leave a place that was taken."""
        self._taken[room] -= 1
        if not self._taken[room]:
            del self._taken[room]
        if room[0]:
            self._by_tenants -= 1

    @contextmanager
    def taken(self, room: Room) -> Iterator[None]:
        """Take a place for a `with` block.

        Raises:
            Refused: None is free.
        """
        self.take(room)
        try:
            yield
        finally:
            self.leave(room)


class Turns:
    """Threads that serve the rooms in turn, so that a room with many requests delays its own.

    Args:
        name: Of the threads.
        threads: For the rooms of prefixes.
        own: For the others; by default as many.
    """

    def __init__(self, name: str, threads: int, own: int | None = None) -> None:
        self._sides = (_Side(name, threads), _Side(f"{name}-own", own or threads))

    def submit(self, room: Room, function: Callable[[], Any]) -> Future[Any]:
        """Run a function when its room has its turn."""
        return self._sides[0 if room[0] else 1].submit(room, function)

    def shutdown(self) -> None:
        """Wait for the functions under way; the waiting ones are run."""
        for side in self._sides:
            side.shutdown()


class _Side:
    """Some threads, of which no room has all while another waits."""

    def __init__(self, name: str, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._most = max(threads - 1, 1)  # of one room
        self._free = threads
        self._lock = threading.Lock()
        self._waiting: OrderedDict[Room, deque[tuple[Future[Any], Callable[[], Any]]]] = OrderedDict()
        self._running: Counter[Room] = Counter()
        self._idle = threading.Condition(self._lock)

    def submit(self, room: Room, function: Callable[[], Any]) -> Future[Any]:
        made: Future[Any] = Future()
        with self._lock:
            self._waiting.setdefault(room, deque()).append((made, function))
            self._start()
        return made

    def _start(self) -> None:
        """Start what may run: the room that was served last is at the end."""
        for room in list(self._waiting):
            if not self._free:
                return
            if self._running[room] >= self._most:
                continue
            made, function = self._waiting[room].popleft()
            self._waiting.move_to_end(room)
            if not self._waiting[room]:
                del self._waiting[room]
            self._free -= 1
            self._running[room] += 1
            self._pool.submit(self._run, [(room, made, function)])

    def _run(self, handed: list[tuple[Room, Future[Any], Callable[[], Any]]]) -> None:
        # An error has the frames that it came through, and its future has the error. The future is taken out here, and deleted below:
        # a circle of them would keep the body of a request until a collection.
        room, made, function = handed.pop()
        try:
            if made.set_running_or_notify_cancel():
                try:
                    made.set_result(function())
                except BaseException as error:
                    made.set_exception(error)
        finally:
            del made, function
            with self._lock:
                self._free += 1
                self._running[room] -= 1
                if not self._running[room]:
                    del self._running[room]
                if room in self._waiting:  # those that came in the meantime are before it
                    self._waiting.move_to_end(room)
                self._start()
                self._idle.notify_all()

    def shutdown(self) -> None:
        with self._lock:
            while self._waiting or self._running:
                self._idle.wait()
        self._pool.shutdown()
