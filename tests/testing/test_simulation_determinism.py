"""Equal seeds give byte-identical traces, in every process and with every hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOP = Path(__file__).with_name("simulated_shop.py")


def digests(hash_seed: str, first: int, last: int) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, str(SHOP), str(first), str(last)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=1200).stdout.split()


@pytest.mark.parametrize("seeds", [40, pytest.param(1000, marks=pytest.mark.full)])
def test_traces_are_the_same_with_every_hash_seed(seeds):
    first, other = digests("1", 0, seeds), digests("2", 0, seeds)
    assert len(set(first)) == seeds  # each seed gives another run
    differ = [seed for seed, (one, two) in enumerate(zip(first, other, strict=True)) if one != two]
    assert differ == []
