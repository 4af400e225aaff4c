"""Replies of a server that an enemy has changed, made from a random generator: threads of a server may draw from one, and a seed repeats them."""

from __future__ import annotations

import gzip
import json
import zlib
from random import Random
from typing import Any

__all__ = ["body_of", "changed"]

_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 200, 300, 404, 503, 2**63 - 1, 2**63, -(2**63), 10**400, 0.5, 1e308, float("inf"), float("nan"),
    "", "x", "a", "\x1b[31m", "\u202e", "\ud800", "pending", "running", "9" * 30, "k" * 3000,
    [], {}, [5], {"a": 5}, [[]], [{}], {"id": "x"}, {"status": 200}, [None], {"": None},
]  # fmt: skip
_MEMBERS = ["id", "state", "cursor", "more", "data", "kind", "\x1b]0;T\x07", "preload", "status", "at"]
_DAMAGES = ["cut", "junk", "deep", "double", "utf-16", "gzip", "deflate", "br", "lies", "large"]
_HEADERS = ["retry-after: 0", "retry-after: " + "9" * 400, "set-cookie: a=b", "location: http://[", "x-a: \xff"]
_BATCHES = ["", "1", "0", "7", "-1", "9" * 5000, "x"]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        found += _places(one, (*path, key))
    return found


def _put(random: Random, value: Any, path: tuple[Any, ...]) -> Any:
    """Replace the part at a path, leave it out, double it, or put something beside it."""
    if not path:
        return random.choice(_VALUES) if random.random() < 0.3 else value
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    key, what = path[-1], random.random()
    if what < 0.15:
        del parent[key]
    elif what < 0.3 and isinstance(parent, list):
        parent.append(parent[key])
    elif what < 0.4 and isinstance(parent, dict):
        parent[random.choice(_MEMBERS)] = random.choice(_VALUES)
    else:
        parent[key] = random.choice(_VALUES)
    return value


def changed(random: Random, reply: Any) -> Any:
    """A reply with up to three of its parts changed."""
    value: Any = json.loads(json.dumps(reply))
    for _ in range(random.choice([0, 1, 1, 1, 2, 3])):
        value = _put(random, value, random.choice(_places(value)))
        value = json.loads(json.dumps(value))  # parts are no longer shared
    return value


def body_of(random: Random, value: Any) -> tuple[bytes, list[str]]:
    """The bytes of a reply, sometimes damaged, and headers that come with them."""
    text = json.dumps(value).encode()
    headers = [f"resonate-batch: {random.choice(_BATCHES)}", *random.sample(_HEADERS, random.choice([0, 0, 0, 1]))]
    damage = random.choice(_DAMAGES) if random.random() < 0.3 else ""
    place = random.randrange(len(text) + 1)
    if damage == "cut":
        text = text[:place]
    elif damage == "junk":
        text = text[:place] + random.randbytes(random.randrange(6)) + text[place:]
    elif damage == "deep":
        text = text[:place] + random.choice([b"[", b'{"a":']) * random.choice([50, 900, 50_000]) + text[place:]
    elif damage == "double":
        text += b"\n" + text
    elif damage == "utf-16":
        text = text.decode().encode("utf-16")
    elif damage == "large":
        text = text[:place] + b" " * 2_000_000 + text[place:]
    if damage in ("gzip", "deflate", "br", "lies"):
        headers.append(f"content-encoding: {'gzip' if damage == 'lies' else damage}")
        text = gzip.compress(text) if damage == "gzip" else zlib.compress(text) if damage == "deflate" else text
    return text, headers
