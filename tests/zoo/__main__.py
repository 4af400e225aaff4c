"""Measures the zoo, and prints a table in Markdown: `python -m tests.zoo [--seeds 10] [--clean 10000] [--only NAME …]`.

For each bug: how many runs the searches need (median and most of the seeds), how long the first failing run takes to find, the number of
choices before and after shrinking, the lines of the story, and how many runs of the program without the bug are clean.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from resonate_core.testing import Failure, explore
from zoo.catalogue import ZOO, Specimen

SEARCHES = ("random", "priorities", "crash_everywhere")
_MOST_RUNS = 5_000


def found(specimen: Specimen, seed: int, search: str, shrink: int) -> Failure | None:
    """Returns the first failure of a search."""
    try:
        explore(specimen.buggy, runs=_MOST_RUNS, seed=seed, search=search, shrink=shrink, progress=False)
    except Failure as failure:
        return failure
    return None


def of_runs(counts: list[int | None]) -> str:
    """Returns the median and the most of the numbers of runs; how often nothing was found, if ever."""
    known = [count for count in counts if count is not None]
    if not known:
        return "not found"
    missed = f" ({len(known)} of {len(counts)})" if len(known) < len(counts) else ""
    return f"{statistics.median_high(known)}, {max(known)}{missed}"


def row(specimen: Specimen, seeds: int, clean: int) -> str:
    """Returns a line of the table."""
    shrunk = 3 if specimen.whole else seeds  # a whole system takes milliseconds a run
    failures = [found(specimen, seed, "random", 2_000 if seed < shrunk else 0) for seed in range(seeds)]
    random = [None if each is None else each.report.runs for each in failures]
    others = {
        search: [None if (each := found(specimen, seed, search, 0)) is None else each.report.runs for seed in range(seeds)]
        for search in SEARCHES[1:]
    }
    known = [each for each in failures if each is not None]
    seconds = statistics.median(each.report.seconds for each in known)
    known = known[:shrunk]
    before, after, lines = (
        statistics.median_high(values)
        for values in ([each.found for each in known], [each.choices for each in known], [len(each.story) for each in known])
    )
    began = time.perf_counter()
    runs = explore(specimen.fixed, runs=clean, seed=seeds, progress=False).runs if clean else 0
    took = time.perf_counter() - began
    cells = [
        specimen.bug,
        of_runs(random),
        of_runs(others["priorities"]),
        of_runs(others["crash_everywhere"]),
        f"{seconds * 1000:.1f} ms",
        f"{before} → {after}",
        str(lines),
        f"{runs:,} in {took:.1f} s",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.zoo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each search (default 10)")
    parser.add_argument("--clean", type=int, default=10_000, help="runs without the bug (default 10,000)")
    parser.add_argument("--only", nargs="*", default=[], help="names of programs")
    arguments = parser.parse_args()
    print("| bug | runs, random | runs, priorities | runs, crash everywhere | time, random | choices | story | clean runs |")
    print("|---|---|---|---|---|---|---|---|")
    for specimen in ZOO:
        if not arguments.only or specimen.name in arguments.only:
            print(row(specimen, arguments.seeds, arguments.clean), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
