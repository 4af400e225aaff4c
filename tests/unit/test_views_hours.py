"""The events of jobs by hour, which a store keeps, and by queue since a watch began, agree with what happened to the jobs."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from older_files import give_older_schema

MakeStore = Callable[..., rc.Store]
HOUR = 3_600_000
NAMES = ("enqueued", "started", "completed", "failed", "retried", "archived", "crashed", "expired", "cancelled")


def events_of(job: rc.Job, created_at: int) -> Counter[tuple[int, str]]:
    """The events of a job, by hour and name, from its attempts and its state."""
    events: Counter[tuple[int, str]] = Counter()

    def count(at: int, name: str, by: int = 1) -> None:
        events[at // HOUR, name] += by

    count(created_at, "enqueued")
    for attempt in job.attempts:
        count(attempt["startedAt"], "started")
        outcome = attempt.get("outcome")
        if outcome in ("failed", "timed_out"):
            count(attempt["finishedAt"], "failed")
        if outcome == "crashed":
            count(attempt["finishedAt"], "crashed")
        if outcome in ("failed", "timed_out", "crashed", "completed"):
            count(attempt["finishedAt"], "runTime", attempt["finishedAt"] - attempt["startedAt"])
    ends = {"completed": job.completed_at, "cancelled": job.cancelled_at, "expired": job.expired_at}
    if (end := ends.get(job.state)) is not None:
        count(end, job.state)
    return events


@pytest.mark.parametrize("seed", range(3))
def test_hours_and_counts_of_random_jobs(make_store: MakeStore, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    clock = rc.ManualClock(7 * HOUR)
    store = make_store(clock=clock)
    watch = store.watch(-1)
    latency: Counter[tuple[str, int]] = Counter()
    for number in range(250):
        queue = chance.choice(["a", "b"])
        what = chance.choice(["enqueue", "enqueue", "start", "start", "end", "end", "pass", "cancel"])
        if what == "enqueue":
            store.jobs.enqueue(
                "t", id=f"j{number}", queue=queue, max_retries=chance.choice([0, 2]), good_for=chance.choice([None, 900_000])
            )
        elif what == "start":
            for job in store.jobs.claim(queue, worker="w", lease=chance.choice([60_000, 2 * HOUR]), start=1):
                latency[queue, store.now // HOUR] += store.now - job.enqueued_at
        elif what == "pass":
            clock.advance(chance.choice([1000, 400_000]))
            store.tick()
        else:
            held = list(store.views.jobs(states=["running"]))
            if not held:
                continue
            job = chance.choice(held)
            if what == "cancel":
                store.jobs.cancel(job.id)
            elif chance.random() < 0.5:
                store.jobs.complete(job.id, job.version)
            else:
                store.jobs.fail(job.id, job.version, "E")
    jobs = list(store.jobs.search(limit=1000))
    expected: dict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
    for job in jobs:
        expected[job.queue] += events_of(job, store.promises.get(job.id).created_at)
    for (queue, hour), sum_of_latency in latency.items():
        expected[queue][hour, "latency"] += sum_of_latency
    shown: dict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
    for one in store.views.hours():
        assert [hour["at"] for hour in one["hours"]] == sorted(hour["at"] for hour in one["hours"])
        for hour in one["hours"]:
            for name in set(hour) - {"at", "retried", "archived"}:
                if hour[name]:
                    shown[one["queue"]][hour["at"] // HOUR, name] += hour[name]
    assert {queue: dict(+counts) for queue, counts in shown.items()} == {queue: dict(+counts) for queue, counts in expected.items()}
    totals = {
        one["queue"]: {name: sum(hour[name] for hour in one["hours"]) for name in (*NAMES, "latency", "runTime")}
        for one in store.views.hours()
    }
    assert totals["a"]["retried"] and totals["b"]["archived"], "this seed shows nothing"
    for one in watch.queue_counts():
        assert {name: one[name] for name in NAMES} == {name: totals[one["queue"]][name] for name in NAMES}
        for name, ends in (("latency", one["started"]), ("runTime", None)):
            assert one[name]["sum"] == totals[one["queue"]][name]
            assert len(one[name]["counts"]) == len(rc.Watch.buckets) + 1
            assert ends is None or sum(one[name]["counts"]) == ends


def test_an_hour_that_has_ended_stays_and_old_ones_go(make_store: MakeStore) -> None:
    clock = rc.ManualClock()
    store = make_store(clock=clock)
    for hour in range(200):
        clock.advance_to(hour * HOUR)
        store.jobs.enqueue("t", id=f"j{hour}", queue="q")
    (one,) = store.views.hours()
    assert [hour["at"] // HOUR for hour in one["hours"]] == list(range(200 - 168, 200))
    assert {hour["enqueued"] for hour in one["hours"]} == {1}
    (late,) = store.views.hours("q", since=197 * HOUR + 5)
    assert [hour["at"] // HOUR for hour in late["hours"]] == [197, 198, 199]
    assert store.views.hours("none") == []


def test_a_copy_a_snapshot_and_a_fork_have_the_hours(make_store: MakeStore) -> None:
    clock = rc.ManualClock()
    store = make_store(clock=clock)
    for hour in (0, 1, 3):
        clock.advance_to(hour * HOUR)
        store.jobs.enqueue("t", id=f"j{hour}")
    hours = store.views.hours()
    assert len(hours[0]["hours"]) == 3
    assert store.fork().views.hours() == hours
    other = make_store(clock=rc.ManualClock())
    other.restore(store.snapshot())
    assert other.views.hours() == hours
    assert other.digest() == store.digest()


def test_events_that_were_not_committed_do_not_count(make_store: MakeStore) -> None:
    store = make_store(clock=rc.ManualClock())
    watch = store.watch(-1)
    head = {"corrId": "c", "version": "2026-04-01"}
    store.apply(
        [
            {"kind": "job.enqueue", "head": head, "data": {"id": "j", "queue": "q", "type": "t", "payload": {}}},
            {"kind": "job.get", "head": head, "data": {"id": "none"}},
        ],
        atomic=True,
    )
    assert watch.queue_counts() == []
    assert store.views.hours() == []


def test_queues_beyond_the_limit_are_summed() -> None:
    store = rc.Store(clock=rc.ManualClock())
    watch = store.watch(-1)
    for number in range(1200):
        store.jobs.enqueue("t", queue=f"q{number:04}")
    counted = watch.queue_counts(3)
    assert [(one["queue"], one["enqueued"]) for one in counted] == [("q0000", 1), ("q0001", 1), ("q0002", 1), (None, 1197)]
    assert len(watch.queue_counts(5000)) == 1001
    with pytest.raises(rc.errors.Invalid, match="limit must be at least 0, got -1"):
        watch.queue_counts(-1)


def test_a_commit_of_nothing_new_writes_no_hour(tmp_path: Any) -> None:
    clock = rc.ManualClock()
    path = tmp_path / "s.db"
    with rc.Store(path, clock=clock) as store:
        store.jobs.enqueue("t", id="j")
        store.vacuum()
        wal = tmp_path / "s.db-wal"
        before = wal.stat().st_size
        for hour in range(1, 50):
            clock.advance_to(hour * HOUR)
            store.tick()
        assert wal.stat().st_size == before


def test_a_file_of_the_release_before_gets_hours_from_now_on(tmp_path: Any) -> None:
    path = tmp_path / "s.db"
    with rc.Store(path, clock=rc.ManualClock()) as store:
        store.jobs.enqueue("t", id="old")
        store.promises.create("root", timeout=1000)
    give_older_schema(path, 7)
    with rc.Store(path, clock=rc.ManualClock(5)) as store:
        assert store.views.hours() == [{"queue": "default", "hours": []}]
        assert [job.id for job in store.views.jobs()] == ["old"]
        assert [promise.id for promise in store.views.promises()] == ["root"]
        store.jobs.enqueue("t", id="new")
        assert store.views.hours()[0]["hours"][0]["enqueued"] == 1
    assert rc.check_file(path) == []


def test_an_hour_that_ends_when_it_is_too_old_is_not_kept(make_store: MakeStore) -> None:
    store = make_store(clock=rc.ManualClock())
    store.jobs.enqueue("t", id="a")
    store.clock.advance_to(169 * HOUR)  # type: ignore[attr-defined]
    store.jobs.enqueue("t", id="b")
    [queue] = store.views.hours()
    assert [hour["at"] for hour in queue["hours"]] == [169 * HOUR]
