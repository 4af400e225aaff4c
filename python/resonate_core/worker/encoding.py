"""Values become JSON: payloads and results in the store's form.

Plain types are msgspec's work, pydantic models are pydantic's; both are imported only if a value needs them.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import sys
import uuid
from collections.abc import Callable
from typing import Any

from .._core import Value
from ..base import extras
from ..errors import Invalid
from .models import Unwritable, dump, dump_for_handler, is_model, is_secret, place_of, refuse_secret
from .set_order import ordered

__all__ = ["encoded", "payload_encoded"]

#: The exact types of values that the store writes as they are.
_SCALARS = frozenset({type(None), bool, int, float, str, bytes, Value})
#: Their subclasses, too: of these it writes the bytes.
_BUFFERS = (bytes, bytearray, memoryview)
_CONSTANTS = {True: "true", False: "false", None: "null"}

#: Makes JSON of a model.
_Dump = Callable[[Any], Any]


def encoded(value: Any) -> Any:
    """Return a result in the store's form: dataclasses, models, datetimes and the like become JSON's own types.

    Whatever the store writes without msgspec, it writes with it, too.

    Args:
        value: Any value. None, bytes and a `Value` stay as they are.

    Raises:
        ImportError: It needs msgspec, which is not installed.
        Invalid: A model in it holds a secret, or bytes that are no text; the error names the field.
        TypeError: It has no JSON.

    Example:
        >>> import datetime
        >>> from resonate_core.worker.encoding import encoded
        >>> encoded({"at": datetime.date(2026, 2, 1)})
        {'at': '2026-02-01'}
    """
    return _encoded(value, dump)


def payload_encoded(value: Any) -> Any:
    """Return a payload in the store's form, from which the annotations of a handler make the value again; otherwise like `encoded`.

    Args:
        value: Any value.

    Raises:
        Invalid: As of `encoded`.

    Example:
        >>> from resonate_core.worker.encoding import payload_encoded
        >>> payload_encoded({True: (1, 2)})
        {'true': (1, 2)}
    """
    return _encoded(value, dump_for_handler)


def _encoded(value: Any, dump_model: _Dump) -> Any:
    if type(value) in _SCALARS or isinstance(value, (*_BUFFERS, Value)):
        return value
    try:
        if is_model(type(value)):
            return ordered(value, dump_model(value))
        return ordered(value, _by_msgspec(value, dump_model))
    except Unwritable as error:
        path = place_of(error.holder, value) + error.path
        raise Invalid(f"{path.lstrip('.') or 'payload'} {error.rule}") from error


def _by_msgspec(value: Any, dump_model: _Dump) -> Any:
    msgspec: Any = sys.modules.get("msgspec")
    if msgspec is None:
        if _is_json(value):
            return value
        try:
            import msgspec
        except ImportError as error:
            if not _needs_msgspec(value):
                return value  # the store refuses it, and says why
            message = f"a value of {type(value).__qualname__} becomes JSON by msgspec: {extras.how_to_install('typed')}"
            raise ImportError(message) from error

    def other(unknown: Any) -> Any:
        return _builtin(unknown, dump_model)

    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=other)
    except TypeError:
        with_text_keys = _with_text_keys(value)
        if with_text_keys is value:
            raise
    return msgspec.to_builtins(with_text_keys, str_keys=True, enc_hook=other)


def _is_json(value: Any) -> bool:
    kind = type(value)
    if kind in (list, tuple):
        return all(map(_is_json, value))
    if kind is dict:
        return all(type(name) is str and _is_json(member) for name, member in value.items())
    return kind in _SCALARS and kind not in (bytes, Value)


def _needs_msgspec(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(map(_needs_msgspec, value))
    if type(value) is dict:
        return any(map(_needs_msgspec, value.values()))
    kinds = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, enum.Enum, frozenset, set, uuid.UUID)
    return dataclasses.is_dataclass(type(value)) or isinstance(value, kinds)


def _builtin(value: Any, dump_model: _Dump) -> Any:
    """Return a value of a type that msgspec does not know as one that it knows."""
    if is_model(type(value)):
        return dump_model(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if is_secret(value):
        refuse_secret(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic) and not isinstance(plain := value.item(), numpy.generic):
        return plain
    raise TypeError(f"Object of type {type(value).__qualname__} is not JSON serializable")


def _with_text_keys(value: Any) -> Any:
    """Return a value whose dicts have the names that JSON gives to their keys, such as ``true``; itself if they have these already."""
    if isinstance(value, dict):
        changed = {_text_key(name): _with_text_keys(member) for name, member in value.items()}
        same = all(map(_is_same, changed, value)) and all(map(_is_same, changed.values(), value.values()))
        return value if same else changed
    if type(value) in (list, tuple):
        members = [_with_text_keys(member) for member in value]
        return value if all(map(_is_same, members, value)) else members
    return value


def _is_same(one: Any, other: Any) -> bool:
    return one is other


def _text_key(key: Any) -> Any:
    if isinstance(key, bool) or key is None:
        return _CONSTANTS[key]
    if isinstance(key, enum.Enum):
        return key
    if isinstance(key, int) and type(key) is not int:
        return int.__repr__(key)
    if isinstance(key, float) and type(key) is not float:
        return float.__repr__(key)
    return key
