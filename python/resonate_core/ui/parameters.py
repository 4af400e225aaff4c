"""The parameters of the views: read from a query, checked, and named in errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

__all__ = ["MOST_ITEMS", "BadParameter", "Parameters", "listed"]

MOST_ITEMS, _USUAL_ITEMS = 200, 50
#: The most characters of a parameter, and of a cursor, which may contain two ids.
_LONGEST, _LONGEST_CURSOR = 2048, 16_384
_MOST_REPEATED = 32


class BadParameter(ValueError):
    """A parameter that breaks its rule."""


class Parameters:
    """The query of one request.

    Args:
        query: As in a URL, without the question mark.

    Raises:
        BadParameter: It is too long or not UTF-8.

    Example:
        >>> from resonate_core.ui.parameters import Parameters
        >>> given = Parameters("state=retry&state=archived&limit=10")
        >>> given.every("state"), given.limit, given.text("queue")
        (['retry', 'archived'], 10, None)
    """

    def __init__(self, query: str | bytes) -> None:
        text = query.decode("latin-1") if isinstance(query, bytes) else query
        try:
            pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=200)
        except (ValueError, UnicodeDecodeError) as error:
            raise BadParameter(f"the query must be at most 200 parameters in UTF-8, got {text[:80]!r}") from error
        self._given: dict[str, list[str]] = {}
        for name, value in pairs:
            most = _LONGEST_CURSOR if name == "cursor" else _LONGEST
            if "\0" in value or len(value) > most:
                raise BadParameter(f"{name} must have at most {most} characters and no NUL, got {value[:80]!r}")
            self._given.setdefault(name, []).append(value)

    def every(self, name: str) -> list[str]:
        """Return all values of a parameter that are not empty."""
        found = [value for value in self._given.get(name, ()) if value]
        if len(found) > _MOST_REPEATED:
            raise BadParameter(f"{name} must be given at most {_MOST_REPEATED} times, got {len(found)}")
        return found

    def text(self, name: str) -> str | None:
        """Return the last value of a parameter; None if it is absent or empty."""
        found = self.every(name)
        return found[-1] if found else None

    def need(self, name: str) -> str:
        """Return a parameter that is required."""
        found = self.text(name)
        if found is None:
            raise BadParameter(f"{name} must be given")
        return found

    def one_of(self, name: str, choices: Sequence[str]) -> list[str]:
        """Return all values of a parameter, each one of some choices."""
        for value in self.every(name):
            if value not in choices:
                raise BadParameter(f"{name} must be one of {', '.join(choices)}, got {value!r}")
        return self.every(name)

    def number(self, name: str, least: int, most: int, default: int | None = None) -> int | None:
        """Return a whole number within bounds."""
        found = self.text(name)
        if found is None:
            return default
        digits = found[1:] if found.startswith("-") else found
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 20) or not least <= int(found) <= most:
            raise BadParameter(f"{name} must be a whole number from {least} to {most}, got {found!r}")
        return int(found)

    def instant(self, name: str) -> int | None:
        """Return an instant in Unix ms."""
        return self.number(name, 0, 2**63 - 1)

    def flag(self, name: str) -> bool:
        """Return whether a parameter is 1."""
        return self.number(name, 0, 1, 0) == 1

    @property
    def limit(self) -> int:
        """The most items of a page."""
        found = self.number("limit", 1, MOST_ITEMS, _USUAL_ITEMS)
        assert found is not None
        return found

    @property
    def cursor(self) -> str | None:
        """Where a page begins."""
        return self.text("cursor")

    def at(self, cursor: str) -> Parameters:
        """Return these parameters with another cursor, of a place that a view names."""
        made = Parameters("")
        made._given = {**self._given, "cursor": [cursor]}
        return made

    def offset(self) -> int:
        """Return the cursor of a list whose cursors are places in it."""
        found = self.number("cursor", 0, 2**31, 0)
        assert found is not None
        return found

    def pairs(self, name: str) -> dict[str, str]:
        """Return the values `key=value` of a parameter as a dict."""
        made = {}
        for value in self.every(name):
            key, equals, text = value.partition("=")
            if not key or not equals:
                raise BadParameter(f"{name} must be KEY=VALUE, got {value!r}")
            made[key] = text
        return made


def listed(items: list[Any], next: str | int | None, scan: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a page as every list is answered."""
    return {"items": items, "next": None if next is None else str(next), "scan": scan}
