"""Collects the tests of this folder only on Python 3.12 or later, which the SDK needs; otherwise prints a note."""

from __future__ import annotations

import sys
from pathlib import Path

TOO_OLD = sys.version_info < (3, 12)

sys.path.insert(0, str(Path(__file__).parent))

collect_ignore_glob = ["test_*.py"] if TOO_OLD else []


def pytest_terminal_summary(terminalreporter) -> None:
    """Prints that the tests of the SDK did not run."""
    if TOO_OLD:
        terminalreporter.write_line(f"NOTE: tests/integration/sdk needs Python 3.12, this is {sys.version.split()[0]}: not run")
