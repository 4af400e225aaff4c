"""Jobs as they are in requests on the wire."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from .._core import Value
from .durations import milliseconds
from .records import camel

__all__ = ["enqueue_data", "wire_value"]


def wire_value(value: Any, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A payload or a result as it is in an envelope."""
    if isinstance(value, Value):
        return value.to_dict()
    made: dict[str, Any] = {} if headers is None else {"headers": dict(headers)}
    if value is not None:
        raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
        made["data"] = base64.b64encode(raw).decode("ascii")
    return made


def enqueue_data(type: str, payload: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The data of job.enqueue."""
    headers = options.get("headers")
    data: dict[str, Any] = {"type": type}
    value = wire_value(payload, headers)
    if value:
        data["payload"] = value
    for name, given in options.items():
        if name == "headers" or given is None:
            continue
        if name == "retention" and given == "kept":
            data[name] = None
        else:
            data[camel(name)] = milliseconds(name, given) if isinstance(given, timedelta) else given
    return data
