"""The cases of the project, which Django's own test runner runs on each storage."""

from __future__ import annotations

import pytest

from .conftest import PROJECT, Place

CASES = sorted(path.stem for path in PROJECT.glob("cases_*.py"))


@pytest.mark.parametrize("cases", CASES)
def test_cases(cases: str, project: Place) -> None:
    done = project.run("test", cases, "--noinput")
    assert "Ran 0 tests" not in done.stderr


def test_without_time_zones(project: Place) -> None:
    """Without USE_TZ, datetimes are naive ones in the project's time zone."""
    project.environment["USE_TZ"] = "0"
    project.run("test", "cases_results", "--noinput", "-k", "test_success", "-k", "test_failure")
