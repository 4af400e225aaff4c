"""The recordings that are open in a dashboard."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict

from ..base.stopwatch import seconds
from .access import Refused
from .options import UiOptions
from .recording import Recording
from .rooms import TENANTS, Room

__all__ = ["OpenRecordings"]

#: Seconds without use after which a recording of a tenant is closed.
_IDLE = 3600


class OpenRecordings:
    """The open recordings. Each room has its own: the least recently used of a room is closed for a newer one of the same room.

    Args:
        options: The quotas of a room.
    """

    def __init__(self, options: UiOptions) -> None:
        self._most, self._bytes = options.recordings, options.recording_bytes
        self._open: dict[Room, OrderedDict[str, Recording]] = {}
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """The most bytes of memory of a recording."""
        return self._bytes

    def add(self, recording: Recording, room: Room | None = None, id: str | None = None) -> str:
        """Open a recording; return its id.

        Args:
            recording: The recording.
            room: Of its owner; None: it is open as long as the dashboard.
            id: Its id; by default one that cannot be guessed.

        Raises:
            Refused: All tenants together have no room for it.
        """
        id = id or secrets.token_urlsafe(9)
        with self._lock:
            self._close_idle()
            own = self._open.setdefault(room or ("", ""), OrderedDict())
            while room is not None and own and (len(own) >= self._most or self._size(own) + recording.bytes > self._bytes):
                closed, _ = own.popitem(last=False)
                self._used.pop(closed, None)
            if room is not None and room[0]:
                taken = sum(self._size(each) for (prefix, _), each in self._open.items() if prefix)
                if taken + recording.bytes > TENANTS * self._bytes:
                    raise Refused(503, "the recordings of all tenants fill their room (ui.recording_bytes); try again later")
            own[id] = recording
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
    def _size(own: OrderedDict[str, Recording]) -> int:
        return sum(recording.bytes for recording in own.values())

    def get(self, id: str, prefix: str) -> Recording | None:
        """Return an open recording that a principal with this prefix may see."""
        with self._lock:
            self._close_idle()
            for own in self._open.values():
                recording = own.get(id)
                if recording is not None and prefix in ("", recording.prefix):
                    own.move_to_end(id)
                    self._used[id] = seconds()
                    return recording
            return None

    def all(self, prefix: str) -> list[tuple[str, Recording]]:
        """Return the open recordings that a principal with this prefix may see."""
        with self._lock:
            self._close_idle()
            every = [pair for own in self._open.values() for pair in own.items()]
            return [(id, recording) for id, recording in every if prefix in ("", recording.prefix)]
