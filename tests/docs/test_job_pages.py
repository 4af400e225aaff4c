"""The pages about jobs: their pictures are up to date, and show what their tables say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pages import DOCS

DRAWN: dict[str, Any] = runpy.run_path(str(DOCS / "pictures" / "jobs.py"))
PAGE = (DOCS / "jobs.md").read_text(encoding="utf-8")


def texts(picture: Path) -> list[str]:
    """Returns the texts in a picture."""
    found = ElementTree.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}text")
    return sorted("".join(element.itertext()) for element in found)


def rows(first: str) -> list[list[str]]:
    """Returns the cells of the table whose first heading is this, without the headings."""
    lines = PAGE[PAGE.index(f"\n| {first} |") + 1 :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("name", DRAWN["PICTURES"])
def test_the_committed_picture_is_what_is_drawn(name: str, tmp_path: Path) -> None:
    DRAWN["draw"](DRAWN["PICTURES"][name], tmp_path / name)
    assert texts(DOCS / "pictures" / name) == texts(tmp_path / name)


def test_every_arrow_of_the_picture_is_in_the_table() -> None:
    seen = set()
    for start, _, end, _ in rows("from"):
        starts = re.findall(r"`(\w+)`", start) or [""]
        seen |= {(one, other) for one in starts for other in re.findall(r"`(\w+)`", end)}
    drawn = {(move.start, move.end) for move in DRAWN["JOBS"].moves}
    assert drawn <= seen | {("running", "archived"), ("running", "failed")}
    assert {state for move in drawn for state in move if state} == set(DRAWN["JOBS"].states) - {"expired", "cancelled"}


def test_the_table_of_names_has_every_state_of_the_picture() -> None:
    seen = [re.findall(r"`(\w+)`", row[0])[0] for row in rows("`state`")]
    assert set(seen) == set(DRAWN["JOBS"].states)
    assert {row[3].strip("`") for row in rows("`state`")} == set(DRAWN["ASYNQ"].states)
    assert {row[4].strip("`") for row in rows("`state`")} == set(DRAWN["HORSIES"].states)
