"""The cases of the project, which Django's own test runner runs on each storage."""

from __future__ import annotations

from .conftest import PROJECT, Place

CASES = sorted(path.stem for path in PROJECT.glob("cases_*.py"))


def test_cases(project: Place) -> None:
    """All files in one run, which makes the test database once."""
    done = project.run("test", *CASES, "--noinput", "--verbosity", "2")
    assert [cases for cases in CASES if f"({cases}." not in done.stderr] == [], "files without a test"


def test_without_time_zones(project: Place) -> None:
    """Without USE_TZ, datetimes are naive ones in the project's time zone."""
    project.environment["USE_TZ"] = "0"
    project.run("test", "cases_results", "--noinput", "-k", "test_success", "-k", "test_failure")
