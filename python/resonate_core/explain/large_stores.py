"""Whether a store is too large for a request of the dashboard to read all of it."""

from __future__ import annotations

from weakref import WeakSet

from .._core import Store

__all__ = ["is_large"]

#: The most promises of a store that a request may read as a whole.
SMALL = 20_000

_LARGE: WeakSet[Store] = WeakSet()

#: No promise was created as late as this: a search finds nothing, and has a cursor if it had too many rows of the prefix to examine.
_NEVER_CREATED = 2**63 - 2


def is_large(store: Store, prefix: str = "") -> bool:
    """Return whether a store has so many promises that no request may read all of them. A large store stays one.

    Args:
        store: The store.
        prefix: Of a principal that sees only a part: whether this part is large, whatever else there is.
    """
    if prefix:
        return store.views.jobs(prefix=prefix, created_since=_NEVER_CREATED, limit=1).cursor is not None
    if store not in _LARGE and store.promises.count() > SMALL:
        _LARGE.add(store)
    return store in _LARGE
