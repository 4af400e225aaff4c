"""Payloads as people read them, in place of the base64 of the wire."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from ..base.payloads import decoded
from .redaction import DEEPEST, Redaction

__all__ = ["BRIEF", "FULL", "SHOWN", "encoded", "is_nested_deeper", "shown"]

#: The most characters of a payload: in a list, on a page of one record, and on request.
BRIEF, SHOWN, FULL = 1024, 65_536, 2_097_152
_REDACTED = {"kind": "redacted"}


def encoded(content: Any) -> dict[str, Any]:
    """Return JSON as a value on the wire.

    Example:
        >>> from resonate_core.ui.payloads import encoded
        >>> encoded({"a": 1})
        {'data': 'eyJhIjoxfQ=='}
    """
    try:
        raw = _written(content).encode()
    except UnicodeEncodeError:  # JSON may escape half a surrogate pair, and UTF-8 has no bytes for it
        raw = _written(content, ensure_ascii=True).encode()
    return {"data": base64.b64encode(raw).decode()}


def is_nested_deeper(content: Any, levels: int = DEEPEST) -> bool:
    """Return whether JSON nests deeper than so many lists and objects.

    Example:
        >>> from resonate_core.ui.payloads import is_nested_deeper
        >>> is_nested_deeper([[1]], 1), is_nested_deeper([[1]], 2)
        (True, False)
    """
    level = [content]
    for _ in range(levels + 1):
        containers = [one for one in level if isinstance(one, (dict, list))]
        if not containers:
            return False
        level = [member for one in containers for member in (one.values() if isinstance(one, dict) else one)]
    return True


def shown(value: Mapping[str, Any] | None, redaction: Redaction, *, hidden: bool = False, most: int = SHOWN) -> dict[str, Any]:
    """Return a value as the views show it.

    Args:
        value: As on the wire.
        redaction: Replaces what must not be sent.
        hidden: Whether the whole value is redacted.
        most: The most characters of its JSON or text.
    """
    if not value:
        return {"kind": "none"}
    kind, content, _ = decoded(value)
    headers = value.get("headers")
    if hidden:
        redaction.hide([content if kind != "binary" else None, headers])
        return dict(_REDACTED)
    made: dict[str, Any] = {"kind": kind}
    if headers:
        made["headers"] = redaction.pairs(headers)
    if kind == "binary":
        made["bytes"] = len(content)
    elif kind == "text":
        text = redaction.text(content)
        made["text"] = text[:most]
        if len(text) > most:
            made["truncated"] = True
    elif kind == "json":
        content = redaction.payload(value["data"], content)
        try:
            text, readable = _written(content, allow_nan=False), not is_nested_deeper(content)
        except ValueError:  # Python also reads and writes NaN and Infinity, at which a browser refuses the whole response
            text, readable = _written(content), False
        if len(text) > most:
            made |= {"kind": "text", "text": text[:most], "truncated": True}
        elif readable:
            made["json"] = content
        else:
            made |= {"kind": "text", "text": text}
    return made


def _written(content: Any, *, ensure_ascii: bool = False, allow_nan: bool = True) -> str:
    return json.dumps(content, ensure_ascii=ensure_ascii, allow_nan=allow_nan, separators=(",", ":"))
