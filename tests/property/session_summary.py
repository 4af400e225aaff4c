"""Prints at the end of a session what the random tests ran, and how to run them again: hooks that tests/conftest.py imports.

They are not in a conftest.py of this folder, because pytest-xdist's controller, which prints the summary, does not load it.
"""

from __future__ import annotations

import pytest

from property import profiles
from property.statistics import REACHED, RUNS


def pytest_sessionfinish(session):
    """Passes the numbers of a pytest-xdist worker to the controller."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["random"] = (RUNS, list(REACHED.items()))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Adds up the numbers of the workers in pytest-xdist's controller."""
    runs, reached = getattr(node, "workeroutput", {}).get("random", ([], []))
    RUNS.extend(runs)
    for what, count in reached:
        REACHED[tuple(what)] += count


def pytest_terminal_summary(terminalreporter):
    if not RUNS:
        return
    terminalreporter.section("random tests")
    for what, seeds, examples, steps, seconds in RUNS:
        terminalreporter.write_line(f"{what}: seed {seeds}, {examples} examples, {steps} steps, {seconds:.0f} s")
    kinds = len([one for one in REACHED if len(one) == 3])
    fired = sum(count for one, count in REACHED.items() if one[0] == "fired")
    terminalreporter.write_line(f"{kinds} different answers (kind, version, status), {fired} internal steps compared")
    terminalreporter.write_line(f"again: RESONATE_PROPERTY_PROFILE={profiles.PROFILE} RESONATE_PROPERTY_SEED={profiles.SEED}")
