"""The pages about jobs: their pictures are up to date, and show what their tables say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from pages import DOCS, table, texts_of

DRAWN: dict[str, Any] = runpy.run_path(str(DOCS / "pictures" / "jobs.py"))
PAGE = (DOCS / "spec" / "jobs.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DRAWN["PICTURES"])
def test_the_committed_picture_is_what_is_drawn(name: str, tmp_path: Path) -> None:
    DRAWN["draw"](DRAWN["PICTURES"][name], tmp_path / name)
    assert texts_of(DOCS / "pictures" / name) == texts_of(tmp_path / name)


def test_every_arrow_of_the_picture_is_in_the_table() -> None:
    seen = set()
    for start, _, end, _ in table(PAGE, "from"):
        starts = re.findall(r"`(\w+)`", start) or [""]
        seen |= {(one, other) for one in starts for other in re.findall(r"`(\w+)`", end)}
    drawn = {(move.start, move.end) for move in DRAWN["JOBS"].moves}
    assert drawn <= seen | {("running", "archived"), ("running", "failed")}
    assert {state for move in drawn for state in move if state} == set(DRAWN["JOBS"].states) - {"expired", "cancelled"}


def test_the_table_of_names_has_every_state_of_the_picture() -> None:
    seen = [re.findall(r"`(\w+)`", row[0])[0] for row in table(PAGE, "`state`")]
    assert set(seen) == set(DRAWN["JOBS"].states)
    asynq = {row[3].strip("`") for row in table(PAGE, "`state`")}
    assert asynq == {*DRAWN["ASYNQ"].states, "aggregating"}  # the picture has no groups
    assert {row[4].strip("`") for row in table(PAGE, "`state`")} == set(DRAWN["HORSIES"].states)
