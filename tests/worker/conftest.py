"""Stores for workers: one on a manual clock, and live ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import resonate_core as rc
from resonate_core.worker import Worker


@pytest.fixture
def clock() -> rc.ManualClock:
    return rc.ManualClock(start=0)


@pytest.fixture
def store(clock: rc.ManualClock) -> Iterator[rc.Store]:
    """A store in memory, on a manual clock, that checks every invariant after every step."""
    with rc.Store(clock=clock, check=True) as opened:
        yield opened


@pytest.fixture
def worker(store: rc.Store) -> Worker:
    return Worker(store, name="w1")


@pytest.fixture(params=["memory", "sqlite"])
def live_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[rc.Store]:
    """A store on the system's clock."""
    path = None if request.param == "memory" else tmp_path / "jobs.db"
    with rc.Store(path, durability="normal") as opened:
        yield opened


@pytest.fixture
def make_worker(live_store: rc.Store) -> Callable[..., Worker]:
    """Makes a worker of the live store that polls often."""

    def make(**options: Any) -> Worker:
        return Worker(live_store, **{"poll_interval": 50, **options})

    return make
