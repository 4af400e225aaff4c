"""A recording of 1.5 kB grew by 300 MB/s, refused posts stayed whole, and uploads stayed with 30 times their size.

The chart of days had a place for each day between 1970 and 2^63 - 1. The audit kept what a refused request said, 2 MB each. A line of a
recording was kept as Python objects. Each attack runs in a process of its own with a limit of memory, which is the judge.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tiers import every

#: Bytes of data that a process may have beyond those that it has before the attack.
ROOM = 400_000_000
SETUP = f"""
import io, json, os, resource
import resonate_core as rc
from resonate_core.ui.recording import Recording
from ui.ui_client import PAGE, Client, client_of
pages = int(open("/proc/self/statm").read().split()[5])
resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + {ROOM},) * 2)
NDJSON = "application/x-ndjson"

def recorded(act, clock=1000):
    store, trace = rc.Store(clock=rc.ManualClock(clock)), io.StringIO()
    with store.record(trace):
        act(store)
    return trace.getvalue()
"""
DAYS = """
def one_job(store):
    store.jobs.enqueue("t", {}, id="j")
    (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
    store.jobs.complete("j", job.version)

head = {"corrId": "1", "version": "2026-04-01"}
late = {"kind": "promise.get", "now": 2**63 - 1, "req": {"kind": "promise.get", "head": head, "data": {"id": "a"}}}
late["res"] = {"head": {"status": 404}, "data": "x"}
ui = client_of(rc.Store(clock=rc.ManualClock()))
id = ui.post("travel", recorded(one_job) + json.dumps(late), NDJSON).json()["travel"]
shown = ui.see("overview", travel=id, hours=168)
at = shown["series"]["day"]["points"]["at"]
assert at[0] == 0 and len(at) <= 400 and sum(shown["series"]["day"]["points"]["completed"]) == 1, shown["series"]["day"]
for view, query in (
    ("due", {}), ("queues", {}), ("queue", {"name": "default"}), ("job", {"id": "j"}), ("jobs", {}), ("workers", {}),
    ("stuck", {}), ("schedules", {}), ("groups", {}), ("why", {"id": "j"}), ("workflows", {}), ("messages", {}),
):
    answer = ui.get(view, travel=id, **query)
    assert answer.status_code == 200, (view, answer.text)
for query in ({}, {"n": 0}, {"n": 3}):
    assert ui.get("travel/state", travel=id, **query).status_code == 200
assert ui.get("travel/diff", travel=id, a=0, b=3).status_code == 200
"""
TIMELINES = """
def every_second(store):
    store.schedules.create("s", cron="* * * * * *", promise_id="{{.id}}.{{.timestamp}}", promise_timeout=1000)
    store.promises.create("p", timeout=2**63 - 1)
    for n in range(6):
        store.jobs.enqueue("t", {}, id=f"j{n}")
    store.clock.advance(2000)

head = {"corrId": "1", "version": "2026-04-01"}
late = {"kind": "promise.get", "now": 2**63 - 1, "req": {"kind": "promise.get", "head": head, "data": {"id": "a"}}}
late["res"] = {"head": {"status": 404}, "data": "x"}
for clock in (0, 1_700_000_000_000):
    lines = (recorded(every_second, clock) + json.dumps(late)).split("\\n")
    data = rc.display.timeline_data(lines)
    assert data["end"] == 2**63 - 1 and all(len(fold["done"]) <= 241 for fold in data["folds"]), data
    rc.display.export_html(lines, os.devnull)
    assert Recording(lines).events[-1].at == 2**63 - 1
"""
REFUSALS = """
ui = client_of(rc.Store(clock=rc.ManualClock()), "none")
for n in range(300):
    body = {"kind": "x", "data": {"tags": {"x": "A" * 2_000_000}}}
    assert ui.request("POST", "api/do", body, PAGE).status_code == 403
ui = client_of(rc.Store(clock=rc.ManualClock()))
for n in range(300):
    body = {"kind": "x", "data": {"tags": {"x": "A" * 2_000_000}}}
    assert ui.request("POST", "api/do", body, PAGE).status_code == 400
"""
UPLOADS = """
def short(store):
    for n in range(10_000):
        store.promises.create(f"{n}", timeout=10**9)

text = recorded(short)
ui = client_of(rc.Store(clock=rc.ManualClock()), recording_bytes=100_000_000)
for n in range(6):
    assert ui.post("travel", text, NDJSON).status_code == 200
"""
FORMATS = """
line = {"kind": "step.{id:>200000000}", "now": 1000, "req": {"id": "a"}, "res": {}}
ui = client_of(rc.Store(clock=rc.ManualClock()))
text = recorded(lambda store: None) + f"{json.dumps(line)}\\n" * 50
assert ui.post("travel", text, NDJSON).status_code == 400
"""
DEEP = """
ui = client_of(rc.Store(clock=rc.ManualClock()))
for part, count in ((b"[", 30_000_000), (b'{"a":', 6_000_000), (b"{}\\n", 10_000_000), (b"\\n", 33_000_000), (b"9", 33_000_000)):
    assert ui.post("travel", part * count, NDJSON).status_code == 400, part
"""


ATTACKS = {"uploads": UPLOADS, "days": DAYS, "timelines": TIMELINES, "refusals": REFUSALS, "deep": DEEP, "formats": FORMATS}


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of data is that of Linux")
@pytest.mark.parametrize("attack", every(2, ATTACKS))
def test_an_attack_needs_a_bounded_memory(attack: str) -> None:
    tests = Path(__file__).parent.parent
    child = subprocess.run(
        [sys.executable, "-c", SETUP + ATTACKS[attack]], cwd=tests, capture_output=True, text=True, timeout=300, check=False
    )
    assert child.returncode == 0, child.stderr[-2000:]
