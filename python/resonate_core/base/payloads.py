"""Payloads as JSON: reading a stored value, and parsing what a person gives."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .json_numbers import finite

__all__ = ["Payload", "decoded", "parse_json"]


class Payload(NamedTuple):
    """A stored value without the base64 of the wire.

    Attributes:
        kind: `json`, `text`, `binary` or `none`.
        content: The decoded JSON, the text, or the bytes.
        text: The JSON as it was written, or the text; empty for the other kinds.
    """

    kind: str
    content: Any = None
    text: str = ""


def decoded(value: Mapping[str, Any]) -> Payload:
    """Decode a value on the wire. Clients may store any text, so no data is an error.

    Example:
        >>> from resonate_core.base.payloads import decoded
        >>> decoded({"data": "eyJhIjoxfQ=="})
        Payload(kind='json', content={'a': 1}, text='{"a":1}')
        >>> decoded({"data": "aGk="}).content, decoded({"data": "?"}).content, decoded({}).kind
        ('hi', '?', 'none')
    """
    data = value.get("data")
    if not data:
        return Payload("none")
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return Payload("text", data, data)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return Payload("binary", raw)
    try:
        return Payload("json", json.loads(text), text)
    except (ValueError, RecursionError):
        return Payload("text", text, text)


def parse_json(text: str | bytes) -> Any:
    """Parse JSON that a person or a browser gave.

    Raises:
        ValueError: The text is no JSON, is nested too deep, or contains NaN, Infinity or a number beyond all floats.

    Example:
        >>> from resonate_core.base.payloads import parse_json
        >>> parse_json('{"a": 1}')
        {'a': 1}
        >>> parse_json("1e400")
        Traceback (most recent call last):
        ...
        resonate_core.base.json_numbers.RefusedNumber: a number must be finite, got 1e400
    """
    try:
        return json.loads(text, parse_constant=finite, parse_float=finite)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
