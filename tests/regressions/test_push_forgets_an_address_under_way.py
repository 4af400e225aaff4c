"""An unreachable address was forgotten while a delivery to it was in progress: its delays began again with the shortest."""

from __future__ import annotations

import pytest

from resonate_core.asgi import PushSettings
from server.failing_pushes import failed_pushes


def test_failures_are_counted_on(caplog: pytest.LogCaptureFixture) -> None:
    """The receiver accepts connections and does not answer, for longer than two of the longest delays."""
    settings = PushSettings(allow="127.0.0.0/8", first_retry=0.01, longest_retry=0.01, timeout=2)
    found = failed_pushes(caplog, settings, 4, accepts=True)
    assert [record.failures for record in found][:4] == [1, 2, 3, 4]  # type: ignore[attr-defined]
