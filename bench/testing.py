"""Measure `resonate_core.testing.explore`: `python -m bench.testing`.

A shop of two workers makes random steps: claim, charge, complete, crash, pass time. `explore` draws the steps beside a bare state
machine of Hypothesis, which draws the same steps of the same shop, without shrinking and without a database of examples. Rounds
alternate; the best of each counts. Printed as well: the same steps in a bare loop, two workers as programs, and both in two processes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import resonate_core as rc
from resonate_core.testing import IDLE, Choices, explore, interleave

_STEPS = 20
_TARGET = 20


class Shop:
    """Two workers of one queue. Each remembers the job that it holds."""

    def __init__(self) -> None:
        self.store = rc.Store(clock=rc.ManualClock(start=0))
        self.store.jobs.enqueue("charge", id="order-1", retry_policy={"kind": "fixed", "intervals": [1_000]})
        self.held: dict[str, rc.Job | None] = {"a": None, "b": None}
        self.charges: set[str] = set()

    def claim(self, worker: str) -> None:
        if self.held[worker] is None:
            self.held[worker] = next(iter(self.store.jobs.claim("default", worker=worker, lease=10_000, start=1)), None)

    def charge(self, worker: str) -> None:
        if (job := self.held[worker]) is not None:
            self.charges.add(job.id)

    def complete(self, worker: str) -> None:
        if (job := self.held[worker]) is not None:
            self.held[worker] = None
            with contextlib.suppress(rc.Conflict):
                self.store.jobs.complete(job.id, job.version)

    def crash(self, worker: str) -> None:
        self.held[worker] = None

    def pass_time(self, worker: str) -> None:
        self.store.clock.advance(5_000)

    def check(self) -> None:
        assert len(self.charges) <= 1


ACTIONS: tuple[Callable[[Shop, str], None], ...] = (Shop.claim, Shop.charge, Shop.complete, Shop.crash, Shop.pass_time)
WORKERS = ("a", "b")


def explored(choices: Choices) -> None:
    """The steps of one run, drawn by `explore`."""
    shop = Shop()
    for _ in range(_STEPS):
        choices.pick(ACTIONS, "action")(shop, choices.pick(WORKERS, "worker"))
        shop.check()


def programs(choices: Choices) -> None:
    """Two workers as programs."""
    store = rc.Store(clock=rc.ManualClock(start=0))
    store.jobs.enqueue("charge", id="order-1", retry_policy={"kind": "fixed", "intervals": [1_000]})
    charges: set[str] = set()

    def worker(name: str):  # type: ignore[no-untyped-def]
        while True:
            for job in store.jobs.claim("default", worker=name, lease=10_000, start=1):
                charges.add(job.id)
                yield "charges"
                store.jobs.complete(job.id, job.version)
                yield
            yield IDLE

    interleave(choices, store, {"a": worker, "b": worker}, crash=0.1, until=lambda: store.jobs.get("order-1").state == "completed")
    assert len(charges) == 1


def bare(examples: int) -> float:
    """Returns runs a second of the same steps, drawn by `random` alone: the bound."""
    draw = random.Random(1).random
    began = time.perf_counter()
    for _ in range(examples):
        shop = Shop()
        for _ in range(_STEPS):
            ACTIONS[int(draw() * len(ACTIONS))](shop, WORKERS[int(draw() * 2)])
            shop.check()
    return examples / (time.perf_counter() - began)


def by_hypothesis(examples: int) -> float:
    """Returns examples a second of a state machine of Hypothesis; each makes the same number of steps."""
    from hypothesis import HealthCheck, Phase, seed, settings
    from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
    from hypothesis.strategies import sampled_from

    made = [0]
    worker = sampled_from(WORKERS)

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            made[0] += 1
            self.shop = Shop()

        @invariant()
        def charged_once(self) -> None:
            self.shop.check()

    for action in ACTIONS:

        def step(self: Machine, worker: str, action: Callable[[Shop, str], None] = action) -> None:
            action(self.shop, worker)

        step.__name__ = action.__name__
        setattr(Machine, action.__name__, rule(worker=worker)(step))

    options = settings(
        max_examples=examples,
        stateful_step_count=_STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    began = time.perf_counter()
    run_state_machine_as_test(seed(1)(Machine), settings=options)
    return made[0] / (time.perf_counter() - began)


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.testing", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20_000, help="runs of explore in a round (default 20,000)")
    parser.add_argument("--examples", type=int, default=400, help="examples of Hypothesis in a round (default 400)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds; the best counts (default 3)")
    arguments = parser.parse_args()
    rates: dict[str, list[float]] = {"hypothesis": [], "explore": [], "bare": [], "programs": []}
    for _ in range(arguments.rounds):
        rates["hypothesis"].append(by_hypothesis(arguments.examples))
        rates["explore"].append(explore(explored, runs=arguments.runs, seed=1, progress=False).rate)
        rates["bare"].append(bare(arguments.runs))
        rates["programs"].append(explore(programs, runs=arguments.runs, seed=1, progress=False).rate)
    best = {name: max(values) for name, values in rates.items()}
    print(f"{_STEPS} random steps of two workers and a store in memory, on {os.cpu_count()} processors; best of {arguments.rounds}")
    print(f"  {'state machine of Hypothesis':<42} {best['hypothesis']:>10,.0f} examples/s")
    ratio = best["explore"] / best["hypothesis"]
    print(f"  {'explore, the same steps':<42} {best['explore']:>10,.0f} runs/s    {ratio:.1f} × (target {_TARGET} ×)")
    print(
        f"  {'the same steps in a bare loop':<42} {best['bare']:>10,.0f} runs/s    explore has {best['explore'] / best['bare']:.2f} of it"
    )
    print(f"  {'explore, two workers as programs':<42} {best['programs']:>10,.0f} runs/s")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        explore(explored, runs=100, executor=pool, progress=False)  # starts the processes
        for name, scenario in (("steps", explored), ("programs", programs)):
            rate = max(
                explore(scenario, runs=arguments.runs, seed=1, executor=pool, progress=False).rate for _ in range(arguments.rounds)
            )
            alone = best["explore" if name == "steps" else "programs"]
            print(f"  {'explore in two processes, ' + name:<42} {rate:>10,.0f} runs/s    {rate / alone:.2f} × one process")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
