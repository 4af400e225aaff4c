"""Random requests on jobs and queues, to the engine and to the reference model (JOBS 1 to 5).

The environment variables in ``test_state_machine`` set the number of examples and the seed.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from backends import POSTGRES, require
from property import profiles
from property.job_machine import JobsAndModel, JobsInPostgresAndModel, JobsInTwoStoresAndModel
from property.statistics import RUNS

SHARE = 0.5
"""The share of the profile's examples that run, so that CI stays short."""


@pytest.mark.timeout(profiles.SECONDS + 1800)
@pytest.mark.parametrize(
    "base, share",
    # The second machine also finds what the first finds: it has the same store, and one in a file.
    [
        pytest.param(JobsAndModel, SHARE, id="memory", marks=pytest.mark.full),
        pytest.param(JobsInTwoStoresAndModel, SHARE, id="memory_and_sqlite"),
        pytest.param(JobsInPostgresAndModel, SHARE * profiles.OF_POSTGRES, id="memory_and_postgres"),
        pytest.param(JobsInPostgresAndModel, SHARE, id="memory_and_postgres_all", marks=pytest.mark.full),
    ],
)
def test_the_engine_and_the_model_agree_on_jobs(base, share):
    if base is JobsInPostgresAndModel:
        require(POSTGRES)
    machine = type(base.__name__, (base,), {"examples": 0, "steps": 0})
    begin = time.monotonic()
    first = number = profiles.SEED
    chosen = profiles.chosen(share)
    try:
        while True:
            run_state_machine_as_test(seed(number)(machine), settings=chosen)
            if time.monotonic() - begin >= profiles.SECONDS / 2:
                break
            number += 1
    finally:
        seeds = str(first) if number == first else f"{first} to {number}"
        RUNS.append((base.__name__, seeds, machine.examples, machine.steps, time.monotonic() - begin))
