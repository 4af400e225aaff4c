"""Counts what the random tests of a session reached; printed at its end."""

from __future__ import annotations

from collections import Counter

RUNS = []
"""One (what, seed, examples, steps, seconds) for each run."""

REACHED = Counter()
"""(kind, version, status) of requests, ("fired", kind) of internal steps, and names of other calls."""
