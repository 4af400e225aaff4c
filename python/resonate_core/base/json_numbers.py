"""Numbers in JSON that others wrote: the functions that `json` calls for them. They refuse what the store cannot hold."""

from __future__ import annotations

import math

__all__ = ["RefusedNumber", "finite", "int64"]

#: The most digits of an integer of 64 bits, with its sign. More are not converted: that takes time.
_MOST_DIGITS = 20
_LEAST, _MOST = -(2**63), 2**63 - 1
#: The most characters that an error quotes.
_QUOTED = 80


class RefusedNumber(ValueError):
    """A number that is JSON, or that Python's JSON has besides, and is beyond the numbers of a store."""


def int64(text: str) -> int:
    """Return an integer, as `parse_int`.

    Raises:
        RefusedNumber: It does not fit into 64 bits.

    Example:
        >>> import json
        >>> from resonate_core.base.json_numbers import int64
        >>> json.loads("[1]", parse_int=int64)
        [1]
        >>> int64("9223372036854775808")
        Traceback (most recent call last):
        ...
        resonate_core.base.json_numbers.RefusedNumber: a number must be an integer of 64 bits, got 9223372036854775808
    """
    if len(text) <= _MOST_DIGITS:
        number = int(text)
        if _LEAST <= number <= _MOST:
            return number
    raise RefusedNumber(f"a number must be an integer of 64 bits, got {text[:_QUOTED]}")


def finite(text: str) -> float:
    """Return a float, as `parse_float` and `parse_constant`.

    Raises:
        RefusedNumber: It is NaN or infinite.

    Example:
        >>> from resonate_core.base.json_numbers import finite
        >>> finite("1e400")
        Traceback (most recent call last):
        ...
        resonate_core.base.json_numbers.RefusedNumber: a number must be finite, got 1e400
    """
    number = float(text)
    if not math.isfinite(number):
        raise RefusedNumber(f"a number must be finite, got {text[:_QUOTED]}")
    return number
