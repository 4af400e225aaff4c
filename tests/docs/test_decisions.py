"""The table of decisions lists every page of one, in order."""

from __future__ import annotations

import re

from pages import DOCS, table

FOLDER = DOCS / "decisions"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))


def test_the_table_lists_every_decision_in_order() -> None:
    rows = table((FOLDER / "README.md").read_text(encoding="utf-8"), "| decision | consequence for you")
    listed = [re.findall(r"\]\((\S+)\)", decision) for _, decision, _ in rows]
    assert listed == [[page.name] for page in PAGES]
    assert [int(number) for number, _, _ in rows] == [int(page.name[:4]) for page in PAGES]
    assert all(consequence for _, _, consequence in rows)


def test_the_title_of_a_decision_has_its_number() -> None:
    titles = {page.name: page.read_text(encoding="utf-8").partition("\n")[0] for page in PAGES}
    assert {name: title for name, title in titles.items() if not re.match(rf"# {name[:4]} \w", title)} == {}
    numbers = [name[:4] for name in titles]
    assert len(numbers) == len(set(numbers))
