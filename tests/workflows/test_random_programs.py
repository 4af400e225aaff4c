"""Random workflows end as they do without crashes: each recorded step ran its effect once for its record, and none is stuck.

RESONATE_WORKFLOW_SEEDS sets the number of seeds of the tier `full` (1,000), and RESONATE_WORKFLOW_SEED the first one. A failure names its
seed: `RESONATE_WORKFLOW_SEED=4711 pytest -k "simulated and first0"`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from outside_world import Outside
from program_plays import drained, lived, simulated
from random_programs import generate, of_program

SEEDS = int(os.environ.get("RESONATE_WORKFLOW_SEEDS", "1000"))
FIRST = int(os.environ.get("RESONATE_WORKFLOW_SEED", "0"))
EACH = 50

pytestmark = pytest.mark.timeout(1800)


def tier_of(block: int) -> list[pytest.MarkDecorator]:
    """The first block of seeds runs in each tier, one of ten in CI."""
    return [pytest.mark.full] if block % 10 else [pytest.mark.all] if block else []


BLOCKS = [pytest.param(FIRST + block * EACH, id=f"first{block * EACH}", marks=tier_of(block)) for block in range(-(-SEEDS // EACH))]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Steps that fail on purpose, and workers that crash, are no news."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


def play(first: int, kind: str, how: Callable[[int], Outside]) -> None:
    for seed in range(first, first + EACH):
        try:
            outside = how(seed)
        except Exception as error:
            raise AssertionError(f"{kind}, seed {seed}: {error!r}") from error
        assert not outside.errors, f"{kind}, seed {seed}:\n" + "\n".join(outside.errors)


@pytest.mark.parametrize("first", BLOCKS)
def test_drained(first: int) -> None:
    """Without crashes, each effect happens exactly once, although each wait is a replay."""
    play(first, "drained", drained)


@pytest.mark.parametrize("first", BLOCKS)
def test_drained_with_crashes(first: int) -> None:
    play(first, "drained with crashes", lambda seed: drained(seed, crash=0.06))


@pytest.mark.parametrize("first", BLOCKS)
def test_simulated(first: int) -> None:
    """Two workers, with crashes, lost answers, partitions and clocks that differ."""
    play(first, "simulated", simulated)


@pytest.mark.parametrize("first", [pytest.param(0, id="first0"), pytest.param(12, id="first12", marks=pytest.mark.full)])
def test_live(first: int) -> None:
    """Two live workers in threads, on a store in memory, which crash."""
    seeds = range(FIRST + first, FIRST + first + 12)
    with ThreadPoolExecutor(4) as threads:
        for seed, outside in zip(seeds, threads.map(lived, seeds), strict=True):
            assert not outside.errors, f"live, seed {seed}:\n" + "\n".join(outside.errors)


def test_programs_have_all_statements() -> None:
    """The generator draws each kind of statement, and programs of each end."""
    seen = set()
    ends = set()
    for seed in range(500):
        program = generate(seed)
        ends.add((program["kind"], program["ends"], program["rounds"] > 1, program["deploys"]))
        seen |= {node["do"] for node, _, _ in of_program(program, "")}
    assert seen == {
        *(
            "step",
            "sleep",
            "sleep_until",
            "receive",
            "promise",
            "call",
            "result",
            "start",
            "start_cancel",
            "defer",
            "race",
            "draw",
            "tick",
        ),
        *("gather", "gather_fails", "first", "patched", "asyncio_gather", "workflow", "exceptions"),
    }
    assert len(ends) == 2 * 3 * 2 * 2
