"""The onboarding of the guide: its worker is killed before and after each request; no user is welcomed twice, and no click is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from onboarding_kills import CLICKS, USERS

PROGRAM = Path(__file__).with_name("onboarding_kills.py")
#: The requests at which the worker is killed; a run has more than these.
LAST = 100
#: One place in so many; `--full` takes all of them.
EVERY = 1 if os.environ.get("RESONATE_TEST_TIER") == "full" else 10


@pytest.mark.all
@pytest.mark.timeout(900)
def test_one_welcome_at_most_one_reminder_and_no_lost_click(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), str(tmp_path), "1", str(LAST), str(EVERY)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=850, check=False)
    assert ran.returncode == 0, ran.stderr
    places = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(places) == 2 * len(range(1, LAST + 1, EVERY))
    assert sum(place["killed"] for place in places) > len(places) * 3 // 4, "the worker ends before too many of these requests"
    welcomes = {f"welcome:u{user}": 1 for user in range(USERS)}
    reminders = {f"reminder:u{user}": 1 for user in range(CLICKS, USERS)}
    for place in places:
        assert place["states"] == ["completed"] * USERS, place
        assert place["results"] == ["clicked"] * CLICKS + ["reminded"] * (USERS - CLICKS), place
        assert place["mails"] == {**welcomes, **reminders}, place
        assert place["violations"] == [], place
