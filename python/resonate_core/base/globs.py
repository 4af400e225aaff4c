"""Patterns that users give: `*` stands for any text, no other character is special, and a match takes time linear in the text."""

from __future__ import annotations

from collections.abc import Iterable

from .._core import Glob

__all__ = ["Globs"]


class Globs:
    """Several patterns.

    Args:
        patterns: The patterns.
        ignore_case: Whether upper and lower case are alike.

    Example:
        >>> from resonate_core.base.globs import Globs
        >>> words = Globs(["password", "*_token"], ignore_case=True)
        >>> words.match("Password"), words.match("api_TOKEN"), words.match("token")
        (True, True, False)
    """

    def __init__(self, patterns: Iterable[str], *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        self._globs = [Glob(self._bytes(pattern)) for pattern in patterns]

    def __bool__(self) -> bool:
        return bool(self._globs)

    def match(self, text: str) -> bool:
        """Return whether the whole text matches one of them."""
        whole = self._bytes(text)
        return any(glob.matches(whole) for glob in self._globs)

    def _bytes(self, text: str) -> bytes:
        return (text.casefold() if self._ignore_case else text).encode("utf-8", "surrogatepass")
