"""A rate let up to 2 x limit - 1 claims into one window of its length, where the page promises `limit`.

A full bucket gave `limit` claims at once, and its refill almost as many within the same window: 3 of (2, 1,000 ms), 199 of (100, 1 h).
Any window of `per` ms now holds at most `limit` claims (decision 43).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from backends import BACK_ENDS, BackEnd, require
from conformance.job_wire import JobClient
from conformance.model_store import MODEL
from resonate_core.worker import Worker


@pytest.fixture(params=[*BACK_ENDS, MODEL], ids=lambda end: end.name)
def back_end(request: pytest.FixtureRequest) -> BackEnd:
    chosen: BackEnd = request.param
    require(chosen)
    return chosen


@pytest.fixture
def client(make_store: Callable[..., Any]) -> JobClient:
    return JobClient(make_store())


def fill(client: JobClient, count: int, queue: str = "default") -> None:
    for n in range(count):
        client.enqueue(f"{queue}{n}", queue=queue, now=0).must()


def most(instants: list[int], per: int) -> int:
    return max(sum(at <= other < at + per for other in instants) for at in instants)


@pytest.mark.parametrize(("limit", "per", "long"), [(2, 1_000, 20), (100, 3_600_000, 330)])
def test_the_rates_of_the_report(client: JobClient, limit: int, per: int, long: int) -> None:
    """Claimed by a worker that asks at each `nextAt`."""
    fill(client, long)
    client.queue("set", "default", rate={"limit": limit, "per": per}, now=0)
    instants: list[int] = []
    at: int | None = 0
    while at is not None:
        data = client.claim(long, ["default"], now=at, lease=10**12).must().data
        instants += [at] * len(data["jobs"])
        at = data.get("nextAt")
    assert (len(instants), most(instants, per)) == (long, limit)
    assert instants[-1] <= -(-long // limit) * (per + per // 60 + 1), "close to its rate"


@pytest.mark.parametrize("seed", range(4))
def test_claims_at_random_instants(client: JobClient, seed: int) -> None:
    chance = random.Random(seed)
    limit, per = chance.choice([(3, 50), (70, 900), (61, 7), (8, 1)])
    fill(client, 400)
    client.queue("set", "default", rate={"limit": limit, "per": per}, now=0)
    now, instants = 0, []
    while len(instants) < 400:
        jobs = client.claim(chance.randint(1, 2 * limit), ["default"], now=now, lease=10**12).must()["jobs"]
        instants += [now] * len(jobs)
        now += chance.choice([0, 1, per // 7, per // 2, per - 1, per])
    assert most(instants, per) <= limit


def test_it_survives_a_restart_a_snapshot_and_a_fork(tmp_path: Any) -> None:
    path = tmp_path / "a.db"
    with rc.Store(path, clock=rc.ManualClock(start=0)) as store:
        store.queues.set("default", rate={"limit": 2, "per": 1_000})
        store.jobs.enqueue_many("t", range(6))
        store.clock.advance_to(900)
        assert len(store.jobs.claim("default", 2, worker="w", lease=10**9)) == 2
        taken = store.snapshot()
        assert store.fork().jobs.claim("default", worker="w", lease=1).next_at == 1_900
    for again in (rc.Store(path, clock=rc.ManualClock(start=1_000)), rc.Store(clock=rc.ManualClock(start=1_000))):
        with again:
            if again.path is None:
                again.restore(taken)
            got = again.jobs.claim("default", 2, worker="w", lease=1)
            assert (len(got), got.next_at) == (0, 1_900)
            assert again.check() == []


def test_two_queues_say_the_earlier_instant(client: JobClient) -> None:
    for queue, per in (("a", 1_000), ("b", 300)):
        fill(client, 3, queue)
        client.queue("set", queue, rate={"limit": 1, "per": per}, now=0)
    data = client.claim(6, ["a", "b"], now=0, lease=10**9).must().data
    assert (len(data["jobs"]), data["nextAt"]) == (2, 300)


def test_a_worker_and_why_wait_for_the_window() -> None:
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    worker = Worker(store)
    at: list[int] = []
    task = worker.task("t")(lambda: at.append(store.now))
    store.queues.set("default", rate={"limit": 2, "per": 1_000})
    for n in range(7):
        task.enqueue(id=f"j{n}")
    worker.run_until_idle(until=500)
    seen = rc.why(store, "j6")
    assert seen.next is not None and seen.next.at == 1_000
    assert "reached its rate" in seen.sentence
    worker.run_until_idle(advance=True)
    assert at == [0, 0, 1_000, 1_000, 2_000, 2_000, 3_000]
