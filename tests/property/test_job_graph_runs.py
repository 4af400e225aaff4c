"""Random graphs of jobs with crashes, suspensions, cancellations, purges and forks (JOBS 8).

Each job completes at most once, never starts before what it waits for, finds what it waited for, and ends if a worker lives.
"""

from __future__ import annotations

import pytest

from backends import BACK_ENDS, BackEnd, require
from property.graph_run import GraphRun

SEEDS = 1_000
EACH = 100
OF_DURABLE = {"sqlite": 20, "postgres": 8}
"""The number of seeds on each durable store."""


def tier_of(first: int) -> list[pytest.MarkDecorator]:
    """The first hundred seeds run in each tier, one hundred of three in CI."""
    return [pytest.mark.full] if first % (3 * EACH) else [pytest.mark.all] if first else []


@pytest.mark.parametrize("first", [pytest.param(first, marks=tier_of(first)) for first in range(0, SEEDS, EACH)])
def test_graphs_in_memory(first: int) -> None:
    for seed in range(first, first + EACH):
        run(BACK_ENDS[0], seed)


@pytest.mark.parametrize("back_end", BACK_ENDS[1:], ids=lambda end: end.name)
def test_graphs_in_durable_stores(back_end: BackEnd) -> None:
    require(back_end)
    for seed in range(SEEDS, SEEDS + OF_DURABLE[back_end.name]):
        run(back_end, seed)


def run(back_end: BackEnd, seed: int) -> None:
    in_memory = back_end is BACK_ENDS[0]
    graph = GraphRun(back_end.open(clock=back_end.clock_type(0), check=in_memory), seed, forks=in_memory)
    try:
        graph.play()
    except AssertionError as error:
        raise AssertionError(f"seed {seed} in {back_end.name}: {error}") from error
