"""Dictionaries in typed calls on jobs, queues and schedules: as on the wire; an unknown member is refused."""

from __future__ import annotations

import pytest

import resonate_core as rc


@pytest.fixture
def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock())


def schedule(store: rc.Store, job):
    return store.schedules.create("nightly", "0 2 * * *", promise_timeout=1000, job=job)


CALLS = {
    "groups": (lambda store, given: store.queues.set("q", groups=given), {"size": 5, "grace": 0, "maxDelay": 9}, "max_delay"),
    "rate": (lambda store, given: store.queues.set("q", rate=given), {"limit": 1, "per": 1000, "burst": 2}, "second"),
    "defaults": (lambda store, given: store.queues.set("q", defaults=given), {"maxRetries": 3, "priority": 7}, "max_retries"),
    "retry_policy": (
        lambda store, given: store.jobs.enqueue("t", retry_policy=given),
        {"kind": "fixed", "intervals": [5]},
        "interval",
    ),
    "job": (schedule, {"type": "t", "uniqueKey": "nightly"}, "unique_key"),
}


@pytest.mark.parametrize("argument", CALLS)
def test_a_member_that_is_misspelt_is_named_and_changes_nothing(store: rc.Store, argument: str):
    call, given, wrong = CALLS[argument]
    before = store.snapshot()
    with pytest.raises(rc.errors.Invalid, match=f"^{argument} has no member '{wrong}'; there are .*{next(iter(given))}"):
        call(store, {**given, wrong: 1})
    assert store.snapshot() == before
    call(store, given)


@pytest.mark.parametrize("argument", CALLS)
@pytest.mark.parametrize("given", ["mail", 5, [1]], ids=repr)
def test_what_is_no_mapping_is_named(store: rc.Store, argument: str, given):
    with pytest.raises(TypeError, match=f"{argument} must be a mapping, got {type(given).__name__}"):
        CALLS[argument][0](store, given)


def test_a_policy_inside_is_looked_at_too(store: rc.Store):
    policy = {"kind": "exponential", "base": 5, "max": 9}
    with pytest.raises(rc.errors.Invalid, match=r"defaults\.retryPolicy has no member 'max'"):
        store.queues.set("q", defaults={"retryPolicy": policy})
    with pytest.raises(rc.errors.Invalid, match=r"job\.retryPolicy has no member 'max'"):
        schedule(store, {"type": "t", "retryPolicy": policy})


def test_what_is_the_schedules_own_is_refused_by_its_rule(store: rc.Store):
    with pytest.raises(rc.errors.Invalid, match="takes no processAt: give processIn"):
        schedule(store, {"type": "t", "processAt": 5})
