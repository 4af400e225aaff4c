"""All processes of a store in PostgreSQL share one clock: the database's, or a manual clock that each process can move."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc

DAY = 86_400_000
SHIFT = 1000  # days
PROGRAM = """
import json, sys, time, resonate_core as rc
with rc.Store(sys.argv[1]) as store:
    made = store.promises.create("of a wrong clock", timeout=3_600_000)
    print(json.dumps({"system": rc.SystemClock().now, "now": store.now, "created": made.created_at, "ahead": store.clock_ahead}))
"""


@pytest.mark.parametrize("days", [SHIFT, -SHIFT])
def test_the_clock_of_a_machine_does_not_matter(postgres_url: str, tmp_path: Path, days: int) -> None:
    library = tmp_path / "shifted_clock.so"
    source = Path(__file__).parent / "shifted_clock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    with rc.Store(postgres_url) as store:
        assert repr(store.clock) == "DatabaseClock()"
        before = store.promises.create("of a right clock", timeout=3_600_000).created_at
        environment = os.environ | {"LD_PRELOAD": str(library), "RESONATE_CLOCK_SHIFT": str(days * DAY // 1000)}
        done = subprocess.run([sys.executable, "-c", PROGRAM, postgres_url], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout)
        after = store.promises.create("after", timeout=3_600_000).created_at
    assert abs(seen["system"] - before) > DAY * SHIFT / 2  # its clock is wrong
    assert before <= seen["created"] <= after  # and does not matter
    assert before <= seen["now"] <= after
    assert seen["ahead"] == 0


def test_a_clock_that_is_given_is_used(postgres_url: str) -> None:
    with rc.Store(postgres_url, clock=rc.SystemClock()) as store:
        assert repr(store.clock) == "SystemClock()"


def test_a_manual_clock_is_one_for_all_processes(postgres_url: str) -> None:
    """Each of the stores acts as a process: they share only the database."""
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as one, rc.Store(postgres_url, clock=rc.ManualClock(0)) as other:
        one.clock.advance(5000)
        assert other.now == 5000
        assert other.promises.create("a", 7000, tags={"resonate:timer": "true"}).created_at == 5000
        assert [step.id for step in one.clock.advance(3000)] == ["a"]
        assert (other.now, other.promises.get("a").state) == (8000, "resolved")
        assert other.clock.advance(1000) == []
        assert (one.now, one.clock.advance_to(9000)) == (9000, [])
        one.tick(9500)
        assert other.now == 9500
        with pytest.raises(rc.Invalid, match="at must be at least 9500, got 9000: a clock never goes back"):
            other.clock.advance_to(9000)
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as later:
        assert later.now == 9500
