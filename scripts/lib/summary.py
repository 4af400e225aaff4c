"""Adds up what scripts/test ran, from the reports of its stages."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def count(report: Path) -> tuple[int, int, int]:
    """Counts a JUnit report's cases, GoogleTest's or pytest's.

    Returns:
        How many passed, failed (or broke), and were skipped.
    """
    passed = failed = skipped = 0
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main(stages: Path) -> int:
    """Prints a line a stage and the total; returns the exit status."""
    total = [0, 0, 0]
    for line in stages.read_text(encoding="utf-8").splitlines():
        name, status, seconds, report = line.split("\t")
        if Path(report).exists():
            counts = count(Path(report))
        else:
            counts = (0, 0, 0)
        if status != "0" and counts[1] == 0:
            counts = (counts[0], 1, counts[2])  # it broke before or beside its tests
        total = [a + b for a, b in zip(total, counts, strict=True)]
        passed, failed, skipped = counts
        verdict = "FAILED" if failed else "ok"
        print(f"{verdict:6}  {name:36} {passed:6} passed {failed:4} failed {skipped:4} skipped {int(seconds):5} s")
    passed, failed, skipped = total
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
