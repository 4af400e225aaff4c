"""kill -9 of workers that run graphs: each node completes once, after what it waits for, and none is left behind.

RESONATE_KILL_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import resonate_core as rc
from homes import Home
from resonate_core.worker import Worker

GRAPHS, NODES, PROCESSES = 12, 12, 3


def start(place: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(Path(__file__).with_name("graph_process.py")), place])


@pytest.mark.all
@pytest.mark.parametrize("home", ["sqlite", "postgres"], indirect=True)
def test_every_node_completes_after_what_it_waits_for_whoever_is_killed(home: Home) -> None:
    seed = int(os.environ.get("RESONATE_KILL_SEED") or random.SystemRandom().randrange(10**6))
    print(f"seed {seed}")
    chance, place = random.Random(seed), str(home.new_place())
    depth: dict[str, int] = {}
    kills = 0
    with rc.Store(place, durability="normal", busy_timeout=60_000) as store:
        processes = [start(place) for _ in range(PROCESSES)]
        try:
            for number in range(GRAPHS):
                graph = Worker(store).graph(f"g{number}")
                for node in range(NODES):
                    after = sorted({f"n{chance.randrange(node)}" for _ in range(chance.randrange(3))} if node else ())
                    depth[graph.add(f"n{node}", "node", after=after, queue="graphs", max_retries=10_000)] = 1 + max(
                        (depth[graph.id_of(one)] for one in after), default=0
                    )
                graph.enqueue()
                time.sleep(chance.uniform(0.2, 0.5))
                victim = processes.pop(chance.randrange(PROCESSES))
                victim.send_signal(signal.SIGKILL)
                victim.wait(60)
                kills += 1
                processes.append(start(place))
            end = time.monotonic() + 240
            while counts := {
                state: n for state, n in store.queues.stats("graphs")[0]["counts"].items() if n and state != "completed"
            }:
                assert time.monotonic() < end, counts
                assert all(process.poll() is None for process in processes), "a worker ended by itself"
                time.sleep(0.05)
        finally:
            for process in processes:
                process.kill()
                process.wait(60)
        jobs = {job.id: job for job in store.jobs.search(limit=1000)}
        assert {id: job.result.json() for id, job in jobs.items()} == depth
        for job in jobs.values():
            outcomes = [attempt["outcome"] for attempt in job.attempts]
            assert outcomes.count("completed") == 1 and outcomes[-1] == "completed", (job.id, outcomes)
            ends = [jobs[one].completed_at or 0 for one in job.after]
            assert all(attempt["startedAt"] >= max(ends, default=0) for attempt in job.attempts), job.id
        crashed = sum(attempt["outcome"] == "crashed" for job in jobs.values() for attempt in job.attempts)
        print(f"kills {kills}, crashed attempts {crashed}")
        assert kills == GRAPHS
        assert store.check() == []
