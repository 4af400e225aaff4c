"""`manage.py resonate_worker` logged "2026-11-21 21:40:03,117" in local time, and a text of a task could begin a line of its log.

Its log has the instants and the escapes of the other logs of this package.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

pytest.importorskip("django.tasks")

FORGED = "2026-01-01T00:00:00.000Z ERROR   resonate_core.worker: forged"
PROGRAM = """
import sys
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["resonate_core.contrib.django"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "app.db", "OPTIONS": {"transaction_mode": "IMMEDIATE"}}},
    TASKS={"default": {"BACKEND": "resonate_core.contrib.django.ResonateBackend"}},
    USE_TZ=True,
    TIME_ZONE="Asia/Kolkata",
)
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
import shop
shop.fails.enqueue()
call_command("resonate_worker", until_idle=True)
"""
SHOP = f"""
from resonate_core.contrib.django import task
@task()
def fails():
    raise ValueError("a\\n{FORGED}")
"""


def test_its_lines_are_those_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    before = datetime.now(timezone.utc)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "resonate_core.worker: " in line]
    assert len(lines) == 1 and "ValueError: a\\n2026-01-01" in lines[0], done.stderr
    for line in lines:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (INFO|WARNING) +resonate_core", line), done.stderr
        at = datetime.fromisoformat(line.partition("Z")[0] + "+00:00")
        assert before - timedelta(milliseconds=1) <= at <= datetime.now(timezone.utc)
    assert not any(line.startswith(FORGED) for line in done.stderr.splitlines())
