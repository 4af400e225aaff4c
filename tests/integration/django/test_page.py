"""docs/django.md: its files make a project, and its commands print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from .conftest import ROOT

PAGE = (ROOT / "docs" / "django.md").read_text(encoding="utf-8")
FILE = re.compile(r"^<!-- file: (\S+) -->\n```py\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)  # they print nothing


def test_the_project_of_the_page(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "RESONATE_"))}
    environment = {**kept, "NO_COLOR": "1", "PYTHONWARNINGS": "error"}
    ran = 0
    parts = [found for pattern in (FILE, CONSOLE, COMMANDS) for found in pattern.finditer(PAGE)]
    for part in sorted(parts, key=lambda found: found.start()):
        if part.re is FILE:
            path = site / part[1]
            path.write_text((path.read_text() if path.name == "settings.py" else "") + part[2])
            continue
        lines = part[1] if part.re is CONSOLE else re.sub("^", "$ ", part[1].rstrip(), flags=re.MULTILINE)
        for session in re.split(r"^\$ ", lines, flags=re.MULTILINE)[1:]:
            command, _, expected = session.partition("\n")
            if " pip install " in command:
                continue
            done = subprocess.run(
                ["bash", "-c", command.replace("python ", f"{sys.executable} ")],
                cwd=site,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            pattern = re.escape(expected).replace(re.escape("..."), ".*")
            assert re.fullmatch(pattern, done.stdout), f"{command}\n{done.stdout}{done.stderr}"
            ran += 1
    assert ran == 7
