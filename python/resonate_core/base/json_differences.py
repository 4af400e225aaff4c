"""The differences of two JSON values, as lines that a person reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Wording", "differences"]

Wording = tuple[str, str]
"""The names of the two sides, such as ``("got", "expected")``."""


def differences(got: Any, expected: Any, wording: Wording = ("got", "expected"), path: str = "$") -> Iterator[str]:
    """Yield a line for each difference of two JSON values, with its path.

    Args:
        got: One value.
        expected: The other one.
        wording: How the lines call the two.
        path: The path of the values.

    Example:
        >>> from resonate_core.base.json_differences import differences
        >>> list(differences({"a": [1, 2], "b": 0}, {"a": [1, 3]}))
        ['$.a[1]: got 2, expected 3', '$.b: got 0, expected none']
    """
    one, other = wording
    if isinstance(got, Mapping) and isinstance(expected, Mapping):
        for name in sorted(set(got) | set(expected), key=str):
            if name not in got:
                yield f"{path}.{name}: {one} none, {other} {expected[name]!r}"
            elif name not in expected:
                yield f"{path}.{name}: {one} {got[name]!r}, {other} none"
            else:
                yield from differences(got[name], expected[name], wording, f"{path}.{name}")
    elif isinstance(got, list) and isinstance(expected, list) and len(got) == len(expected):
        for place, (left, right) in enumerate(zip(got, expected, strict=True)):
            yield from differences(left, right, wording, f"{path}[{place}]")
    elif got != expected:
        yield f"{path}: {one} {got!r}, {other} {expected!r}"
