"""Whether the pages of a search come to an end."""

from __future__ import annotations

from .._foreign_text import clean
from ..errors import NoEnvelope

__all__ = ["PageProgress"]

#: The most pages in a row without a record, and the most records, of one search.
_MOST_EMPTY, _MOST_RECORDS = 100, 100_000_000
_SHOWN = 100


class PageProgress:
    """Judges whether the pages of a search come to an end.

    Args:
        kind: Of the search.

    Example:
        >>> from resonate_core.base.page_progress import PageProgress
        >>> progress = PageProgress("job.search")
        >>> progress.check("a", 10)
        >>> progress.check("a", 10)
        Traceback (most recent call last):
        ...
        resonate_core.errors.NoEnvelope: the pages of job.search have no end: the cursor 'a' was there before
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._seen: set[int] = set()
        self._empty = 0
        self._records = 0

    def check(self, cursor: str, found: int) -> None:
        """Judge a page that has a cursor.

        Args:
            cursor: Of the page after it.
            found: The number of records in it.

        Raises:
            NoEnvelope: There is no progress.
        """
        key = hash(cursor)
        self._empty = 0 if found else self._empty + 1
        self._records += found
        if key in self._seen:
            why = f"the cursor {clean(cursor[:_SHOWN])!r} was there before"
        elif self._empty > _MOST_EMPTY:
            why = f"{self._empty} pages in a row are empty"
        elif self._records > _MOST_RECORDS:
            why = f"there are more than {_MOST_RECORDS} records"
        else:
            self._seen.add(key)
            return
        raise NoEnvelope(f"the pages of {self._kind} have no end: {why}")
