"""All mutants, and the tests that judge those of each area."""

from __future__ import annotations

from mutants import of_jobs, of_promises_and_tasks, of_python, of_storage_and_codec
from mutants.mutant import Mutant

MUTANTS: list[Mutant] = [
    *of_promises_and_tasks.MUTANTS,
    *of_jobs.MUTANTS,
    *of_storage_and_codec.MUTANTS,
    *of_python.MUTANTS,
]

MEMORY = "tests/conformance memory"
MACHINES = ["tests/property/test_state_machine", "tests/property/test_job_machine"]

# Which tests run in turn: "beginning of the id, and a part of it". `scripts/test` runs all of these tests, and more.
FORKED = ["tests/conformance", "tests/property", "tests/unit", "tests/fuzz", "tests/integration/storage"]
"""What is collected for mutants of C++."""
FIRST: dict[str, list[str]] = {
    "promises": ["tests/conformance/test_s memory", MEMORY, *MACHINES],
    "tasks": ["tests/conformance/test_s memory", MEMORY, *MACHINES],
    "schedules": ["tests/unit/test_cron", "tests/property/test_cron", "tests/conformance/test_s4 memory", MEMORY, *MACHINES],
    "jobs": ["tests/conformance/test_job memory", MEMORY, *reversed(MACHINES)],
    "groups": ["tests/conformance/test_job_group memory", MEMORY, *reversed(MACHINES)],
    "storage": ["tests/unit/test_files", "tests/unit", "tests/integration/storage", "tests/conformance sqlite", *MACHINES],
    "codec": ["tests/unit", "tests/conformance/test_s memory", "tests/fuzz", MEMORY, *MACHINES],
}
THEN = [*MACHINES, *FORKED]

SLICES = {"worker": ["tests/worker", "tests/integration/jobs"], "server": ["tests/server"]}
"""What runs for mutants of Python."""
REST = ["tests/regressions", "tests/server", "tests/worker", "tests/integration/jobs", "tests/integration/sdk", "tests/cli"]
"""What runs on the mutants of C++ that live."""
