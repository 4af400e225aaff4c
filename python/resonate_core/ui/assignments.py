"""Values of redacted keys in texts: `key=value`, `key: value`, `"key": "value"`, `--key value` and the like, found in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

__all__ = ["NAMERS", "Assignments"]

#: Members that hold the name of a value that stands beside them.
NAMERS = frozenset(
    (
        *("name", "key", "k", "n", "field", "header", "param", "parameter", "property", "attribute", "attr"),
        *("label", "title", "var", "variable", "env", "setting", "option", "id", "path"),
    )
)
#: What may stand between a name and its value. The lookbehinds let each run of characters be examined once.
_PLACE = re.compile(
    r"""(?P<of>(?<![\s"'`“”‘’«»\\\])}?+])[\s"'`“”‘’«»\\\])}?+]*(?P<sign>=>|->|[:=：＝]))"""
    r"""|(?P<encoded>(?:%2[27])?%3[adAD])"""
    r"""|(?P<item>(?<!\\)\\*["'`]\s*,)"""
    r"""|(?P<markup>>)"""
    r"""|(?<![\w-])--?(?P<flag>[\w-]+)[ \t]+"""
)
_WORD = re.compile(r"[\w-]+")
_ELEMENT = re.compile(r"[\w.:-]+")
_TOKEN = re.compile(r"(?<!\S)[\w.~+/=-]{8,}(?!\S)")
#: The most characters of the rest of a line in which such words are found.
_MOST_OF_LINE = 1000
#: The most characters of a name that are compared.
_LONGEST = 256
#: The most characters of a line that are searched for the bracket around a pair.
_BRACKET = 2048
_BLANK = re.compile(r"(?:\s|\\\r?\n)*")
_OPENING = re.compile(r"""[bBrRuUfF]{0,2}(\\*)(\"""|'''|["'`])""")
_QUOTED_OR_BRACKET = re.compile(
    r""""[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|'[^'\\\n]*(?:\\.[^'\\\n]*)*(?:'|\\?\Z|(?=\n))|[\[\]{}()]""", re.DOTALL
)
#: What follows a value that has ended at its closing quote or bracket.
_AFTER = re.compile(r"\\*[\"'`]?(?:\s*(?:[,;&}\])>]|/>|\\?$|\\n)|[ \t]*\r?\n|[ \t]+[\w.-]+[ \t]*[=:])")
_NAMED = re.compile(r"""[\s"'`\\]*([\w.-][\w. -]{0,127})""")
_INDENT = re.compile(r"[ \t]*")


class Assignments:
    r"""Finds assignments to redacted keys.

    Args:
        hides: Returns whether a key is redacted.
        patterns: The patterns of redacted keys.

    Example:
        >>> from resonate_core.ui.assignments import Assignments
        >>> Assignments(lambda key: key == "password", ["password"]).hidden("user=ada\nmy password: correct horse\nbye", "***")[0]
        'user=ada\nmy password: ***\nbye'
    """

    def __init__(self, hides: Callable[[str], bool], patterns: Iterable[str]) -> None:
        self._hides = hides
        patterns = [pattern.casefold() for pattern in patterns]
        self._literals = [max(pattern.split("*"), key=len).strip() for pattern in patterns]
        self.words = max((len(_WORD.findall(pattern.replace("*", "_"))) for pattern in patterns), default=1) or 1
        self._has_star = any("*" in pattern for pattern in patterns)

    def may_be_in(self, text: str) -> bool:
        """Return whether a text can hold one at all: only then it has to be searched."""
        folded = text.casefold()
        return any(literal in folded for literal in self._literals)

    def hidden(self, text: str, to: str) -> tuple[str, list[list[str]], int]:
        """Return a text with the values replaced, the values as others may quote them, and how many places were examined."""
        made: list[str] = []
        values: list[list[str]] = []
        copied = places = 0
        found = _PLACE.search(text)
        while found is not None:
            places += 1
            start, end = self._value(text, found, copied)
            if start < end:
                made += (text[copied:start], to)
                values.append(_quotable(text[start:end]))
                copied = end
            # An empty value, or none: the next place begins after this one.
            found = _PLACE.search(text, max(copied, found.end()))
        return "".join(made) + text[copied:], values, places

    def _value(self, text: str, found: re.Match[str], least: int) -> tuple[int, int]:
        """Return the place of the value that belongs to a place in a text; an empty one if its key is not redacted."""
        at = found.end()
        if found["flag"] is not None:
            return (at, _line_end(text, at)) if self._hides(found["flag"]) else (0, 0)
        if found["markup"] is not None:
            return self._element(text, found.start(), least)
        begin = found.start()
        window = text[max(least, begin - _LONGEST) : begin]
        words = list(_WORD.finditer(window))[-self.words :]
        if not words or words[-1].end() != len(window):
            return 0, 0
        if words[-1].start() == 0 and len(window) == _LONGEST and self._has_star:  # too long to be compared
            return _extent(text, at, begin)
        starts = (word.start() + (2 if window[: word.start()].endswith("%") else 0) for word in words)  # %22 is a quote
        if any(self._hides(window[start:].strip("-")) for start in starts):
            return _extent(text, at, begin - len(window) + words[-1].start())
        if words[-1][0].casefold().strip("-_") in NAMERS:
            named = _NAMED.match(text, at)
            if named is not None and self._hides(named[1].strip()):
                return _around(text, begin - len(window) + words[-1].start(), named.end(), least)
        return 0, 0

    def _element(self, text: str, end: int, least: int) -> tuple[int, int]:
        """Return the place of the content of an element of XML."""
        window = text[max(least, end - _LONGEST) : end]
        opened = window.rfind("<")
        name = _ELEMENT.match(window, opened + 1) if opened >= 0 else None
        # Its whole name, that without the prefix of a namespace, and each word of it: `<x:user.password>`.
        if name is None or not any(map(self._hides, (name[0], name[0].rpartition(":")[2], *_WORD.findall(name[0])))):
            return 0, 0
        closed = text.find(f"</{name[0]}", end)
        return end + 1, len(text) if closed < 0 else closed


def _quotable(value: str) -> list[str]:
    """Return the text in quotes; of a value without quotes the words that look like secrets, since its end is not known."""
    if _OPENING.match(value):
        return [value.strip("\"'`\\")]
    return [word for word in _TOKEN.findall(value[:_MOST_OF_LINE]) if any(letter.isdigit() for letter in word)]


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _extent(text: str, at: int, name: int) -> tuple[int, int]:
    """Return the place of the value that begins after a sign."""
    blank = _BLANK.match(text, at)
    start = at if blank is None else blank.end()
    opening = _OPENING.match(text, start)
    if opening is not None:
        end = _closing(text, opening)
    elif text[start : start + 1] in ("{", "[", "("):
        end = _balanced(text, start)
    elif text.startswith("-----BEGIN", start):
        ended = text.find("-----END", start)
        return start, len(text) if ended < 0 else _line_end(text, ended)
    else:
        return start, _lines_end(text, start, name)
    if end == len(text) or _AFTER.match(text, end):
        return start, end
    return start, _line_end(text, end)


def _lines_end(text: str, start: int, name: int, *, siblings: bool = False) -> int:
    """Return the end of the line; if the name begins its line, of the lines below that belong to it by their indent."""
    end = _line_end(text, start)
    least = max(0, name - _LONGEST)
    line = text.rfind("\n", least, name) + 1 or least
    before = text[line:name]
    if before.strip(" \t-\"'`"):
        return end
    depth = len(before) if siblings else len(before) + 1
    while end < len(text):
        indent = _INDENT.match(text, end + 1)
        if indent is None or indent.end() - indent.start() < depth or text[indent.end() : indent.end() + 1] in ("", "\n"):
            break
        end = _line_end(text, indent.end())
    return end


def _closing(text: str, opening: re.Match[str]) -> int:
    """Return the end of a quoted text; that of the whole text if it is not closed."""
    slashes, quote = len(opening[1]), opening[2]
    at = opening.end()
    while True:
        at = text.find(quote, at)
        if at < 0:
            return len(text)
        before = at
        while before > opening.end() and text[before - 1] == "\\":
            before -= 1
        # In JSON that is a text of JSON, a quote has one backslash, those in its text have three, and so on.
        if (at - before) % (2 * (slashes + 1)) == slashes:
            return at + len(quote)
        at += 1


def _balanced(text: str, start: int) -> int:
    """Return the end of what begins with a bracket; that of the whole text if it is not closed."""
    depth = 0
    for token in _QUOTED_OR_BRACKET.finditer(text, start):
        if token[0] in ("{", "[", "("):
            depth += 1
        elif token[0] in ("}", "]", ")"):
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)


def _around(text: str, name: int, named: int, least: int) -> tuple[int, int]:
    """Return the place of everything beside a name: the brackets around it, or the end of its lines."""
    begin = max(least, name - _BRACKET)
    opened = max(text.rfind(bracket, begin, name) for bracket in "{[(")
    if opened >= 0:
        return opened, _balanced(text, opened)
    return named, _lines_end(text, named, name, siblings=True)
