"""Lists in one line of text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["first_few"]


def first_few(ids: Sequence[str], most: int, count: int | None = None) -> str:
    """Return the first of several ids in one line, and how many more there are.

    Args:
        ids: The ids, or the first of them.
        most: How many of them are named.
        count: How many there are; None: as many as are given.

    Example:
        >>> from resonate_core.base.first_few import first_few
        >>> first_few(["a", "b", "c"], 2), first_few(["a", "b"], 2, count=9), first_few(["a"], 2)
        ('a, b and 1 more', 'a, b and 7 more', 'a')
    """
    named = ids[:most]
    more = (len(ids) if count is None else count) - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
