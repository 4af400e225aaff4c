"""The pages about workflows: their picture is up to date, and their tables have every call."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from pages import DOCS, table, texts_of

from resonate_core import workflow
from resonate_core.workflow import blocking

GUIDE = (DOCS / "workflows.md").read_text(encoding="utf-8")
DRAWN: dict[str, Any] = runpy.run_path(str(DOCS / "pictures" / "replay.py"))


def test_the_committed_picture_is_what_is_drawn(tmp_path: Path) -> None:
    DRAWN["draw"](tmp_path / "replay.svg")
    assert texts_of(DOCS / "pictures" / "replay.svg") == texts_of(tmp_path / "replay.svg")


def test_the_picture_shows_a_run_a_crash_and_a_run_again() -> None:
    played = DRAWN["play"]()
    assert played.runs == [
        {1: "runs", 2: "crash"},
        {1: "recorded", 2: "runs", 3: "waits"},
        {1: "recorded", 2: "recorded", 3: "recorded", 4: "runs"},
    ]


def test_the_table_of_calls_has_each_of_them() -> None:
    named = {
        name
        for row in table(GUIDE, "call")
        for name in re.findall(r"`(?:await )?(\w+)\(|, `(\w+)\(", row[0])
        for name in name
        if name
    }
    calls = {name for name in workflow.__all__ if name[0].islower()} - {
        "replay",
        "step",
        "prune_steps",
        "prune_steps_async",
        "steps_sql",
        "steps_table",
    }
    assert calls <= named
    assert set(blocking.__all__) - {"start"} == calls


def test_the_reference_has_everything_that_is_exported() -> None:
    pages = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("api.md", "exactly_once.md"))
    described = set(re.findall(r"auto\w+:: resonate_core\.workflow\.(\w+)", pages))
    assert set(workflow.__all__) - described == set()
