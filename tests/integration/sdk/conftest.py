"""The SDK needs Python 3.12: elsewhere nothing of this folder is collected, and the run says so."""

from __future__ import annotations

import sys
from pathlib import Path

TOO_OLD = sys.version_info < (3, 12)

sys.path.insert(0, str(Path(__file__).parent))

collect_ignore_glob = ["test_*.py"] if TOO_OLD else []


def pytest_terminal_summary(terminalreporter) -> None:
    """Says that the tests of the SDK did not run here."""
    if TOO_OLD:
        terminalreporter.write_line(f"NOTE: tests/integration/sdk needs Python 3.12, this is {sys.version.split()[0]}: not run")
