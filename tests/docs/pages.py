"""Reads the pages of the documentation and the code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: An app that a page shows whole, for its shell session; the files of django.md are parts of a project.
FILE = re.compile(r"^<!-- file: shop\.py -->\n```py\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    """One block of Python in a page, and the line on which its code begins."""

    page: Path
    line: int
    code: str

    @property
    def is_session(self) -> bool:
        """Whether it is a session with prompts."""
        return self.code.lstrip().startswith(">>>")


def blocks(page: Path, pattern: re.Pattern[str] = BLOCK) -> list[Block]:
    """Returns the page's blocks of Python, or those that another pattern finds, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(page, text.count("\n", 0, found.start(1)) + 1, found.group(1)) for found in pattern.finditer(text)]


def modules(page: Path) -> list[str]:
    """The page's Python as modules for a type checker: one of all its sessions, and one of each program that stands alone.

    Each statement is on its line in the page, so that errors have the lines of the page. What a session prints, and the prose, are
    empty lines.
    """
    length = len(page.read_text(encoding="utf-8").splitlines())
    session = [""] * length
    made = ["\n" * (block.line - 1) + block.code for block in blocks(page, FILE)]
    for block in blocks(page):
        lines = block.code.splitlines()
        if block.is_session:
            lines = [line[4:] if line.startswith((">>> ", "... ")) else "" for line in lines]
            session[block.line - 1 : block.line - 1 + len(lines)] = lines
        else:
            made.append("\n" * (block.line - 1) + block.code)
    if any(session):
        made.append("\n".join(session) + "\n")
    return made


def table(page: str, heading: str) -> list[list[str]]:
    """Returns the cells of the table in a page's text whose first headings are these, without the headings."""
    begin = page.find(f"\n| {heading} |") + 1
    assert begin, f"no table begins with {heading}"
    lines = page[begin:].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def texts_of(picture: Path) -> list[str]:
    """Returns the texts in an SVG picture, sorted."""
    found = ElementTree.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}text")
    return sorted("".join(element.itertext()) for element in found)
