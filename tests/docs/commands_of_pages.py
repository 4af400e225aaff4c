"""The pages of the repository, and the commands in them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from pages import ROOT
from places_of_pages import reason_not_to_run

from page_shell import CONSOLE, FILE, SCRIPT, Command, commands


@cache
def tracked(*patterns: str) -> list[Path]:
    """The files of the repository that match, as Git knows them; also new ones."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    found = subprocess.run(listed, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [ROOT / name for name in sorted(found) if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


def all_pages() -> list[Path]:
    """The pages of users and developers; the changelog has no commands to type."""
    return [page for page in tracked("*.md") if page.name != "CHANGELOG.md"]


def of_page(page: Path) -> list[Command]:
    """The commands and files of a page, in order."""
    return commands(page.read_text(encoding="utf-8"), CONSOLE, SCRIPT, FILE)


def to_run(page: Path) -> list[Command]:
    """Those that a test can run."""
    return [command for command in of_page(page) if reason_not_to_run(command.text) is None]


def typed(page: Path) -> list[str]:
    """Those that a reader types."""
    return [command.text for command in of_page(page) if not command.text.startswith("cat >")]


RUN = [page for page in all_pages() if any(not command.text.startswith("cat >") for command in to_run(page))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))
