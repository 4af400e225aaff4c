"""The recordings that are open in a dashboard."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict

from ..base.stopwatch import seconds
from .access import Refused
from .journeys import Journey
from .options import UiOptions
from .rooms import TENANTS, Room

__all__ = ["Journeys"]

#: Seconds without use after which a recording of a tenant is closed.
_IDLE = 3600


class Journeys:
    """The open recordings. Each room has its own: the least recently used of a room is closed for a newer one of the same room.

    Args:
        options: The quotas of a room.
    """

    def __init__(self, options: UiOptions) -> None:
        self._most, self._bytes = options.recordings, options.recording_bytes
        self._open: dict[Room, OrderedDict[str, Journey]] = {}
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """The most bytes of memory of a recording."""
        return self._bytes

    def add(self, journey: Journey, room: Room | None = None, id: str | None = None) -> str:
        """Open a recording; return its id.

        Args:
            journey: The recording.
            room: Of its owner; None: it is open as long as the dashboard.
            id: Its id; by default one that cannot be guessed.

        Raises:
            Refused: All tenants together have no room for it.
        """
        id = id or secrets.token_urlsafe(9)
        with self._lock:
            self._close_idle()
            own = self._open.setdefault(room or ("", ""), OrderedDict())
            while room is not None and own and (len(own) >= self._most or self._size(own) + journey.bytes > self._bytes):
                closed, _ = own.popitem(last=False)
                self._used.pop(closed, None)
            if room is not None and room[0]:
                taken = sum(self._size(each) for (prefix, _), each in self._open.items() if prefix)
                if taken + journey.bytes > TENANTS * self._bytes:
                    raise Refused(503, "the recordings of all tenants fill their room (ui.recording_bytes); try again later")
            own[id] = journey
            self._used[id] = seconds()
        return id

    def _close_idle(self) -> None:
        until = seconds() - _IDLE
        for (prefix, _), own in self._open.items():
            for id in [id for id in own if prefix and self._used[id] < until]:
                del own[id], self._used[id]
        for room in [room for room, own in self._open.items() if not own]:
            del self._open[room]

    @staticmethod
    def _size(own: OrderedDict[str, Journey]) -> int:
        return sum(journey.bytes for journey in own.values())

    def get(self, id: str, prefix: str) -> Journey | None:
        """Return an open recording that a principal with this prefix may see."""
        with self._lock:
            self._close_idle()
            for own in self._open.values():
                journey = own.get(id)
                if journey is not None and prefix in ("", journey.prefix):
                    own.move_to_end(id)
                    self._used[id] = seconds()
                    return journey
            return None

    def all(self, prefix: str) -> list[tuple[str, Journey]]:
        """Return the open recordings that a principal with this prefix may see."""
        with self._lock:
            self._close_idle()
            every = [pair for own in self._open.values() for pair in own.items()]
            return [(id, journey) for id, journey in every if prefix in ("", journey.prefix)]
