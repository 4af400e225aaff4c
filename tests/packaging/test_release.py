"""`scripts/release --check`: the checklist before the files of a release are made."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ITEMS = [
    "the version in pyproject.toml is MAJOR.MINOR.PATCH",
    "the installed module and its metadata have it",
    "the pages name it",
    "CHANGELOG.md has it, with its date, as the newest",
    "nothing is uncommitted",
    "no tag has its name",
]


def run(*command: str | Path, where: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return subprocess.run(command, cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def git(where: Path, *arguments: str) -> None:
    done = run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", *arguments, where=where)
    assert done.returncode == 0, done.stdout


def edit(path: Path, pattern: str, by: str) -> None:
    text, count = re.subn(pattern, by, path.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    path.write_text(text)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository that is ready for a release, with the files that the checklist reads, and this environment."""
    made = tmp_path / "clone"
    for name in (
        "scripts/release",
        "scripts/lib/environment.sh",
        "pyproject.toml",
        "CHANGELOG.md",
        "README.md",
        "docs/install.md",
        ".gitignore",
    ):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes((ROOT / name).read_bytes())
    (made / "scripts/release").chmod(0o755)
    edit(made / "CHANGELOG.md", r"^(## [0-9.]+) \(.*\)$", r"\1 (2026-11-24)")
    python = made / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (made / ".venv/made-by-scripts-setup").touch()
    git(made, "init", "-q")
    git(made, "add", ".")
    git(made, "commit", "-q", "-m", "A release")
    return made


def version_of(clone: Path) -> str:
    (found,) = re.findall(r'^version = "(.*)"$', (clone / "pyproject.toml").read_text(), re.MULTILINE)
    assert isinstance(found, str)
    return found


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line.strip() for line in done.stdout.splitlines()]


def test_a_clone_that_is_ready_passes(clone: Path) -> None:
    done = run("scripts/release", "--check", where=clone)
    assert done.returncode == 0, done.stdout
    assert [line for line in lines(done) if line.startswith("ok ")] == [f"ok      {item}" for item in ITEMS]
    assert not (clone / "dist").exists()


def unreleased(clone: Path) -> None:
    edit(clone / "CHANGELOG.md", r"^(## [0-9.]+) \(.*\)$", r"\1 (unreleased)")
    git(clone, "commit", "-q", "-a", "-m", "Not yet")


def empty_section(clone: Path) -> None:
    edit(clone / "CHANGELOG.md", r"^## ", f"## {version_of(clone)} (2026-11-25)\n\n## ")
    git(clone, "commit", "-q", "-a", "-m", "Nothing in it")


def other_version(clone: Path) -> None:
    edit(clone / "pyproject.toml", r'^version = ".*"$', 'version = "99.0.0"')
    git(clone, "commit", "-q", "-a", "-m", "Another")


def version_with_a_suffix(clone: Path) -> None:
    edit(clone / "pyproject.toml", r'^version = ".*"$', 'version = "0.1rc1"')
    git(clone, "commit", "-q", "-a", "-m", "A candidate")


def uncommitted(clone: Path) -> None:
    (clone / "new.txt").touch()


def tagged(clone: Path) -> None:
    git(clone, "tag", f"v{version_of(clone)}")


@pytest.mark.parametrize(
    ("change", "failed", "reasons"),
    [
        (unreleased, [3], [r'the first heading must be "## .* \(YYYY-MM-DD\)", got "## .* \(unreleased\)"']),
        (empty_section, [3], ["no line below it"]),
        (
            other_version,
            [1, 2, 3],
            [r"got [0-9.]+ [0-9.]+", r"docs/install\.md:\d+:resonate_core-.*", 'the first heading must be "## 99.0.0 .*'],
        ),
        (version_with_a_suffix, [0, 1, 2, 3], ['got "0.1rc1"']),
        (uncommitted, [4], [r"\?\? new\.txt"]),
        (tagged, [5], [r"v[0-9.]+ exists"]),
    ],
)
def test_the_checklist_names_what_is_wrong(
    clone: Path, change: Callable[[Path], None], failed: list[int], reasons: list[str]
) -> None:
    change(clone)
    done = run("scripts/release", where=clone)
    assert done.returncode == 1
    printed = lines(done)
    assert [line for line in printed if line.startswith("FAILED")] == [f"FAILED  {ITEMS[number]}" for number in failed]
    for reason in reasons:
        assert any(re.fullmatch(reason, line) for line in printed), done.stdout
    assert f"** FAILED: {len(failed)} of the checklist; nothing was made" in printed
    assert not (clone / "dist").exists()
