"""Follows the codec of a client of the SDK: it sees each exception that ends a durable function, and each settled promise that one awaits.

Its error of a promise that was cancelled or has timed out is ``unknown error: null``, since such a promise has no value. Here a durable
function gets the error that ``handle.result()`` raises for it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .sdk import code_of, go_without, sdk_module

__all__ = ["codec_behind", "codec_of", "follow"]

_FOLLOWED = "_resonate_core_follows"
#: The methods of the SDK that decode a promise for a durable function.
_DECODING = ("_absorb", "create_promise", "settle_promise")


def codec_behind(receive: Callable[[str], None]) -> Any:
    """Return the codec of the client that has registered a function for messages; None if the function is not one of the SDK.

    Args:
        receive: What ``Transport.recv`` of the SDK passes to a source.
    """
    if not inspect.isfunction(receive):
        return None
    handler = inspect.getclosurevars(receive).nonlocals.get("callback")
    return getattr(getattr(handler, "__self__", None), "_codec", None)


def codec_of(client: Any) -> Any:
    """Return the codec of a client of the SDK; None, with a warning, if it has none."""
    codec = getattr(client, "_codec", None)
    if codec is None:
        go_without("Resonate._codec")
    return codec


def follow(codec: Any, encodes: Callable[[BaseException, FrameType | None], None]) -> None:
    """Have a codec report the exceptions that it encodes, and decode promises that have ended without a value to an error.

    Args:
        codec: Of a client of the SDK.
        encodes: Called with each exception before it is encoded, and the frame of the function that encodes it.
    """
    if codec is None or getattr(codec, _FOLLOWED, False):
        return
    encode, decode_promise = getattr(codec, "encode", None), getattr(codec, "decode_promise", None)
    if encode is None or decode_promise is None:
        go_without("codec with encode and decode_promise")
        return
    of_durable_functions = {code_of("resonate.effects", f"ResonateEffects.{name}") for name in _DECODING}

    def encode_noticed(value: Any) -> Any:
        if isinstance(value, BaseException):
            encodes(value, sys._getframe(1))
        return encode(value)

    def decode_with_reason(promise: Any) -> Any:
        decoded = decode_promise(promise)
        error = _missing_error(decoded)
        if error is None or sys._getframe(1).f_code not in of_durable_functions:  # a plain read gets the record as it is
            return decoded
        replace = sdk_module("msgspec").structs.replace
        return replace(decoded, value=replace(decoded.value, data=codec.decode(encode(error))))

    setattr(codec, _FOLLOWED, True)
    codec.encode, codec.decode_promise = encode_noticed, decode_with_reason


def _missing_error(promise: Any) -> Exception | None:
    """Return the error of a promise that has ended without a value, or None."""
    if promise.value.data is not None:
        return None
    errors = sdk_module("resonate.error")
    if promise.state == "rejected_timedout":
        timed_out: Exception = errors.ResonateTimeoutError()
        return timed_out
    if promise.state == "rejected_canceled":
        cancelled: Exception = errors.ApplicationError("Promise canceled")
        return cancelled
    return None
