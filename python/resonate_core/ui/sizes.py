"""Whether a store is too large for a request of the dashboard to read all of it."""

from __future__ import annotations

from weakref import WeakSet

from .._core import Store

__all__ = ["is_large"]

#: The most promises of a store that a request may read as a whole.
SMALL = 20_000

_LARGE: WeakSet[Store] = WeakSet()


def is_large(store: Store) -> bool:
    """Return whether a store has so many promises that no request may read all of them. A large store stays one."""
    if store not in _LARGE and store.promises.count() > SMALL:
        _LARGE.add(store)
    return store in _LARGE
