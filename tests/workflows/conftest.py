"""Stores and workers of workflows: on a manual clock, and live ones in memory, in a file and behind a URL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "worker"))
sys.path.insert(0, str(Path(__file__).parent))

import resonate_core as rc
from resonate_core.worker import Worker
from server.live_server import serving


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


@pytest.fixture(params=["memory", "sqlite", "url"])
def end(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, Worker]]:
    """A store on the system's clock, and a worker of it: in this process, or over HTTP."""
    path = None if request.param == "memory" else tmp_path / "jobs.db"
    with rc.Store(path, durability="normal") as store:
        if request.param != "url":
            yield store, Worker(store, name="w1", poll_interval=20)
            return
        with serving(store) as live:
            far = Worker(f"http://127.0.0.1:{live.port}", name="w1", poll_interval=20)
            yield store, far
            far.close()
