"""Ids of jobs that the caller knows before the store does, and whose order is that of their creation."""

from __future__ import annotations

import os
import secrets
import threading
import uuid

from django.utils import timezone

__all__ = ["new_id"]

_COUNTER = 0x1000


class _Ids:
    """Version 7 UUIDs of one process: the instant in ms, then a counter within it, then random bits.

    Jobs of one transaction become claimable at the same instant, and the store then claims them in the order of their ids.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0  # ms and counter as one number

    def new(self) -> str:
        now = int(timezone.now().timestamp() * 1000) * _COUNTER
        with self._lock:
            self._last = max(self._last + 1, now)
            ms, counter = divmod(self._last, _COUNTER)
        return str(uuid.UUID(int=ms << 80 | 7 << 76 | counter << 64 | 2 << 62 | secrets.randbits(62)))


_ids = _Ids()


def _renew() -> None:
    """Give a forked process its own lock: the parent's may be held by a thread that the child does not have."""
    global _ids
    _ids = _Ids()


os.register_at_fork(after_in_child=_renew)


def new_id() -> str:
    """Return an id that is greater than every id that this process has made before."""
    return _ids.new()
