"""The whole product in the simulator: no run fails, and each planted fault is found. ``RESONATE_RUNS=20000`` runs that many in total."""

from __future__ import annotations

import os
import sys

import pytest

pytest.importorskip("httpx")

from resonate_core.testing import simulate
from tiers import FULL, runs as runs_in

from .hunting import hunt, quiet
from .mutants import MUTANTS, ProductMutant, planted
from .systems import SCENARIOS

#: Of each scenario, in a run of `scripts/test --full`; CI runs half as many.
RUNS = {"calm_jobs": 170, "faulty_jobs": 150, "server": 80, "durable_functions": 120}
needs_sdk = pytest.mark.skipif(sys.version_info < (3, 12), reason="the SDK needs Python 3.12")


def of_scenario(name: str, *values: object) -> object:
    return pytest.param(*values, marks=[needs_sdk] if name == "durable_functions" else [], id=str(getattr(values[0], "name", name)))


@pytest.mark.parametrize("name", [of_scenario(name, name) for name in SCENARIOS])
def test_no_run_of_the_product_fails(name: str):
    total = int(os.environ.get("RESONATE_RUNS", sum(RUNS.values()) if runs_in(FULL) else sum(RUNS.values()) // 2))
    runs = -(-total * RUNS[name] // sum(RUNS.values()))
    with quiet():
        for seed in range(runs):
            try:
                simulate(SCENARIOS[name], seed=seed)
            except Exception as error:
                story = "\n".join(getattr(error, "__resonate_run__").story[-60:])  # noqa: B009
                pytest.fail(f"scenario {name}, seed {seed}: {type(error).__name__}: {error}\n{story}")


@pytest.mark.parametrize("mutant", [of_scenario(each.scenario, each) for each in MUTANTS])
def test_a_planted_fault_is_found(mutant: ProductMutant):
    found = hunt(mutant)
    assert found.seed is not None, f"{mutant.name}: not found in {mutant.runs} runs of {mutant.scenario}"


def test_a_planted_fault_is_gone_afterwards():
    from resonate_core.server.batcher import Batcher

    before = Batcher._answer.__code__
    with planted(next(each for each in MUTANTS if each.name == "replies are in the wrong order")):
        assert Batcher._answer.__code__ is not before
    assert Batcher._answer.__code__ is before


@pytest.mark.parametrize("name", [of_scenario(name, name) for name in SCENARIOS])
def test_runs_are_deterministic(name: str):
    with quiet():
        simulate(SCENARIOS[name], seed=1, twice=True)
