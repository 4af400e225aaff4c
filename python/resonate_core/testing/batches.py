"""Batches of runs, in this process or in those of an executor."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pickle import PicklingError
from typing import Any

from ..base.stopwatch import seconds as stopwatch
from .choices import Choices
from .determinism import require_same_again
from .failures import FailingRun
from .scenario_runs import run_of
from .scenarios import failure_of, kind_of, summary_of
from .searches import Search

__all__ = ["Batch", "SearchPlan", "batches"]

#: How long a batch should take: the progress moves, and an executor's overhead (0.2 to 10 ms) does not count.
_SECONDS = 0.2
_FIRST_SIZE = 8
_LARGEST_SIZE = 20_000


@dataclass
class SearchPlan:
    """What every batch of a search has in common. It is pickled for executors.

    Attributes:
        scenario: The scenario.
        search: The strategy.
        seed: The seed.
        limit: The most choices of a run.
        failures: A batch ends after this many failing runs.
        twice: Whether each run is repeated, and compared.
    """

    scenario: Callable[..., Any]
    search: Search
    seed: int
    limit: int
    failures: int
    twice: bool = False


@dataclass
class Batch:
    """The result of consecutive runs: numbers and texts alone, so that no error has to be pickled.

    Attributes:
        first: The number of the first run.
        runs: How many runs were made.
        choices: How many choices they drew.
        seconds: How long they took.
        failing: The failing runs, in order.
        drawn_by: After each failing run, the number of choices drawn in this batch.
    """

    first: int
    runs: int = 0
    choices: int = 0
    seconds: float = 0.0
    failing: list[FailingRun] = field(default_factory=list)
    drawn_by: list[int] = field(default_factory=list)


def run_batch(plan: SearchPlan, first: int, count: int) -> Batch:
    """Run consecutive runs. An executor calls it."""
    run = run_of(plan.scenario)
    began = stopwatch()
    batch = Batch(first)
    for number in range(first, first + count):
        choices = Choices(plan.search.draws(plan.seed, number), limit=plan.limit)
        error = failure_of(run, choices)
        if plan.twice:
            require_same_again(run, choices, error, plan.limit)
        batch.runs += 1
        batch.choices += len(choices.tape)
        if error is not None:
            batch.failing.append(FailingRun(number, summary_of(error), kind_of(error)))
            batch.drawn_by.append(batch.choices)
            if len(batch.failing) >= plan.failures:
                break
    batch.seconds = stopwatch() - began
    return batch


class _Sizes:
    """The size of the next batch, from the time that the last one took. It decides nothing but the order of work."""

    def __init__(self) -> None:
        self._next = _FIRST_SIZE

    def after(self, batch: Batch) -> None:
        """Take the time of a batch into account."""
        if batch.runs:
            wanted = int(_SECONDS * batch.runs / max(batch.seconds, 1e-6))
            self._next = max(1, min(wanted, self._next * 4, _LARGEST_SIZE))

    def next(self, left: int) -> int:
        """Return the size of the next batch."""
        return min(self._next, left)


def batches(plan: SearchPlan, runs: int, executor: Executor | None, in_flight: int | None) -> Generator[Batch, None, None]:
    """Yield the batches of a search in the order of their runs. Those not yet started are cancelled when the caller stops.

    Args:
        plan: The search.
        runs: How many runs.
        executor: Runs the batches; None for this thread.
        in_flight: The number of batches that are submitted at once; None for two for each worker of the executor.
    """
    sizes = _Sizes()
    if executor is None:
        first = 0
        while first < runs:
            batch = run_batch(plan, first, sizes.next(runs - first))
            sizes.after(batch)
            first += batch.runs
            yield batch
            if len(batch.failing) >= plan.failures:
                return
        return
    most = in_flight or 2 * _workers(executor)
    submitted: deque[Future[Batch]] = deque()
    first = 0
    try:
        while submitted or first < runs:
            while first < runs and len(submitted) < most:
                size = sizes.next(runs - first)
                submitted.append(executor.submit(run_batch, plan, first, size))
                first += size
            try:
                batch = submitted.popleft().result()
            except (AttributeError, PicklingError, TypeError) as error:
                if not isinstance(error, PicklingError) and "pickle" not in str(error).lower() and "local object" not in str(error):
                    raise
                raise TypeError(
                    f"scenario must be a function that the executor can pickle, got {plan.scenario!r}: {error}"
                ) from error
            sizes.after(batch)
            yield batch
    finally:
        for future in submitted:
            future.cancel()


def _workers(executor: Executor) -> int:
    client = getattr(executor, "_client", None)  # Dask
    if client is not None and hasattr(client, "ncores"):
        cores: dict[str, int] = client.ncores()
        return max(1, sum(cores.values()))
    return int(getattr(executor, "_max_workers", 0) or os.cpu_count() or 1)
