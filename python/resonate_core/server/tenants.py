"""Tenants: the prefixes of the tokens that this server has seen, and which of them an id belongs to."""

from __future__ import annotations

__all__ = ["Tenants"]

#: The most prefixes that are remembered: they are made by the issuer of the tokens, not by their bearers.
_MOST = 100_000


class Tenants:
    """The prefixes of tokens. Call its methods on one event loop.

    Example:
        >>> from resonate_core.server.tenants import Tenants
        >>> tenants = Tenants()
        >>> tenants.saw("shop.")
        >>> tenants.of("shop.order.1"), tenants.of("bank.1")
        ('shop.', '')
    """

    def __init__(self) -> None:
        self._prefixes: set[str] = set()
        self._lengths: list[int] = []

    def saw(self, prefix: str | None) -> None:
        """Remember the prefix of a token; one without a prefix is no tenant's."""
        if prefix and prefix not in self._prefixes and len(self._prefixes) < _MOST:
            self._prefixes.add(prefix)
            self._lengths = sorted({*self._lengths, len(prefix)})

    @property
    def any(self) -> bool:
        """Whether a prefix is known."""
        return bool(self._prefixes)

    def of(self, id: str) -> str:
        """Return the shortest known prefix that an id begins with; "" if there is none.

        The shortest: a tenant that gives out tokens for parts of its ids does not become several by that.
        """
        for length in self._lengths:
            if id[:length] in self._prefixes:
                return id[:length]
        return ""
