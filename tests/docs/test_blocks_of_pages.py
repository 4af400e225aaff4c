"""Commands of pages are in blocks that tests read; pages name what their commands and sessions need."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands_of_pages import RUN, all_pages, name_of, tracked, typed
from pages import ROOT
from places_of_pages import NOT_RUN, PLACES, SESSIONS_NEED, Place

LANGUAGES = {"", "console", "ini", "json", "nginx", "py", "python", "sh", "sql", "text", "toml", "yaml", "{eval-rst}", "{toctree}"}
#: What only commands begin with.
COMMAND = re.compile(
    r"^(\$ |(pip|python3?|git|cd|sudo|resonate-core|uvicorn|gunicorn|docker|curl|export|cmake|jupyter) |scripts/\w+( |$))",
    re.MULTILINE,
)


def test_commands_stand_in_blocks_of_commands() -> None:
    wrong = []
    for page in all_pages():
        for block in re.finditer(r"^```(\S*)[^\n]*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            where = f"{name_of(page)}: {block[2][:60]!r}"
            if block[1] not in LANGUAGES and not block[1].startswith("{"):
                wrong.append(f"{where}: unknown language {block[1]}")
            if block[1] == "console" and not block[2].startswith("$ "):
                wrong.append(f"{where}: a session begins with $, commands without output are in a block of sh")
            if block[1] in ("", "text") and COMMAND.search(block[2]):
                wrong.append(f"{where}: commands are in a block of console or sh")
    assert wrong == []


def test_every_reason_belongs_to_a_command() -> None:
    every = [text for page in all_pages() for text in typed(page)]
    assert [pattern for pattern, _ in NOT_RUN if not any(re.match(pattern, text) for text in every)] == []
    assert set(PLACES) <= {name_of(page) for page in all_pages()}
    assert len(every) > 200


@pytest.mark.parametrize("page", [page for page in RUN if PLACES.get(name_of(page), Place()).extras], ids=name_of)
def test_a_page_names_the_extras_that_it_needs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    first = text.partition("$ ")[0]
    for extra in PLACES[name_of(page)].extras.split(","):
        assert f"`{extra}`" in (first if name_of(page) != "docs/dashboard.md" else text)


@pytest.mark.parametrize("page", SESSIONS_NEED)
def test_a_page_names_what_its_sessions_need(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    extras, *packages = SESSIONS_NEED[page]
    for extra in filter(None, extras.split(",")):
        assert re.search(rf"`{extra}`|\[[\w,]*\b{extra}\b[\w,]*\]", text), extra
    assert [package for package in packages if package.partition("[")[0] not in text] == []


def test_no_text_names_an_index_for_the_package() -> None:
    """The package is on no index: `pip install resonate-core` finds nothing, or another's package."""
    wrong = re.compile(
        r"(?:install|add)(?: -\S+)*(?: ['\"]?[\w>=<\[\],.-]+['\"]?)*? ['\"]?resonate[-_]core(?:\[[\w,]+\])?(?:['\"`\s]|==|>=|$)"
    )
    assert wrong.search("pip install resonate-core") and wrong.search('pip install -U "resonate_core[worker]"')
    assert wrong.search('python -m pip install resonate-core "django>=5.2"') and not wrong.search(
        "pip install './resonate_core[cli]'"
    )
    found = []
    for path in tracked(
        "*.md", "*.ipynb", "python/**/*.py", "python/**/*.pyi", "examples/**/*.py", "scripts/*", "deploy/*", "cpp/bindings/*"
    ):
        text = path.read_text(encoding="utf-8").replace("\\", "")
        found += [f"{name_of(path)}: {hit[0]}" for line in text.splitlines() if "resonate" in line for hit in wrong.finditer(line)]
    assert found == []


def test_the_pages_agree_how_long_a_build_takes() -> None:
    """README and the page about installation say it; the others link there."""
    said = {
        page: re.findall(r"about (\d+) minutes on 2 cores", (ROOT / page).read_text(encoding="utf-8"))
        for page in ("README.md", "docs/install.md")
    }
    assert len(said["README.md"]) == 1 and said["README.md"] == said["docs/install.md"]
    others = [page for page in all_pages() if name_of(page) not in said and page.name != "CONTRIBUTING.md"]
    builds = re.compile(r"build[^.|]* takes [^.|]*\bminutes", re.IGNORECASE)
    assert [name_of(page) for page in others if builds.search(page.read_text(encoding="utf-8"))] == []


def test_every_example_is_on_its_page() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    parts = {path.relative_to(ROOT / "examples").parts[0] for path in tracked("examples/*.py", "examples/**/*.py")}
    assert len(parts) > 8
    assert [part for part in sorted(parts) if f"`examples/{part}`" not in page] == []
