"""Random changes of JSON and of bytes, by a generator of random numbers: equal seeds give equal changes."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

__all__ = ["JUNK", "changed", "changed_bytes", "text"]

TEXTS = (
    *(
        "",
        "a",
        "a.b",
        "\0",
        "a\0b",
        "\u2028",
        "\x85",
        "\ufeff",
        "\ud800",
        "𝄞",
        "x" * 3000,
        '"""',
        "'''",
        "\\",
        "{0}",
        "{id:>200000000}",
    ),
    *(
        "%s",
        "</script>",
        "[redacted]",
        "../..",
        "*",
        "**",
        "a*b*c",
        "-1",
        "1e999",
        "NaN",
        "true",
        "null",
        "9" * 400,
        "\x1b[31m",
        "\u202e",
    ),
    *("2026-04-01", "promise.get", "open", "step.schedule", "step.{id}", "1970-01-01", "0", "1", "j", "default", "mail"),
)
NUMBERS = (0, 1, -1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**40, 1.5, -0.0, 1e308, 1000, 5000)
JUNK = (*TEXTS, *NUMBERS, None, True, False, [], {}, [[]], {"a": {}}, ["a"], [1], [None], {"": 1}, {"id": "a"})


def text(random: Random) -> str:
    """Return a text that is likely to break something."""
    return (
        random.choice(TEXTS)
        if random.random() < 0.7
        else "".join(chr(random.choice((34, 39, 92, 10, 0x2028, 123, 125, 97))) for _ in range(9))
    )


def _nest(random: Random) -> Any:
    made: Any = 1
    for _ in range(random.choice((5, 60, 64, 65, 200))):
        made = [made] if random.random() < 0.5 else {"a": made}
    return made


def _another(random: Random, value: Any) -> Any:
    """Return another value, more often one of the same class."""
    chance = random.random()
    if chance < 0.35 and isinstance(value, str):
        return text(random)
    if chance < 0.35 and isinstance(value, (int, float)):
        return value + 1 if chance < 0.1 else random.choice(NUMBERS)
    return copy.deepcopy(random.choice(JUNK)) if chance < 0.9 else _nest(random)


def changed(random: Random, value: Any, most: int = 3) -> Any:
    """Return JSON with some of its values replaced, removed, doubled or nested."""
    made = json.loads(json.dumps(value))
    for _ in range(random.randint(1, most)):
        holder: Any = None
        at: Any = made
        key: Any = None
        while isinstance(at, (dict, list)) and at and (holder is None or random.random() < 0.97):
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            inner = [key for key in keys if isinstance(at[key], (dict, list)) and at[key]]
            holder, key = at, random.choice(inner if inner and random.random() < 0.8 else keys)
            at = holder[key]
        if holder is None:
            return copy.deepcopy(random.choice(JUNK))
        action = random.random()
        if action < 0.6:
            holder[key] = _another(random, at)
        elif action < 0.8:
            del holder[key]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(at))
        else:
            holder[text(random)] = copy.deepcopy(at)
    return made


def changed_bytes(random: Random, content: bytes) -> bytes:
    """Return bytes of which some were replaced, removed or doubled."""
    made = bytearray(content)
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(made) + 1)
        end = min(len(made), start + random.choice((0, 1, 1, 10, 1000)))
        part = random.choice(
            (b"", b"\xff", b"\x00", b"\n", b"{", b"}", b'"', b"\\", b"9" * 50, b"[" * 500, bytes(made[start:end]) * 3)
        )
        made[start:end] = part
    return bytes(made)
