"""All mutants, and the tests that run on the mutants of each area."""

from __future__ import annotations

from mutants import of_creates_beside, of_jobs, of_jobs_beside, of_promises_and_tasks, of_python, of_storage_and_codec, of_workflows
from mutants.mutant import Mutant

MUTANTS: list[Mutant] = [
    *of_promises_and_tasks.MUTANTS,
    *of_jobs.MUTANTS,
    *of_storage_and_codec.MUTANTS,
    *of_jobs_beside.MUTANTS,
    *of_creates_beside.MUTANTS,
    *of_python.MUTANTS,
    *of_workflows.MUTANTS,
]

MEMORY = "tests/conformance memory"
MACHINES = ["tests/property/test_state_machine", "tests/property/test_job_machine"]

# The tests in their order, as "prefix of the test id, then a part of the id". `scripts/test --all` runs all of these tests, and more.
FORKED = ["tests/conformance", "tests/property", "tests/unit", "tests/fuzz", "tests/integration/storage"]
"""The tests that are collected for mutants of C++."""
FIRST: dict[str, list[str]] = {
    "promises": ["tests/conformance/test_s memory", MEMORY],
    "tasks": ["tests/conformance/test_s memory", MEMORY],
    "schedules": ["tests/unit/test_cron", "tests/property/test_cron", "tests/conformance/test_s4 memory", MEMORY],
    "jobs": ["tests/conformance/test_job memory", MEMORY],
    "groups": ["tests/conformance/test_job_group memory", MEMORY],
    "storage": [
        "tests/conformance/test_job_storage sqlite",
        "tests/unit/test_files",
        "tests/unit/test_typed_api",
        "tests/unit/test_watch_counts",
        "tests/conformance/test_s4_steps sqlite",
        "tests/integration/storage",
        "tests/conformance sqlite",
        "tests/unit",
    ],
    "codec": [
        "tests/conformance/test_s3_shape memory",
        "tests/conformance/test_s8_fine_print memory",
        "tests/conformance/test_s memory",
        MEMORY,
        "tests/fuzz",
        "tests/unit",
    ],
}
THEN = [MEMORY, "tests/unit", "tests/fuzz", "tests/conformance sqlite", *MACHINES, *FORKED]

SLICES = {
    "worker": ["tests/worker", "tests/integration/jobs", "tests/regressions"],
    "server": ["tests/server", "tests/regressions"],
    "workflows": ["tests/workflows", "tests/testing/test_simulation_workflows.py", "tests/zoo", "tests/worker"],
    "rehearsal": ["tests/workflows/test_replay.py", "tests/workflows", "tests/cli"],
    "transactions": ["tests/workflows/test_transactions.py", "tests/integration/transactions", "tests/workflows"],
    "target group": ["tests/worker/test_target_group.py tests/worker/test_target_group_ends.py", "tests/integration/sdk"],
}
"""The tests that run on mutants of Python."""
REST = ["tests/regressions", "tests/server", "tests/worker", "tests/integration/jobs", "tests/integration/sdk", "tests/cli"]
"""Further tests, for the mutants of C++ that no test has found yet."""
