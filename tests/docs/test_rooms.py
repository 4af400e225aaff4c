"""The picture of the rooms is up to date, and the page names each of them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from pages import DOCS, texts_of

DRAWN: dict[str, Any] = runpy.run_path(str(DOCS / "pictures" / "rooms.py"))


def test_the_committed_picture_is_what_is_drawn(tmp_path: Path) -> None:
    DRAWN["draw"](tmp_path / "rooms.svg")
    assert texts_of(DOCS / "pictures" / "rooms.svg") == texts_of(tmp_path / "rooms.svg")


def test_the_page_has_each_package() -> None:
    package = DOCS.parent / "python" / "resonate_core"
    packages = {folder.name for folder in package.iterdir() if (folder / "__init__.py").is_file()}
    assert packages == DRAWN["ROOMS"]
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert [name for name in sorted(packages) if f"`python/resonate_core/{name}/`" not in page] == []
