"""What a round took: the rate, and the processor time of a job, which other work on the machine moves less."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ..stopwatch import Body

#: What the name of such a figure ends with; of all others more is better.
CPU = " cpu us"


def timed(contestants: Mapping[str, Callable[[], Body]]) -> dict[str, float]:
    """Jobs a second and µs of this process's processor time a job, of each contestant once.

    As `bench.stopwatch.rates`: a contestant prepares outside the time; the garbage collector is off inside a body and runs before it.
    """
    found: dict[str, float] = {}
    for name, prepare in contestants.items():
        body = prepare()
        gc.collect()
        gc.disable()
        cpu, start = time.process_time(), time.perf_counter()
        jobs = body()
        elapsed, used = time.perf_counter() - start, time.process_time() - cpu
        gc.enable()
        found |= {name: jobs / elapsed, name + CPU: 1e6 * used / jobs}
        del body
    return found


def better(found: dict[str, float], seen: dict[str, float]) -> dict[str, float]:
    """The best of both, figure by figure."""
    best = dict(found)
    for name, value in seen.items():
        choose = min if name.endswith(CPU) else max
        best[name] = choose(value, best.get(name, value))
    return best


def cpu_seconds(pid: int) -> float:
    """What a process used so far, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
