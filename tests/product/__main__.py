"""Prints the table of the planted faults: ``python -m tests.product``. Exits with 1 if one was not found."""

from __future__ import annotations

import sys
import time

from .hunting import hunt
from .mutants import MUTANTS


def main() -> int:
    missed = 0
    print(f"{'mutant':<55} {'part':<11} {'found':<6} {'seed':>4} {'runs':>4} {'CPU s':>6}  failure")
    for mutant in MUTANTS:
        began = time.process_time()
        found = hunt(mutant)
        missed += found.seed is None
        seed = "-" if found.seed is None else found.seed
        took = time.process_time() - began
        print(f"{mutant.name:<55} {mutant.part:<11} {'no' if found.seed is None else 'yes':<6} {seed:>4} {found.runs:>4} {took:6.2f}  {found.failure[:90]}", flush=True)  # fmt: skip
    print(f"{len(MUTANTS) - missed} of {len(MUTANTS)} found")
    return missed > 0


sys.exit(main())
