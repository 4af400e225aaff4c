"""`scripts/mutants` compiles all mutants of C++ into one module. If one mutant does not compile, no mutant can be judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants.__main__ import ROOT, find
from mutants.building import build_module


@pytest.mark.timeout(1800)
def test_the_mutants_of_cpp_are_one_module(tmp_path: Path) -> None:
    compiled = [(mutant, place) for mutant, place in find(ROOT)[0] if mutant.language == "cpp"]
    build_module(ROOT, tmp_path, compiled)
    assert list((tmp_path / "site" / "resonate_core").glob("_core*.so"))
