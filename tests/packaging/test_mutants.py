"""Each mutant of `scripts/mutants` still has its place in the sources, and the tests that judge it exist."""

from __future__ import annotations

from collections import Counter

from mutants.__main__ import ROOT, find
from mutants.catalogue import FIRST, FORKED, MUTANTS, REST, SLICES
from mutants.mutant import mutated, sources


def test_each_mutant_has_its_place():
    found, problems = find(ROOT)
    assert not problems
    compiled = [(mutant, place) for mutant, place in found if mutant.language == "cpp"]
    assert mutated(sources(ROOT, "cpp"), compiled), "all are compiled into one module: none overlaps another one"


def test_names_and_numbers_differ():
    assert [name for name, times in Counter(mutant.name for mutant in MUTANTS).items() if times > 1] == []
    assert len({mutant.number for mutant in MUTANTS}) == len(MUTANTS)


def test_the_tests_of_each_area_exist():
    assert {mutant.area for mutant in MUTANTS} <= FIRST.keys() | SLICES.keys()
    slices = [*FORKED, *REST, *(each for its in SLICES.values() for each in its), *(mutant.first for mutant in MUTANTS)]
    paths = {path for words in slices for path in words.split()}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
