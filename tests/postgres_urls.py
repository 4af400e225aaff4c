"""The parts of a store's URL, as other clients of PostgreSQL take them."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit, urlunsplit


def plain(url: str) -> str:
    """Returns the URL without our own parameters."""
    return urlunsplit(urlsplit(url)._replace(query=""))


def schema_of(url: str) -> str:
    """Returns the schema that the URL names."""
    return parse_qs(urlsplit(url).query)["schema"][0]
