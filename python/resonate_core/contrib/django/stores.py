"""The stores of this process: one for each place, opened when it is first used, and safe across a fork."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from resonate_core import Store

__all__ = ["Place", "close_stores", "store_at"]


@dataclass(frozen=True)
class Place:
    """The arguments that a store is opened with.

    Attributes:
        url: Its path or URL.
        durability: As of `resonate_core.Store`.
        busy_timeout: As of `resonate_core.Store`.
    """

    url: str
    durability: Literal["full", "normal"] = "full"
    busy_timeout: int | timedelta = 5000

    def open(self, **options: Any) -> Store:
        """Open the store, which makes its tables if there are none."""
        return Store(self.url, durability=self.durability, busy_timeout=self.busy_timeout, **options)


_stores: dict[Place, Store] = {}
_lock = threading.Lock()


def _renew() -> None:
    """Give a forked process a lock that no thread holds. The stores themselves reopen their files and connections."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew)


def store_at(place: Place) -> Store:
    """Return the store of a place; all threads and backends of the process share it.

    Raises:
        StoreError: It cannot be opened.
    """
    with _lock:
        store = _stores.get(place)
        if store is None or store.closed:
            store = _stores[place] = place.open()
        return store


def close_stores() -> None:
    """Close all stores of the process. The next use opens them again.

    PostgreSQL does not drop a database that has connections, so tests that use a real store close it before the test database
    is destroyed.
    """
    with _lock:
        for store in _stores.values():
            store.close()
        _stores.clear()
