"""`Store.views`: the next timers, the leases of each process, late schedules."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import resonate_core as rc

MakeStore = Callable[..., rc.Store]


def test_the_next_timers_in_order(make_store: MakeStore) -> None:
    store = make_store(clock=rc.ManualClock())
    store.jobs.enqueue("t", id="later", process_in=500)
    store.promises.create("timer", timeout=300, tags={"resonate:timer": "true"})
    store.schedules.create("s", cron="* * * * *", promise_id="x", promise_timeout=1000)
    store.jobs.enqueue("t", id="held")
    store.jobs.claim("default", worker="w", lease=400)
    assert [(one["at"], one["kind"], one["id"]) for one in store.views.due()] == [
        (300, "timeout", "timer"),
        (400, "lease", "held"),
        (500, "dispatch", "later"),
        (60_000, "schedule", "s"),
    ]
    assert [one["id"] for one in store.views.due(2)] == ["timer", "held"]


def test_leases_of_tasks_and_jobs_by_process(make_store: MakeStore) -> None:
    clock = rc.ManualClock()
    store = make_store(clock=clock)
    for pid in ("p2", "p1", "p3"):
        for number in range(2):
            store.tasks.create(f"task.{pid}.{number}", timeout=10_000, pid=pid, ttl=500, target="poll://any@g")
    for number in range(3):
        store.jobs.enqueue("t", id=f"job{number}", queue="q")
    store.jobs.claim("q", worker="p1", lease=700)
    clock.advance(100)
    store.jobs.claim("q", worker="w", lease=800, start=1)
    leases = store.views.leases()
    assert leases["complete"] is True
    assert [(one["pid"], one["kind"], one["id"]) for one in leases["items"]] == [
        ("p1", "job", "job0"),
        ("p1", "task", "task.p1.0"),
        ("p1", "task", "task.p1.1"),
        ("p2", "task", "task.p2.0"),
        ("p2", "task", "task.p2.1"),
        ("p3", "task", "task.p3.0"),
        ("p3", "task", "task.p3.1"),
        ("w", "job", "job1"),
    ]
    started = leases["items"][-1]
    assert started == {
        "pid": "w", "kind": "job", "id": "job1", "version": 1, "expiresAt": 900, "ttl": 800, "heartbeatAt": 100,
        "queue": "q", "type": "t", "state": "running", "startedAt": 100,
    }  # fmt: skip
    clock.advance(50)
    store.jobs.heartbeat("w", [("job1", 1)])
    assert store.views.leases()["items"][-1]["heartbeatAt"] == 150
    few = store.views.leases(3)
    assert ([one["id"] for one in few["items"]], few["complete"]) == (["job0", "task.p1.0", "task.p1.1"], False)


def test_schedules_that_are_late(make_store: MakeStore) -> None:
    clock = rc.ManualClock()
    store = make_store(clock=clock)
    store.schedules.create("minutely", cron="* * * * *", promise_id="x.{{.timestamp}}", promise_timeout=1000)
    store.schedules.create("hourly", cron="0 * * * *", promise_id="y.{{.timestamp}}", promise_timeout=1000)
    assert store.views.late_schedules() == []
    later = store.fork(clock=rc.ManualClock(61_000))  # no step has run yet, as in a store without ticks
    assert later.views.late_schedules() == [{"id": "minutely", "cron": "* * * * *", "dueAt": 60_000}]
    later.tick()
    assert later.views.late_schedules() == []


@pytest.mark.parametrize("view", ["due", "leases", "late_schedules"])
def test_a_limit_is_a_size(make_store: MakeStore, view: str) -> None:
    store = make_store(clock=rc.ManualClock())
    with pytest.raises(rc.errors.Invalid, match=r"limit must be 1\.\.\d+, got 0"):
        getattr(store.views, view)(0)
