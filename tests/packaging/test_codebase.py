"""The rules of the code base hold, and each rule finds its planted sample."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import include_rules  # noqa: F401 - its rules join RULES
import resonate_core
from codebase_rules import RULES, Files, Rule, project_version

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def files() -> Files:
    """Returns every text file that is committed or not ignored, by path."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--deduplicate"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = {}
    for path in listed:
        if (ROOT / path).is_file() and not path.endswith((".db", ".png")):
            found[path] = (ROOT / path).read_text(encoding="utf-8")
    assert "CMakeLists.txt" in found
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_holds(rule: Rule, files: Files) -> None:
    assert list(rule.check(files)) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_can_be_broken(rule: Rule) -> None:
    """Each file of the bad sample is reported, unless the sample is one case as a whole."""
    problems = list(rule.check(rule.bad))
    assert problems
    named = {p.split(":")[0] for p in problems}
    if not {"CMakeLists.txt", "CHANGELOG.md"} & rule.bad.keys():
        assert named == set(rule.bad)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_rule_accepts_what_is_right(rule: Rule) -> None:
    assert list(rule.check(rule.good)) == []


def test_the_module_is_of_the_version_in_pyproject(files: Files) -> None:
    assert resonate_core.__version__ == project_version(files)


def test_scripts_are_executable(files: Files) -> None:
    programs = [p for p, text in files.items() if p.startswith(("scripts/", ".ci/")) and text.startswith("#!")]
    assert programs
    assert [p for p in programs if not os.access(ROOT / p, os.X_OK)] == []
