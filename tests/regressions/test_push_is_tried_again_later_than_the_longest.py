"""A message that was not pushed was "tried again in 335 s" with `push.longest_retry` 300: the jitter was added after the limit."""

from __future__ import annotations

import pytest

from resonate_core.asgi import PushSettings
from server.failing_pushes import failed_pushes


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("first", "longest"), [(0.01, 0.03), (0.03, 0.02)])
def test_no_pause_is_longer(caplog: pytest.LogCaptureFixture, seed: int, first: float, longest: float) -> None:
    """The log names the delay that is used; delays at the limit still differ."""
    print(f"seed {seed}")
    settings = PushSettings(allow="127.0.0.0/8", first_retry=first, longest_retry=longest)
    waited = [record.seconds for record in failed_pushes(caplog, settings, 25, seed=seed)]  # type: ignore[attr-defined]
    assert max(waited) <= longest, waited
    assert min(waited) >= 0.8 * min(first, longest)
    at_the_limit = waited[5:]
    assert min(at_the_limit) >= 0.8 * longest and len(set(at_the_limit)) == len(at_the_limit)
