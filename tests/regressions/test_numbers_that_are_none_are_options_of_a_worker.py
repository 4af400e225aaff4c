"""A worker took `concurrency=2.5` and `True`, and a heartbeat longer than its lease, by which each longer job was lost.

Tasks and periodic jobs took numbers that the store refuses at each of their jobs. All of them are refused where they are given.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import Retry, Snooze, Worker

NAN, HUGE = float("nan"), 10**30
NO_NUMBERS = [True, False, 2.5, NAN, float("inf"), "3", -1, HUGE]
REFUSED = (rc.errors.Invalid, TypeError)


def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock())


@pytest.mark.parametrize("option", ["lease", "run_lease", "poll_interval", "heartbeat", "grace"])
@pytest.mark.parametrize("given", NO_NUMBERS)
def test_durations_of_a_worker(option: str, given: Any) -> None:
    with pytest.raises(REFUSED, match=option):
        Worker(store(), **{option: given})


@pytest.mark.parametrize("option", ["concurrency", "batch"])
@pytest.mark.parametrize("given", [each for each in NO_NUMBERS if each is not HUGE])
def test_counts_of_a_worker(option: str, given: Any) -> None:
    with pytest.raises(REFUSED, match=f"{option} must be"):
        Worker(store(), **{option: given})
    with pytest.raises(rc.errors.Invalid, match="concurrency must be at least 1, got 0"):
        Worker(store(), concurrency=0)


@pytest.mark.parametrize("given", [*NO_NUMBERS, 0])
def test_weights_of_queues(given: Any) -> None:
    with pytest.raises(REFUSED):
        Worker(store(), queues={"mail": given})


@pytest.mark.parametrize("options", [{"name": 5}, {"queues": [5]}, {"queues": ""}])
def test_other_options_of_a_claim(options: Any) -> None:
    with pytest.raises(REFUSED):
        Worker(store(), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"lease": 1000, "heartbeat": 60_000},
        {"lease": 1000, "heartbeat": 1000},
        {"lease": 60_000, "run_lease": 1000, "heartbeat": 2000},
        {"lease": 1000, "run_lease": 60_000, "heartbeat": 2000},
        {"lease": timedelta(seconds=1), "heartbeat": timedelta(seconds=1)},
    ],
)
def test_a_heartbeat_that_does_not_renew_the_lease(options: Any) -> None:
    with pytest.raises(rc.errors.Invalid, match="heartbeat must be shorter than lease and run_lease, got "):
        Worker(store(), **options)


def test_a_heartbeat_that_renews_the_lease() -> None:
    assert Worker(store(), lease=1000, heartbeat=999).settings.heartbeat == 0.999
    assert Worker(store(), lease=1).settings.heartbeat == pytest.approx(1 / 3000)


@pytest.mark.parametrize("option", ["priority", "timeout", "max_retries", "retention", "unique_for", "good_for"])
@pytest.mark.parametrize("given", [each for each in NO_NUMBERS if each != -1])
def test_options_of_tasks_and_periodic_jobs(option: str, given: Any) -> None:
    worker = Worker(store())
    for register in (worker.task, worker.batch_task):
        with pytest.raises(REFUSED, match=option):
            register("x", **{option: given})(print)
    with pytest.raises(REFUSED):
        worker.periodic("@daily", "x", unique_key="x", **{option: given})
    with pytest.raises(REFUSED):
        worker.cron("@daily", name="y", **{option: given})(print)
    assert worker.periodics == [] and "x" not in worker.tasks


@pytest.mark.parametrize("intervals", [[True], [2.5], [NAN], [-1], [HUGE]])
def test_retry_policies(intervals: Any) -> None:
    with pytest.raises(REFUSED):
        Worker(store()).task("x", retry_policy={"kind": "fixed", "intervals": intervals})(print)


@pytest.mark.parametrize("given", NO_NUMBERS)
def test_limits_of_a_drain_and_of_a_stop(given: Any) -> None:
    worker = Worker(store())
    if given is not HUGE:
        with pytest.raises(REFUSED, match="limit"):
            worker.run_until_idle(limit=given)
    for call in (worker.stop, Snooze, Retry):
        if given is not HUGE:
            with pytest.raises(REFUSED):
                call(given)
    with pytest.raises((*REFUSED, OverflowError)):
        worker.run_until_idle(until=given)


@pytest.mark.parametrize("given", [True, 2.5, NAN, -1, HUGE])
def test_options_of_queues(given: Any) -> None:
    queues = store().queues
    for options in (
        {"concurrency": given},
        *({"rate": {"limit": 1, "per": 1000, member: given}} for member in ("limit", "per", "burst")),
        *({"groups": {"size": 2, "grace": 10, member: given}} for member in ("size", "grace", "maxDelay")),
        *({"defaults": {member: given}} for member in ("maxRetries", "timeout", "retention")),
    ):
        with pytest.raises(REFUSED):
            queues.set("q", **options)  # type: ignore[arg-type]


def test_good_options_are_taken() -> None:
    worker = Worker(store(), concurrency=1, batch=3, queues={"mail": 3, "default": 1}, lifecycle="horsies")
    options: Any = {"priority": 5, "timeout": timedelta(minutes=1), "max_retries": 0, "retention": "kept", "unique_for": 60_000}
    worker.task("x", headers={"a": "b"}, tags={"c": "d"}, good_for=1000, group="g", **options)(print)
    worker.periodic("@daily", "x", unique_key="x")
    assert [each.name for each in worker.periodics] == ["x"]
