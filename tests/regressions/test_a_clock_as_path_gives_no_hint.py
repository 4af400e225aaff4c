"""`Store(ManualClock())` raised "expected str, bytes or os.PathLike object"; the error did not say that `clock` is a keyword."""

from __future__ import annotations

import pytest

import resonate_core as rc


@pytest.mark.parametrize("clock", [rc.ManualClock(), rc.SystemClock()])
def test_a_clock_is_given_by_name(clock: rc.Clock) -> None:
    with pytest.raises(TypeError, match=r"^path_or_url must be a path, a URL or None, got a clock; .*Store\(clock=\.\.\.\)$"):
        rc.Store(clock)  # type: ignore[arg-type]


def test_what_else_is_no_path() -> None:
    with pytest.raises(TypeError, match=r"^path_or_url must be str, os\.PathLike or None, got int$"):
        rc.Store(5)  # type: ignore[arg-type]
