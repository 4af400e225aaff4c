"""Headers by which requests are judged: each may be there once. Of two, another reader of the request may see the other one."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["doubled"]

_SINGLE = frozenset((b"host", b"origin", b"sec-fetch-site", b"x-resonate-ui", b"authorization"))


def doubled(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return why a request is refused with 400: one of these headers is there twice, also with the same value. None if none is.

    Args:
        headers: As in an ASGI scope, with names in lower case.

    Example:
        >>> from resonate_core.http.single_headers import doubled
        >>> doubled([(b"host", b"shop"), (b"host", b"bank")]), doubled([(b"host", b"shop"), (b"accept", b"a"), (b"accept", b"b")])
        ('the header host must be given once, got it twice', None)
    """
    seen: set[bytes] = set()
    for name, _ in headers:
        if name in _SINGLE:
            if name in seen:
                return f"the header {name.decode()} must be given once, got it twice"
            seen.add(name)
    return None
