"""Times several things that are compared, in alternating rounds."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

Body = Callable[[], int]  # does its work and says how many operations that was


def rates(contestants: Mapping[str, Callable[[], Body]], rounds: int = 7) -> dict[str, float]:
    """Operations per second of each contestant, the best of `rounds`.

    Each contestant is a factory: it prepares a fresh state, outside the time, and returns the body to be timed. Rounds
    alternate, so that a slow moment of the machine hits all of them; the garbage collector is off inside a body and runs before it.
    """
    best = dict.fromkeys(contestants, 0.0)
    for _ in range(rounds):
        for name, prepare in contestants.items():
            body = prepare()
            gc.collect()
            gc.disable()
            start = time.perf_counter()
            operations = body()
            elapsed = time.perf_counter() - start
            gc.enable()
            best[name] = max(best[name], operations / elapsed)
            del body
    return best
