"""Several processes on one store: their answers are those that one process would get for the same requests in some order."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from homes import HOMES
from integration.storage.process import LIFE, PROMISES, TASKS
from resonate_core.conformance.linearizable import explanation
from resonate_core.conformance.reference import Model

HERE = Path(__file__).parent
PROCESSES, REQUESTS = 8, 200


def histories(place, seed):
    """The requests and answers of each process, with the instants of both."""
    command = [sys.executable, str(HERE / "process.py"), str(place)]
    running = [
        subprocess.Popen(
            [*command, f"w{i}", str(seed + i), str(REQUESTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for i in range(PROCESSES)
    ]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0] * PROCESSES
    return [[tuple(json.loads(line)) for line in output.splitlines()] for output in outputs]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("home", HOMES, indirect=True)
def test_a_sequential_run_explains_what_eight_processes_were_told(place):
    seed = secrets.randbelow(10**6)
    print(f"seed {seed}")
    seen = histories(place, seed)
    ids = sorted({one[2]["data"]["id"] for history in seen for one in history})
    assert len(ids) == (TASKS + PROMISES) * REQUESTS // LIFE
    unexplained = [id for id in ids if explanation(seen, id) is None]
    assert unexplained == [], f"seed {seed}"
    with rc.Store(place, clock=rc.ManualClock()) as store:
        assert store.check() == []
    assert not isinstance(place, Path) or rc.check_file(place) == []


def test_the_search_finds_no_order_for_a_lost_update():
    def settled(value):
        return {
            "kind": "promise.settle",
            "head": {"corrId": "1", "version": "2026-04-01"},
            "data": {"id": "p", "state": "resolved", "value": {"data": value}},
        }

    created = {
        "kind": "promise.create",
        "head": {"corrId": "1", "version": "2026-04-01"},
        "data": {"id": "p", "timeoutAt": 10, "param": {}, "tags": {}},
    }
    model = Model(rules="compatible")
    first = (0, 1, created, model.apply(created, None))
    fork = model.fork()
    one = (2, 3, settled("a"), model.apply(settled("a"), None))
    other = (4, 5, settled("b"), fork.apply(settled("b"), None))  # as if the other request had not been sent
    assert explanation([[first, one]], "p") is not None
    assert explanation([[first, one], [other]], "p") is None
