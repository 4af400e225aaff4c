"""Reads the pages of the documentation and what is executable in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    """One block of Python in a page, and the line on which its code begins."""

    page: Path
    line: int
    code: str

    @property
    def is_session(self) -> bool:
        """Whether it is written as a session with prompts."""
        return self.code.lstrip().startswith(">>>")


def blocks(page: Path) -> list[Block]:
    """The page's blocks of Python, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(page, text.count("\n", 0, found.start(1)) + 1, found.group(1)) for found in BLOCK.finditer(text)]
