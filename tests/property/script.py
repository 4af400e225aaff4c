"""The calls of a failed run as a Python script, so that a person can repeat them."""

from __future__ import annotations


class Script:
    """Collects lines; ``str()`` is the script."""

    def __init__(self, options):
        self.lines = [
            "import json",
            "import resonate_core as rc",
            f"options = {options!r}",
            "clock = rc.ManualClock(0)",
            "store = rc.Store(clock=clock, check=True, **options)",
        ]

    def add(self, line):
        self.lines.append(line)

    def __str__(self):
        # The last call is the one whose result differs.
        return "\n".join(["# To see it again:", *self.lines[:-1], f"print({self.lines[-1]})"])
