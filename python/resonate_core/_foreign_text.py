"""Texts that others wrote, for people: the one place that decides which characters a terminal, a log and an error get as they are.

Everything else is written as an escape: control characters (C0, C1, DEL), which move a cursor, set a title or end a line; characters that
change the direction of writing; separators of lines; halves of surrogate pairs; and characters without a width, which hide text.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["MOST_OF_A_REFUSAL", "clean", "clean_json", "clean_lines", "excerpt", "is_clean"]

#: Characters that `str.isprintable` calls printable and that have no glyph: fillers, joiners, selectors of variants.
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_HIDDEN = re.compile(f"[{_INVISIBLE}]")
#: Most texts: nothing of these has to be looked at.
_PLAIN = re.compile(r"[ -~]*")
#: The most characters of the text of a refusal that its error keeps.
MOST_OF_A_REFUSAL = 10_000
_SHOWN = 200


def is_clean(text: str) -> bool:
    r"""Whether a text has printable characters only.

    Example:
        >>> from resonate_core._foreign_text import is_clean
        >>> is_clean("straße 5"), is_clean("a\u202eb"), is_clean("a\u3164"), is_clean("a\n")
        (True, False, False, False)
    """
    return _PLAIN.fullmatch(text) is not None or (text.isprintable() and _HIDDEN.search(text) is None)


def _escape(one: str) -> str:
    return one if is_clean(one) else ascii(one)[1:-1]


def clean(text: str) -> str:
    r"""Return a text of other people on one line, with escapes in place of what is not printable.

    Example:
        >>> from resonate_core._foreign_text import clean
        >>> clean("a\x1b[31mb\n\u202e")
        'a\\x1b[31mb\\n\\u202e'
    """
    return text if is_clean(text) else "".join(map(_escape, text))


def clean_lines(text: str) -> str:
    r"""Return a text of several lines, each as of `clean`.

    Example:
        >>> from resonate_core._foreign_text import clean_lines
        >>> print(clean_lines("one\ntwo\x07"))
        one
        two\x07
    """
    return text if is_clean(text) else "\n".join(map(clean, text.split("\n")))


def clean_json(text: str) -> str:
    r"""Return a JSON document with JSON's own escapes in place of what is not printable: it parses to the same value.

    Args:
        text: Of `json.dumps`.

    Example:
        >>> import json
        >>> from resonate_core._foreign_text import clean_json
        >>> print(clean_json(json.dumps({"a": "\x9b32m\x7f"}, ensure_ascii=False)))
        {"a": "\u009b32m\u007f"}
    """
    return "\n".join(line if is_clean(line) else "".join(map(_json_escape, line)) for line in text.split("\n"))


def _json_escape(one: str) -> str:
    if is_clean(one):
        return one
    return "\\u007f" if one == "\x7f" else json.dumps(one)[1:-1]


def excerpt(value: Any, most: int = _SHOWN) -> str:
    """Return the beginning of a value that another program sent, for an error; of a list or an object only that it is one.

    Example:
        >>> from resonate_core._foreign_text import excerpt
        >>> excerpt("a" * 300)[-4:], excerpt([1, 2]), excerpt(5), excerpt(None)
        ('aaa…', 'a list', '5', 'null')
    """
    if isinstance(value, str):
        return clean(value[:most]) + ("…" if len(value) > most else "")
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 64:
        return "a number of more than 64 bits"
    return json.dumps(value)
