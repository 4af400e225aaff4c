"""The pictures of the testing tutorial show what its programs do."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pages import DOCS, texts_of

PICTURES = DOCS / "pictures"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    runpy.run_path(str(PICTURES / "testing.py"))["draw_all"](folder)
    return folder


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("testing_retries.svg", {"order-1", "attempt failed", "attempt completed"}),
        ("testing_race.svg", {"held by bob", "worker crashed"}),
    ],
)
def test_a_committed_picture_is_what_is_drawn(drawn: Path, name: str, words: set[str]) -> None:
    assert texts_of(PICTURES / name) == texts_of(drawn / name)
    assert words <= set(texts_of(PICTURES / name))
