"""JSON logs had "2026-11-21 21:40:03,117": a decimal comma, local time, no zone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest

PROGRAM = """
import logging, sys
from resonate_core.server.logs import configure
from resonate_core.server.settings import LogSettings
configure(LogSettings(format=sys.argv[1]))
logging.getLogger("resonate_core.server").info("serving")
"""


@pytest.mark.parametrize("format", ["json", "text"])
def test_instants_are_rfc_3339_in_utc(format: str) -> None:
    before = datetime.now(timezone.utc)
    environment = {**os.environ, "TZ": "Asia/Kolkata"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, format], capture_output=True, text=True, check=True, timeout=60, env=environment
    )
    (line,) = done.stderr.splitlines()
    written = json.loads(line)["time"] if format == "json" else line.partition(" ")[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", written)
    at = datetime.fromisoformat(written.replace("Z", "+00:00"))
    assert before - timedelta(milliseconds=1) <= at <= datetime.now(timezone.utc)
