"""For whatever a server answers, a client returns a result of the right type or raises an error that is documented; commands end with a status.

A process of its own asks (use_replies.py), with a limit of memory. The tier `full` runs each target for 60 s. A failure prints the seed of
the run: `python -m fuzz.use_replies TARGET SEED 1 0 400000000`, in `tests`.
"""

from __future__ import annotations

import pytest

from fuzz.bounded import only_linux, run
from fuzz.use_replies import TARGETS
from property import profiles


@only_linux
@pytest.mark.parametrize("target", TARGETS)
def test_random_replies(target: str) -> None:
    run("use_replies", target, profiles.SEED, 8, 0)


@only_linux
@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_random_replies_for_a_minute(target: str) -> None:
    run("use_replies", target, profiles.SEED, 12, 60)
