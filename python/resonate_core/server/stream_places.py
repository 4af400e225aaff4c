"""The places of streams: how many may be open, of one prefix and of all clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .settings import LimitSettings

__all__ = ["StreamPlaces"]

#: Clients without a prefix, such as an administrator, have this part of all places to themselves.
_OWN = 10


class StreamPlaces:
    """The places of the streams of one server. Call its methods on its event loop.

    Args:
        limits: How many there are.

    Example:
        >>> from resonate_core.server.settings import LimitSettings
        >>> from resonate_core.server.stream_places import StreamPlaces
        >>> places = StreamPlaces(LimitSettings(streams=20, streams_of_prefix=1))
        >>> with places.taken("shop."):
        ...     places.is_free("shop."), places.is_free("bank."), places.is_free("")
        (False, True, True)
    """

    def __init__(self, limits: LimitSettings) -> None:
        self._all, self._each = limits.streams, limits.streams_of_prefix
        self._by_prefix: Counter[str] = Counter()

    def is_free(self, prefix: str) -> bool:
        """Return whether a client with this prefix may open another stream; "" is for a client that may see all ids."""
        taken = self._by_prefix.total()
        if not prefix:
            return taken < self._all
        by_prefixes = taken - self._by_prefix[""]
        return taken < self._all and by_prefixes < max(self._all - self._all // _OWN, 1) and self._by_prefix[prefix] < self._each

    @contextmanager
    def taken(self, prefix: str) -> Iterator[None]:
        """Take a place for a `with` block."""
        self._by_prefix[prefix] += 1
        try:
            yield
        finally:
            self._by_prefix[prefix] -= 1
            if not self._by_prefix[prefix]:
                del self._by_prefix[prefix]
