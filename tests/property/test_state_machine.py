"""Random requests to the engine and to the reference model, compared after each (PROTOCOL 1 to 8).

RESONATE_PROPERTY_PROFILE=ci|full|dev|long   number of examples (default ci; `scripts/test` uses fast, `scripts/test --full` full);
                                             scripts/mutants uses `mutants`: like ci, no shrinking
RESONATE_PROPERTY_SECONDS=600                the duration of the profile `long`, in seconds
RESONATE_PROPERTY_SEED=123                   the seed of an earlier run
"""

from __future__ import annotations

import time

import pytest
from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from backends import POSTGRES, require
from property import profiles
from property.machine import PostgresAndModel, StoreAndModel, TwoStoresAndModel
from property.statistics import RUNS


@pytest.mark.timeout(profiles.SECONDS + 1800)
@pytest.mark.parametrize(
    "rules, base, share",
    # The second machine also finds what the first finds: it has the same store, and one in a file.
    [
        pytest.param(rules, base, share, id=f"{name}-{rules}", marks=marks)
        for rules in ("compatible", "strict")
        for base, share, name, marks in (
            (StoreAndModel, 1, "memory", pytest.mark.full),
            (TwoStoresAndModel, 1, "memory_and_sqlite", ()),
            # PostgreSQL stores the rows of both rule sets alike.
            (PostgresAndModel, profiles.OF_POSTGRES, "memory_and_postgres", pytest.mark.full if rules == "strict" else ()),
            (PostgresAndModel, 1, "memory_and_postgres_all", pytest.mark.full),
        )
    ],
)
def test_the_engine_and_the_model_agree(rules, base, share):
    if issubclass(base, PostgresAndModel):
        require(POSTGRES)
    machine = type(f"{base.__name__}_{rules}", (base,), {"rule_set": rules, "examples": 0, "steps": 0})
    begin = time.monotonic()
    # A seed for each rule set, so that they get different operations.
    first = number = 2 * profiles.SEED + (rules == "strict")
    try:
        while True:
            run_state_machine_as_test(seed(number)(machine), settings=profiles.chosen(share))
            # The two rule sets share the time.
            if time.monotonic() - begin >= profiles.SECONDS / 2:
                break
            number += 2
    finally:
        seeds = str(first) if number == first else f"{first} to {number}"
        RUNS.append((f"{base.__name__} {rules}", seeds, machine.examples, machine.steps, time.monotonic() - begin))
