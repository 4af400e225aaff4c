"""The Python of README and of the pages passes strict mypy and pyright. An error names the page and its line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
pytest.importorskip("tomllib")  # on Python 3.11 and newer
pytest.importorskip("resonate", reason="the programs in docs/sdk.md need the SDK, and that Python 3.12")

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from pages import PAGES, ROOT, modules

from type_checkers import mypy, pyright

#: A session shows the values of expressions, and may define a name again.
SESSIONS = {"reportUnusedExpression": False, "reportRedeclaration": False}
#: The same for mypy, below the program.
OF_SESSIONS = '# mypy: allow-redefinition, disable-error-code="no-redef"'


def written(folder: Path) -> dict[str, Path]:
    """Writes the modules of all pages; returns the page of each file."""
    pages = {}
    for page in PAGES:
        name = "_".join(page.relative_to(ROOT).with_suffix("").parts)
        for number, code in enumerate(modules(page)):
            (folder / f"{name}_{number}.py").write_text(f"{code}\n{OF_SESSIONS}\n")
            pages[f"{name}_{number}.py"] = page
    return pages


def by_page(errors: list[tuple[str, int, str]], pages: dict[str, Path]) -> list[str]:
    return [f"{pages[file].relative_to(ROOT)}:{line}: {text}" for file, line, text in errors]


def test_mypy(tmp_path: Path) -> None:
    pages = written(tmp_path)
    assert {"README.md", "docs/jobs.md", "docs/workers.md", "docs/sdk.md", "docs/web.md"} <= {
        str(page.relative_to(ROOT)) for page in pages.values()
    }
    assert by_page(mypy(tmp_path), pages) == []


def test_pyright(tmp_path: Path) -> None:
    pages = written(tmp_path)
    assert by_page(pyright(tmp_path, **SESSIONS), pages) == []


def test_an_error_has_the_line_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n```python\n>>> n = 1\n>>> n + 'a'\nTraceback (most recent call last):\n```\n\ntext\n\n```python\nm: int = ''\n```\n"
    )
    folder = tmp_path / "modules"
    folder.mkdir()
    for number, code in enumerate(modules(page)):
        (folder / f"page_{number}.py").write_text(code)
    for errors in (mypy(folder), pyright(folder, **SESSIONS)):
        assert [line for _, line, _ in sorted(errors)] == [12, 5]
