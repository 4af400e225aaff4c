"""A worker gets threads, wake-ups, time and its name from its environment and its loop, so that a simulator can replace them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import random
import selectors
import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Retry, Worker
from resonate_core.worker.environment import Environment


class JumpingSelector(selectors.SelectSelector):
    """Advances the time of its loop instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "nothing is left that could happen"
        self.now += max(0.0, timeout)
        return super().select(0)


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop without real time."""

    def __init__(self) -> None:
        self.selector = JumpingSelector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


class SimulatedPool:
    """Runs synchronous handlers in the loop, in an order that a seed chooses."""

    def __init__(self, seed: int, run: Callable[[Any], None]) -> None:
        self._random = random.Random(seed)
        self._run = run
        self._items: list[Any] = []

    def submit(self, items: Iterable[Any]) -> None:
        for item in items:
            self._items.insert(self._random.randint(0, len(self._items)), item)
            asyncio.get_running_loop().call_later(self._random.random(), self._step)

    def _step(self) -> None:
        if self._items:
            self._run(self._items.pop(0))

    def withdraw(self) -> list[Any]:
        items, self._items = self._items, []
        return items

    def close(self) -> None:
        self._items.clear()


class NoWakeup:
    """The worker sees jobs when it polls."""

    def __init__(self, *_: object) -> None:
        self.rearmed: list[int | None] = []

    def __enter__(self) -> NoWakeup:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def rearm(self, until: int | None) -> None:
        self.rearmed.append(until)


def simulated(seed: int) -> tuple[list[tuple[float, str, int]], str]:
    """Returns which job ran when, and the digest of the store at the end."""
    loop = SimulatedLoop()
    environment = Environment(
        name=lambda: "simulated-1",
        wakeup=NoWakeup,
        handler_pool=lambda limit, run, name: SimulatedPool(seed, run),
        client_pool=lambda name: concurrent.futures.Executor(),
    )
    ran: list[tuple[float, str, int]] = []
    with rc.Store(clock=(clock := rc.ManualClock())) as store:
        worker = Worker(store, concurrency=3, lease=3_600_000, environment=environment)

        @worker.task("step", retention="kept")
        def step(name, job: JobContext):
            ran.append((loop.time(), name, job.attempt))
            assert job.worker == worker.name == "simulated-1"
            if job.attempt == 1 and name == "slow":
                raise Retry(after=60_000)
            if len(ran) == 5:
                clock.advance(60_000)
            elif len(ran) == 6:
                worker.stop()

        step.enqueue_many(["a", "b", "c", "d", "slow"], ids=["a", "b", "c", "d", "slow"])
        try:
            loop.run_until_complete(worker.serve())
        finally:
            loop.close()
        assert worker.counts.completed == 5 and worker.counts.failed == 1
        return ran, store.digest()


def test_a_simulator_runs_it_the_same_way_twice(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a simulated worker takes nothing from the machine")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(os, "pipe", refuse)
    runs = [simulated(seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[2][0]
    assert sorted(name for _, name, _ in runs[0][0]) == ["a", "b", "c", "d", "slow", "slow"]
