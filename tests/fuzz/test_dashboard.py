"""Random recordings, uploads, parameters and actions break no dashboard: no error that is not in the contract, bounded memory, no hang.

The tier `full` runs each for 60 s. A failure prints the seed of the run: `python -m fuzz.dashboard TARGET SEED 1 0 400000000`, in `tests`.
"""

from __future__ import annotations

import pytest

from fuzz.bounded import only_linux, run
from fuzz.dashboard import TARGETS


@only_linux
@pytest.mark.parametrize("target", TARGETS)
def test_random_requests(target: str) -> None:
    run("dashboard", target, 1, 120, 0)


@only_linux
@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_random_requests_for_a_minute(target: str) -> None:
    run("dashboard", target, 1, 120, 60)
