"""Several processes on one file: their answers are those that one process would get for the same requests in some order."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from property.judge import plain_reply
from reference import Model

HERE = Path(__file__).parent
PROCESSES, REQUESTS = 8, 200


def histories(path, seed):
    """The requests and answers of each process, with the instants of both."""
    command = [sys.executable, str(HERE / "process.py"), str(path)]
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


def explanation(histories, id):
    """An order of all requests on one id that explains every answer, or None (Wing and Gong's search).

    A request may be the next in the order if no other remaining request had ended before it began. The requests of a process
    are in their order, so only the first remaining request of each process is a candidate.
    """
    queues = [[one for one in history if one[2]["data"]["id"] == id] for history in histories]
    seen = set()

    def search(model, places, order):
        if all(place == len(queue) for place, queue in zip(places, queues)):
            return order
        state = (places, repr(model.snapshot()))
        if state in seen:
            return None
        seen.add(state)
        heads = [(queue[place], number) for number, (queue, place) in enumerate(zip(queues, places)) if place < len(queue)]
        first_end = min(one[1] for one, _ in heads)
        for (begin, _, asked, told), number in heads:
            if begin > first_end:
                continue
            next_model = model.fork()
            if plain_reply(next_model.apply(asked, None)) != plain_reply(told):
                continue
            found = search(next_model, tuple(place + (i == number) for i, place in enumerate(places)), [*order, asked])
            if found is not None:
                return found
        return None

    return search(Model(rules="compatible"), (0,) * len(queues), [])


@pytest.mark.timeout(600)
def test_a_sequential_run_explains_what_eight_processes_were_told(tmp_path):
    seed = secrets.randbelow(10**6)
    print(f"seed {seed}")
    path = tmp_path / "app.db"
    told = histories(path, seed)
    ids = sorted({one[2]["data"]["id"] for history in told for one in history})
    assert len(ids) == 12
    unexplained = [id for id in ids if explanation(told, id) is None]
    assert unexplained == [], f"seed {seed}"
    with rc.Store(path, clock=rc.ManualClock()) as store:
        assert store.check() == []
    assert rc.check_file(path) == []


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
