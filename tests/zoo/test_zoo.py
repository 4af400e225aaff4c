"""Each bug of the zoo is found from a fixed seed in a bounded number of runs; the same program without it has clean runs."""

from __future__ import annotations

import pytest

from resonate_core.testing import Failure, explore
from zoo.catalogue import ZOO, Specimen

specimens = pytest.mark.parametrize("specimen", ZOO, ids=lambda specimen: specimen.name)


def test_the_zoo_is_large_enough():
    assert len(ZOO) >= 12
    assert len({specimen.name for specimen in ZOO}) == len(ZOO)


@specimens
def test_the_bug_is_found_and_replayed(specimen: Specimen):
    with pytest.raises(Failure) as found:
        explore(specimen.buggy, runs=200, seed=1)
    failure = found.value
    assert isinstance(failure.cause, AssertionError)
    assert failure.story
    assert failure.choices <= failure.found + 2  # the story is what gets shorter
    with pytest.raises(Failure) as again:
        explore(specimen.buggy, replay=failure.token)
    assert again.value.story == failure.story
    assert str(again.value.cause) == str(failure.cause)


@specimens
def test_without_the_bug_runs_are_clean(specimen: Specimen):
    assert explore(specimen.fixed, runs=50, seed=2).failing == []


@specimens
def test_the_shortest_failing_run_passes_without_the_bug(specimen: Specimen):
    with pytest.raises(Failure) as found:
        explore(specimen.buggy, runs=200, seed=1)
    token = found.value.token
    tape = found.value.tape
    from resonate_core.testing.scenarios import name_of
    from resonate_core.testing.tokens import encode

    assert token == encode(name_of(specimen.buggy), tape)
    assert explore(specimen.fixed, replay=encode(name_of(specimen.fixed), tape)).failing == []


@pytest.mark.full
@specimens
def test_ten_thousand_clean_runs(specimen: Specimen):
    assert explore(specimen.fixed, runs=10_000, seed=3).failing == []
