"""Jobs whose type no worker has a handler for were shown in no figure: not on the overview, in no metric, nor by `why` of their queue.

The list of what is stuck missed them behind 200 newer scheduled jobs, and named a job that its handler put back after a deploy. The store
does not know types, so they are no problem of `Store.problems`, which `check` and /ready report: each deploy has some for a moment.
"""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from resonate_core.explain.unknown_types import put_back_in
from resonate_core.server.metrics import Metrics
from resonate_core.worker import Retry, Snooze, Worker
from ui.ui_client import client_of

MINUTE = 60_000
LINE = "worker 'old' has no handler for type 'new'"


@pytest.fixture
def store(make_store: Any) -> Any:
    return make_store(clock=rc.ManualClock(start=0))


def run(worker: Worker, until: int) -> None:
    worker.run_until_idle(until=until)


def metric(store: rc.Store) -> float | None:
    pytest.importorskip("prometheus_client")
    metrics, watch = Metrics(), store.watch(-1)
    metrics.read(store, watch)
    watch.close()
    return metrics.registry.get_sample_value("resonate_jobs_of_unknown_types")


def problems(store: rc.Store, **principal: Any) -> dict[str, int]:
    return {one["name"]: one["count"] for one in client_of(store, **principal).see("overview")["health"]["problems"]}


def stuck(store: rc.Store) -> list[str]:
    return [one["id"] for one in client_of(store).see("stuck")["items"]]


def lines_of(store: rc.Store, id: str) -> list[str]:
    report = store.jobs.get(id).report
    return [] if report is None else [line["text"] for line in report["lines"]]


def test_it_is_shown(store: Any) -> None:
    old = Worker(store, name="old", queues=["default", "other"])
    store.jobs.enqueue("new", id="mine.a")
    store.jobs.enqueue("newer", id="b", queue="other")
    store.jobs.enqueue_many("later", [None] * 250, queue="third", process_in=600 * MINUTE)
    assert (metric(store), problems(store)) == (0, {})
    run(old, 5 * MINUTE)
    assert {(one.id, one.type, one.queue, one.worker, one.since) for one in put_back_in(store)} == {
        ("mine.a", "new", "default", "old", 0),
        ("b", "newer", "other", "old", 0),
    }
    assert (metric(store), problems(store)) == (2, {"unknown_type": 2})
    assert problems(store, prefix="mine.") == {"unknown_type": 1}
    assert sorted(stuck(store)) == ["b", "mine.a"]
    why = rc.why(store, "default")
    assert "jobs of type 'new' are put back, because workers that claimed them have no handler" in why.sentence
    assert why.advice[0] == ("start a worker that has a handler for type 'new'", None)
    assert (store.problems(), store.check()) == ([], []), "the store knows no types"


def test_it_is_over_once_a_worker_has_the_type(store: Any) -> None:
    store.jobs.enqueue("new", id="a")
    run(Worker(store, name="old"), 5 * MINUTE)
    renewed = Worker(store, name="new")
    renewed.task("new")(lambda: None)
    run(renewed, 20 * MINUTE)
    assert (metric(store), problems(store), put_back_in(store)) == (0, {}, [])


def test_a_handler_that_snoozes_after_a_deploy_is_not_shown(store: Any) -> None:
    store.jobs.enqueue("new", id="a")
    run(Worker(store, name="old"), MINUTE)
    assert metric(store) == 1
    renewed = Worker(store, name="old")  # the same name

    @renewed.task("new")
    def patient() -> None:
        raise Snooze(5 * MINUTE - 1)

    run(renewed, 5 * MINUTE)
    assert (metric(store), stuck(store)) == (0, [])


def test_the_reason_is_reported_once_for_each_time(store: Any) -> None:
    """The line of a time before stood for the next one, which `why` then did not explain."""
    store.jobs.enqueue("new", id="a")
    run(Worker(store, name="old"), MINUTE)
    renewed = Worker(store, name="new")

    @renewed.task("new")
    def fails() -> None:
        raise Retry(1000)

    renewed.run_until_idle(limit=1, advance=True)
    assert (lines_of(store, "a"), metric(store)) == ([LINE], 0)
    run(Worker(store, name="old"), store.now + 5 * MINUTE)
    assert (lines_of(store, "a"), metric(store)) == ([LINE, LINE], 1)
    assert LINE in rc.why(store, "a").sentence


def test_after_more_attempts_than_a_job_keeps(store: Any) -> None:
    store.jobs.enqueue("new", id="a")
    run(Worker(store, name="old"), 120 * 5 * MINUTE)
    job = store.jobs.get("a")
    assert job.attempts[0]["number"] > 1 and lines_of(store, "a") == [LINE]
    assert (metric(store), stuck(store)) == (1, ["a"])


def test_two_workers_without_it(store: Any) -> None:
    store.jobs.enqueue("new", id="a")
    for round in range(3):
        for name in ("old", "older"):
            run(Worker(store, name=name), store.now + (round + 1) * MINUTE)
    assert len(lines_of(store, "a")) == 2 and metric(store) == 1
