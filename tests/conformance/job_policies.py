"""Computes the delays of retries from the text of the contract, without any code of the core.

The random number of failure n is the (n + 1)-th number of splitmix64, seeded with FNV-1a of the id's bytes.
"""

from __future__ import annotations

import math

WORD = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
DAY = 86_400_000


def fnv1a(text: bytes) -> int:
    """64-bit FNV-1a."""
    h = 0xCBF29CE484222325
    for byte in text:
        h = (h ^ byte) * 0x100000001B3 & WORD
    return h


def splitmix(seed: int, nth: int) -> int:
    """The nth number of splitmix64 from a seed, counted from 1."""
    z = seed + nth * GOLDEN & WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


def dice(id: str, n: int) -> int:
    """The random number in the backoff of a job after failure n, counted from 0."""
    return splitmix(fnv1a(id.encode()), n + 1)


def asynq(id: str, n: int) -> int:
    """Asynq's backoff in ms."""
    return (n**4 + 15 + dice(id, n) % 30 * (n + 1)) * 1000


def asynq_bounds(n: int) -> tuple[int, int]:
    """The minimum and the maximum of asynq's backoff in ms."""
    return (n**4 + 15) * 1000, (n**4 + 15 + 29 * (n + 1)) * 1000


def fixed(intervals: list[int], n: int) -> int:
    """The delay of a fixed policy; the last interval repeats."""
    return intervals[n] if n < len(intervals) else intervals[-1]


def exponential(id: str, n: int, base: int, factor: float = 2.0, cap: int = DAY, jitter: float = 0.0) -> int:
    """The delay of an exponential policy: base × factor^n, spread by the jitter, within 0..cap."""
    delay = float(base)
    for _ in range(n):
        delay = min(float(cap), delay * factor)
    unit = (dice(id, n) >> 11) * 2.0**-53
    return max(0, min(cap, math.floor(delay * (1.0 + jitter * (2.0 * unit - 1.0)))))
