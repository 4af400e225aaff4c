"""Several stores send requests on a few jobs at the same time: one order must explain all replies.

Each job has a queue of its own, with its name, so that its history contains its claims. Jobs without retention are gone when they are
completed, and are made again. RESONATE_LINEARIZABLE_SEED sets the seed.
"""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.conformance.linearizable import Asked, explanation

HEAD = {"corrId": "1", "version": "2026-04-01"}
LEASE = 10**12
CLIENTS, REQUESTS, JOBS = 4, 120, 4


def request(chance: random.Random, name: str) -> dict[str, Any]:
    """A random request on a job, or a claim of its queue."""
    id = f"j{chance.randrange(JOBS)}"
    held = {"id": id, "version": chance.randrange(1, 4)}
    order = {"id": id, "queue": id, "type": "t", "payload": {"data": "p"}, "retention": chance.choice([0, 0, 0, LEASE])}
    claim = {"queues": [{"name": id}], "count": chance.randrange(1, 3), "worker": name, "lease": LEASE, "start": 1}
    kind, data = chance.choice(
        [
            *[("job.enqueue", order)] * 3,
            *[("job.claim", claim)] * 4,
            *[("job.complete", {**held, "result": {"data": name}})] * 3,
            ("job.fail", {**held, "error": {"code": "E"}, "retryAfter": 0}),
            ("job.fail", {**held, "error": {"code": "E"}, "archive": True}),
            ("job.run", {"id": id}),
            ("job.report", {**held, "progress": 0.5, "lines": [name]}),
            ("job.get", {"id": id}),
        ]
    )
    return {"kind": kind, "head": HEAD, "data": data}


def run(url: str, seed: int) -> tuple[list[list[Asked]], int]:
    """The histories of the clients, and how many of their transactions shared."""
    barrier = threading.Barrier(CLIENTS)
    before = rc.database_counts()["shared_commits"]

    def client(number: int) -> list[Asked]:
        chance = random.Random(seed + number)
        history = []
        with rc.Store(url + "&writers=shared", clock=rc.ManualClock(0), busy_timeout=60_000) as store:
            barrier.wait(60)
            for _ in range(REQUESTS):
                asked = request(chance, f"c{number}")
                begin = time.monotonic_ns()
                answer = store.apply(asked)
                history.append(Asked(begin, time.monotonic_ns(), asked, answer))
        return history

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(client, range(CLIENTS))), rc.database_counts()["shared_commits"] - before


@pytest.mark.timeout(600)
def test_one_order_explains_what_clients_were_told_about_jobs(postgres_url: str) -> None:
    seed = int(os.environ.get("RESONATE_LINEARIZABLE_SEED", secrets.randbelow(10**6)))
    print(f"seed {seed}")
    histories, shared = run(postgres_url, seed)
    assert shared > CLIENTS * REQUESTS / 8, "hardly any transaction shared"
    unexplained = [id for id in (f"j{number}" for number in range(JOBS)) if explanation(histories, id) is None]
    assert unexplained == [], f"seed {seed}"
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        assert store.check() == []
