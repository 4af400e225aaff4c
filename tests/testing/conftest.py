"""Puts the folder on the path: executors and generated tests import scenarios by name. Runs pytest in tests of the plugin."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot  # noqa: F401
import pytest

from resonate_core import testing

sys.path.insert(0, str(Path(__file__).parent))

# A run of pytest in this process forgets what it imports, and a module that is imported again has classes of its own, or cannot be. So
# what the runs share is imported before.
LOADED = [getattr(testing, name) for name in testing.__all__]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Runs pytest on a file with this text, with the plugin."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)

    def run(text: str, *arguments: str, ini: str = "") -> pytest.RunResult:
        pytester.makefile(".ini", pytest=f"[pytest]\naddopts = --strict-markers\n{ini}")
        pytester.makepyfile(test_it="import pytest\nimport resonate_core as rc\nfrom resonate_core.testing import *\n" + text)
        left_out = [part for name in ("cacheprovider", "asyncio", "flaky", "rerunfailures") for part in ("-p", f"no:{name}")]
        return pytester.runpytest_inprocess("-p", "resonate_core.testing.plugin", *left_out, *arguments)

    return run
