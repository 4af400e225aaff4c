"""Each bug of the zoo is found from a fixed seed in a bounded number of runs; the same program without it has clean runs."""

from __future__ import annotations

import functools

import pytest

from resonate_core.testing import Failure, explore
from resonate_core.testing.scenarios import name_of
from resonate_core.testing.tokens import encode
from zoo.catalogue import WORKFLOWS, ZOO, Specimen

specimens = pytest.mark.parametrize(
    "specimen", [pytest.param(each, id=each.name, marks=[pytest.mark.all] if each in WORKFLOWS[1:] else []) for each in ZOO]
)


@functools.cache
def find(specimen: Specimen) -> Failure:
    """The first failure; that of a whole system, of which a run takes milliseconds, is shrunk a little."""
    with pytest.raises(Failure) as found:
        explore(specimen.buggy, runs=300, seed=1, shrink=100 if specimen.whole else 2_000)
    return found.value


def test_the_zoo_is_large_enough():
    assert len(ZOO) >= 12
    assert len({specimen.name for specimen in ZOO}) == len(ZOO)


@specimens
def test_the_bug_is_found_and_replayed(specimen: Specimen):
    failure = find(specimen)
    assert isinstance(failure.cause, AssertionError)
    assert failure.story
    with pytest.raises(Failure) as again:
        explore(specimen.buggy, replay=failure.token)
    assert again.value.story == failure.story
    assert str(again.value.cause) == str(failure.cause)


@specimens
def test_without_the_bug_runs_are_clean(specimen: Specimen):
    assert explore(specimen.fixed, runs=50, seed=2).failing == []


@specimens
def test_the_shortest_failing_run_passes_without_the_bug(specimen: Specimen):
    failure = find(specimen)
    assert failure.token == encode(name_of(specimen.buggy), failure.tape)
    assert explore(specimen.fixed, replay=encode(name_of(specimen.fixed), failure.tape)).failing == []


@pytest.mark.full
@specimens
def test_ten_thousand_clean_runs(specimen: Specimen):
    assert explore(specimen.fixed, runs=10_000, seed=3).failing == []
