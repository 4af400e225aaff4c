"""The pictures of the testing tutorial show what its programs do."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pages import DOCS

PICTURES = DOCS / "pictures"


def texts(picture: Path) -> list[str]:
    """Returns the texts in a picture."""
    found = ElementTree.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}text")
    return sorted("".join(element.itertext()) for element in found)


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
    assert texts(PICTURES / name) == texts(drawn / name)
    assert words <= set(texts(PICTURES / name))
