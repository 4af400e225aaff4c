"""docs/django.md: its files make a project, and its commands print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from page_shell import CONSOLE, FILE, SCRIPT, commands

from .conftest import ROOT

PAGE = (ROOT / "docs" / "django.md").read_text(encoding="utf-8")


def test_the_project_of_the_page(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "RESONATE_"))}
    environment = {**kept, "NO_COLOR": "1", "PYTHONWARNINGS": "error"}
    ran = 0
    for command in commands(PAGE, CONSOLE, SCRIPT, FILE):
        if "venv" in command.text or "pip install " in command.text:
            continue  # they run in tests/docs/test_commands_of_pages.py, in an environment of their own
        done = subprocess.run(
            ["bash", "-c", command.text.replace("python ", f"{sys.executable} ")],
            cwd=site,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        pattern = re.escape(command.shown or "").replace(re.escape("..."), ".*")
        assert re.fullmatch(pattern, done.stdout), f"{command.text}\n{done.stdout}{done.stderr}"
        ran += not command.text.startswith("cat ")
    assert ran == 7
