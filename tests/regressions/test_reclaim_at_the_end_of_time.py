"""Reclaiming a finished job never ended at the last instant.

With the clock at 2**63 - 1 and an unblock that was not taken, the job's row was to be read again at the same instant: an endless loop that
took all memory. The test runs in a process of its own, which is killed if it does not end.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

import resonate_core as rc
from resonate_core.conformance.reference.model import Model

PROGRAM = """
import resonate_core as rc
END = 2**63 - 1
clock = rc.ManualClock(1000)
store = rc.Store({path!r}, clock=clock)
store.jobs.enqueue("t", id="a", retention={retention})
store.promises.register_listener("a", "poll://any@listeners")
[job] = store.jobs.claim(["default"], 1, worker="w", lease=1000, start=1)
store.jobs.complete("a", job.version, "done")
assert [message.kind for message in store.messages()] == ["unblock"]
{move}
assert store.now == END
store.promises.create("later", timeout=1)
assert store.next_due() is None
assert store.check() == []
print(store.jobs.get("a").state, store.tick())
"""


@pytest.mark.parametrize("retention", [0, 1000, 2**63 - 1])
@pytest.mark.parametrize("move", ["_ = store.tick(END)", "store = store.fork(rc.ManualClock(END)); _ = store.tick()"])
@pytest.mark.parametrize("path", [None, "end.db"])
def test_the_last_instant_is_reached(tmp_path: object, path: str | None, move: str, retention: int) -> None:
    # The unblock is kept for as long as there is time, so that it is still there.
    program = PROGRAM.format(path=path, move=move, retention=retention).replace(
        "clock=clock)", "clock=clock, unblock_retention=END)"
    )
    limits = "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
    ran = subprocess.run(
        [sys.executable, "-c", limits + program], capture_output=True, text=True, check=False, cwd=str(tmp_path), timeout=30
    )
    assert (ran.returncode, ran.stdout) == (0, "completed []\n"), ran.stderr[-2000:]


@pytest.mark.parametrize("retention", [2**63 - 2, 2**63 - 1])
def test_the_model_agrees_that_the_last_instant_reclaims_nothing(retention: int) -> None:
    store, model = rc.Store(clock=rc.ManualClock(0)), Model(start=0)
    for kind, data in [
        ("job.enqueue", {"id": "a", "queue": "q", "type": "t", "deadline": 10**9, "retention": retention}),
        ("promise.settle", {"id": "a", "state": "resolved"}),
    ]:
        envelope = {"kind": kind, "head": {"corrId": "c", "version": "2026-04-01"}, "data": data}
        assert store.apply(envelope)["head"]["status"] == model.apply(envelope)["head"]["status"] == 200
    assert store.next_due() == model.next_due() == (None if retention == 2**63 - 1 else retention)
