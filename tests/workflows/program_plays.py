"""Plays a random program: in a drain, with crashes at its requests, in a simulated system, and with live workers in memory."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from crashing_store import Crash, CrashingStore, bury
from outside_world import Outside
from program_interpreter import register
from random_programs import DAY, Node, generate

import resonate_core as rc
from resonate_core.testing import World, simulate
from resonate_core.worker import Worker

__all__ = ["drained", "lived", "simulated"]

_DEPLOYS = [0, 1, 1000, 60_000, 3_600_000]
_MOST_ROUNDS = 3000


def enqueue(store: Any, program: Node) -> None:
    """Enqueue the workflow, and act as those outside who were asked before."""
    store.jobs.enqueue(program["kind"], {"program": program, "run": ""}, id="w", lifecycle="workflow")


def drained(seed: int, crash: float = 0.0, program: Node | None = None) -> Outside:
    """Play a program by drains on a manual clock.

    Args:
        seed: Of the program, and of the crashes.
        crash: The probability of a crash at each request.
        program: Instead of that of the seed.
    """
    program = generate(seed) if program is None else program
    chance = random.Random(seed)
    store = rc.Store(clock=rc.ManualClock(), check=True)
    outside = Outside(program)
    outside.open(store)
    deploy_at = None
    if program.get("deploys") and crash:
        outside.version, deploy_at = 0, chance.choice(_DEPLOYS)
    enqueue(store, program)
    left = 60 if crash else 0

    def crashes() -> str | None:
        nonlocal left
        if left and chance.random() < crash:
            left -= 1
            return chance.choice(["before", "after"])
        return None

    def worker() -> Worker:
        return register(Worker(CrashingStore(store, crashes), name="a"), outside)

    living = worker()
    for _ in range(_MOST_ROUNDS):
        if deploy_at is not None and store.now >= deploy_at:
            outside.version, deploy_at = 1, None
            living = worker()
        outside.act()
        times = [each for each in (outside.next_at, deploy_at) if each is not None]
        try:
            if times:
                living.run_until_idle(until=max(store.now, min(times)))
            elif living.run_until_idle(advance=True, limit=1).idle and outside.next_at is None:
                break
        except Crash as crashed:
            bury(crashed.tasks)
            living = worker()
    else:
        outside.errors.append("it does not come to an end")
    if store.now > 1000 * DAY:
        outside.errors.append(f"it took {store.now // DAY} days: what lost was not cancelled")
    outside.judge(exactly=not crash)
    return outside


def simulated(
    seed: int, program: Node | None = None, faults: Mapping[str, Any] | None = None, workers: Sequence[str] = "ab"
) -> Outside:
    """Play a program in a simulated system, with crashes, lost answers and clocks that differ."""
    program = generate(seed) if program is None else program
    chance = random.Random(seed)
    outside = Outside(program, pause=chance.choice([0.001, 0.5, 3]))
    rates = {"lose_reply": 0.03, "lose_request": 0.03, "crash": 0.03, "delay": 0.1, "duplicate": 0.05, "busy": 0.03, "skew": 0.2}
    given = {**rates, "partition": 0.005, "longest_partition": "60 s"} if faults is None else faults

    async def scenario(world: World) -> None:
        outside.open(world.store)
        deploy_at, nap = None, 1000
        if program.get("deploys"):
            outside.version, deploy_at = 0, chance.choice(_DEPLOYS)
        for name in workers:
            world.worker(name, lambda store: register(Worker(store, lease=10_000), outside))
        world.faults(**given)
        enqueue(world.store, program)
        while not outside.is_over or outside.next_at is not None:
            if deploy_at is not None and world.now >= deploy_at:
                outside.version, deploy_at = 1, None
                for name in workers:
                    world.crash(name)
            outside.act()
            times = [each for each in (outside.next_at, deploy_at) if each is not None]
            nap = 1000 if times else min(2 * nap, DAY)
            wait = min(times) - world.now if times else nap
            if world.now > 1000 * DAY:
                outside.errors.append("it took 1000 days: what lost was not cancelled, or it is stuck")
                break
            await world.sleep(max(1, min(wait, 10_000 if times else DAY)))

        outside.judge(exactly=False)

    simulate(scenario, seed=seed)
    return outside


class _Process(threading.Thread):
    """A live worker in a thread, with an event loop of its own. It begins again after each crash.

    Args:
        name: Of the worker.
        store: The store.
        outside: The world outside.
        crashes: As of `CrashingStore`.
    """

    def __init__(self, name: str, store: Any, outside: Outside, crashes: Any) -> None:
        super().__init__(name=name, daemon=True)
        self._store = CrashingStore(store, crashes)
        self._outside = outside
        self._worker: Worker | None = None
        self._over = False

    def run(self) -> None:
        """Work until `stop`."""
        while not self._over:
            loop = asyncio.new_event_loop()
            self._worker = register(Worker(self._store, name=self.name, lease=400, heartbeat=100, poll_interval=20), self._outside)
            with contextlib.suppress(Crash):
                loop.run_until_complete(self._worker.serve())
            bury(asyncio.all_tasks(loop), self._worker._parked_runs())
            loop.close()

    def stop(self) -> None:
        """Let it end."""
        self._over = True
        if self._worker is not None:
            self._worker.stop()


def lived(seed: int, crash: float = 0.03, longest: float = 60) -> Outside:
    """Play a program with two live workers on a store in memory.

    Args:
        seed: Of the program, and of the crashes.
        crash: The probability of a crash at each request.
        longest: How long it may take, in seconds.
    """
    program = generate(seed, quick=True)
    chance = random.Random(seed)
    store = rc.Store()
    outside = Outside(program, pause=0.002)
    outside.open(store)
    enqueue(store, program)
    left = 4  # the third crash without a new step between them costs ten seconds

    def crashes() -> str | None:
        nonlocal left
        if left and chance.random() < crash:
            left -= 1
            return chance.choice(["before", "after"])
        return None

    processes = [_Process(name, store, outside, crashes) for name in "ab"]
    for process in processes:
        process.start()
    ends_at = time.monotonic() + longest
    while not (outside.is_over and outside.next_at is None) and time.monotonic() < ends_at:
        outside.act()
        time.sleep(0.005)
    for process in processes:
        process.stop()
    for process in processes:
        process.join(10)
    outside.judge(exactly=False)
    return outside
