"""The number of examples of the random tests, and their seed.

The tier of the run decides (tests/tiers.py): `fast` runs the profile `fast`, CI the profile `ci`, and `scripts/test --full` the profile
`full`: the same tests with more than three times the examples of CI.
"""

from __future__ import annotations

import os
import secrets

from hypothesis import HealthCheck, Phase, settings

_OF_TIER = {"fast": "fast", "full": "full"}.get(os.environ.get("RESONATE_TEST_TIER", ""), "ci")
PROFILE = os.environ.get("RESONATE_PROPERTY_PROFILE", "long" if "RESONATE_PROPERTY_SECONDS" in os.environ else _OF_TIER)
SECONDS = float(os.environ.get("RESONATE_PROPERTY_SECONDS", "600")) if PROFILE == "long" else 0.0
SEED = int(os.environ.get("RESONATE_PROPERTY_SEED") or secrets.randbelow(10**9))
os.environ["RESONATE_PROPERTY_SEED"] = str(SEED)  # so that the workers of pytest-xdist use the same seed
EXAMPLES = {"fast": 20, "dev": 60, "ci": 150, "full": 500, "long": 400, "mutants": 200}
STEPS = {"fast": 40, "dev": 40, "ci": 40, "full": 40, "long": 70, "mutants": 40}
OF_POSTGRES = 0.1
"""The share of the examples that runs on PostgreSQL, if the test is not marked `full`: a step there takes many round trips."""
# For a mutant, a difference is enough; finding the shortest example of it would take minutes.
PHASES = (Phase.explicit, Phase.generate) if PROFILE == "mutants" else tuple(Phase)


def of_full(examples):
    """The number of examples that run in this profile, of a random test that runs so many in the profile `full`."""
    return max(1, examples * EXAMPLES[PROFILE] // EXAMPLES["full"])


def chosen(share=1):
    """The settings of one run with one seed; `share` of the profile's examples run."""
    return settings(
        max_examples=max(1, int(EXAMPLES[PROFILE] * share)),
        stateful_step_count=STEPS[PROFILE],
        deadline=None,
        database=None,
        phases=PHASES,
        report_multiple_bugs=PROFILE != "mutants",
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
