"""Which way to test finds which bug of a workflow, and that each passes the workflow without the bug."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.testing import Failure, explore
from resonate_core.worker import Worker
from resonate_core.workflow import NonDeterministicWarning
from zoo.catalogue import WORKFLOWS, Specimen
from zoo.workflows.judging import Outside, certified, drained

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"

specimens = pytest.mark.parametrize(
    "specimen",
    [
        pytest.param(each, id=each.name, marks=[] if each.name == "workflows.first_quote" else [pytest.mark.all])
        for each in WORKFLOWS
    ],
)


def finds(what: Any) -> bool:
    """Whether a search fails by an assertion."""
    try:
        what()
    except AssertionError:
        return True
    return False


@specimens
def test_a_test_with_the_fixtures(specimen: Specimen, resonate_store: rc.Store, resonate_worker: Worker):
    assert finds(lambda: drained(specimen.play, resonate_store, resonate_worker, mended=False)) == specimen.by_test


@specimens
def test_a_test_with_the_fixtures_passes_without_the_bug(specimen: Specimen, resonate_store: rc.Store, resonate_worker: Worker):
    drained(specimen.play, resonate_store, resonate_worker, mended=True)


@specimens
def test_the_certificate(specimen: Specimen):
    assert finds(lambda: certified(specimen.play, mended=False)) == specimen.by_certificate
    certified(specimen.play, mended=True)


@specimens
def test_explore_needs_a_crash_or_a_person_where_a_test_finds_nothing(specimen: Specimen):
    """The other bugs are found by the first run already, or nearly so."""
    with pytest.raises(Failure) as found:
        explore(specimen.buggy, runs=300, seed=2, shrink=0)
    if specimen.by_certificate and not specimen.by_test:
        assert any("crashes" in line for line in found.value.story)


@specimens
@pytest.mark.parametrize("mended", [False, True])
def test_only_chance_gives_a_warning(specimen: Specimen, mended: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("resonate_core.worker.workflows.determinism._seen", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        specimen.play.declare(Worker(), Outside(), mended)
    warned = specimen.name == "workflows.carrier_by_chance" and not mended
    assert [each.category for each in caught] == [NonDeterministicWarning] * warned
    assert not warned or "random.choice" in str(caught[0].message)


def test_the_table_of_the_page():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    said = {True: "yes", False: "no"}
    for each in WORKFLOWS:
        row = [line for line in lines if line.startswith(f"| {each.bug} |")]
        assert len(row) == 1, each.bug
        cells = [cell.strip() for cell in row[0].strip("|").split("|")]
        assert cells[1:4] == [said[each.by_test], said[each.by_certificate], "yes"], row[0]
