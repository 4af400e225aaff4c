"""The URLs of stores in a bench."""

from __future__ import annotations


def with_writers(url: str, writers: str) -> str:
    """The URL of a store whose processes write beside each other, or not: `auto`, `shared` or `alone`."""
    return f"{url}{'&' if '?' in url else '?'}writers={writers}"
