"""One tenant put a job into each of 100,000 queues. Each scrape of /metrics read all of them under the lock of the store, with a round trip
to PostgreSQL for each, and made Python objects of all: the creates of others waited for 40 s.

Requests that list all queues are searches now: they read a snapshot, beside the writer. A scrape shows and looks up a bounded number.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

import resonate_core as rc
from resonate_core._core import database_counts
from resonate_core.server.metrics import Metrics

HEAD = {"corrId": "0", "version": "2026-04-01"}
#: More than a search reads under the lock.
MANY = 700


def _enqueue(store: rc.Store, jobs: dict[str, int]) -> None:
    names = [name for name, count in jobs.items() for _ in range(count)]
    orders = [{"type": "t", "queue": name} for name in names]
    [answer] = store.apply([{"kind": "job.enqueue_many", "head": HEAD, "data": {"jobs": orders}}])
    assert answer["head"]["status"] == 200


@pytest.fixture
def full(make_store: Any) -> rc.Store:
    store: rc.Store = make_store(clock=rc.ManualClock(1000))
    _enqueue(store, {f"q{number:04}": 1 for number in range(MANY)})
    return store


class _WithoutLists:
    """A store whose queues cannot be listed."""

    def __init__(self, store: rc.Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        assert name != "queues", "a scrape must not make an object of each queue"
        return getattr(self._store, name)


def _scrape(store: rc.Store, queues: int = 5) -> str:
    metrics = Metrics(queues=queues)
    metrics.read(_WithoutLists(store), store.watch(-1))  # type: ignore[arg-type]
    return metrics.exposition()[0].decode()


def test_a_scrape_lists_no_queue(full: rc.Store) -> None:
    text = _scrape(full)
    assert f'resonate_jobs{{state="pending"}} {float(MANY)}' in text
    assert f'resonate_queue_jobs{{queue="",state="pending"}} {float(MANY - 5)}' in text
    assert 'resonate_queue_jobs{queue="q0004",state="pending"} 1.0' in text
    assert "q0005" not in text


def test_a_scrape_asks_a_database_a_bounded_number_of_times(postgres_url: str) -> None:
    with rc.Store(postgres_url) as store:
        for part in range(4):
            _enqueue(store, {f"q{part}-{number}": 1 for number in range(1000)})
        before = database_counts()["round_trips"]
        _scrape(store)
        assert database_counts()["round_trips"] - before < 2 * 1000 + 100


@pytest.mark.parametrize(
    ("kind", "data", "lists_all"),
    [("job.stats", {}, True), ("queue.list", {}, True), ("job.stats", {"queue": "a"}, False), ("queue.get", {"queue": "a"}, False)],
)
def test_a_server_runs_lists_of_queues_beside_other_requests(kind: str, data: dict[str, Any], lists_all: bool) -> None:
    text = json.dumps({"kind": kind, "head": HEAD, "data": data}).encode()
    assert rc.Envelope(text, rc.RequestLimits()).search is lists_all


def test_lists_of_many_queues_are_whole(full: rc.Store) -> None:
    full.clock.advance(500)  # type: ignore[union-attr]
    stats = full.queues.stats()
    assert [one["name"] for one in stats] == [one["name"] for one in full.queues.list()] == [f"q{i:04}" for i in range(MANY)]
    assert {one["latency"] for one in stats} == {500}
    assert full.queues.stats("q0699") == [stats[699]]
    with pytest.raises(rc.NotFound):
        full.queues.stats("q0700")
    assert [job.queue for job in full.jobs.search(state="pending", limit=1000)] != []
    assert list(full.jobs.search(state="archived")) == []
    assert len(full.jobs.search(queue="q0699")) == 1


def test_the_sums_are_those_of_the_queues(make_store: Any) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    store = make_store(clock=rc.ManualClock(1000))
    jobs = {f"q{number}": draw.randrange(4) for number in range(30)}
    _enqueue(store, jobs)
    for name in draw.sample(sorted(name for name, count in jobs.items() if count), 5):
        store.jobs.claim(name, worker="w", lease=10_000)
        store.queues.pause(name)
    store.clock.advance(250)
    stats = {one["name"]: one for one in store.queues.stats()}
    kept = draw.sample(sorted(stats), 3)
    totals = store.views.queue_totals(7, keep=[*kept, "no such queue"], aged=100)
    shown = {one["name"]: one for one in totals["queues"]}
    assert set(kept) <= set(shown)
    assert len(shown) == min(7, len(stats))
    rest = [one for name, one in stats.items() if name not in shown]
    assert all(one["counts"] == stats[name]["counts"] and one["latency"] == stats[name]["latency"] for name, one in shown.items())
    least = min(one["counts"]["pending"] for name, one in shown.items() if name not in kept)
    assert all(one["counts"]["pending"] <= least for one in rest)
    sums: Counter[str] = Counter()
    for one in rest:
        sums.update(one["counts"])
    assert totals["others"]["counts"] == dict(sums)
    assert totals["others"]["queues"] == len(rest)
    assert totals["others"]["latency"] == max(one["latency"] for one in rest)
    assert totals["paused"] == 5
    assert store.views.queue_totals(0, aged=0)["others"]["latency"] == 0
