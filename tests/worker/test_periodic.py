"""Periodic jobs: each occurrence once, in the time zone of the schedule."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Worker

HOUR = 3_600_000


def ms(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=timezone.utc).timestamp() * 1000)


def test_it_runs_at_every_occurrence(worker: Worker, store: rc.Store):
    worker.periodic("0 */6 * * *", worker.task("t")(lambda: 1))
    drained = worker.run_until_idle(until=24 * HOUR)
    assert [(run.id, run.at) for run in drained] == [(f"t@{n * HOUR}", n * HOUR) for n in (6, 12, 18, 24)]
    waiting = store.jobs.get(f"t@{30 * HOUR}")
    assert (waiting.state, waiting.process_at) == ("scheduled", 30 * HOUR)


def test_several_workers_make_each_occurrence_once(store: rc.Store, clock: rc.ManualClock):
    ran: list[tuple[str, str]] = []
    workers = [Worker(store, name=f"w{n}") for n in range(3)]
    for worker in workers:

        @worker.cron("@hourly", name="hourly")
        def body(job: JobContext):
            ran.append((job.id, job.worker))

    for _ in range(48):
        for worker in workers:
            worker.run_until_idle()
        clock.advance(HOUR // 2)
    for worker in workers:
        worker.run_until_idle()
    ids = [id for id, _ in ran]
    assert ids == [f"hourly@{n * HOUR}" for n in range(1, 25)]


def test_a_night_that_is_twice_as_long(store: rc.Store, clock: rc.ManualClock):
    """Berlin, 25 October 2026: 02:30 exists twice, and 03:00 is an hour later in UTC than the day before."""
    clock.advance_to(ms(2026, 10, 24))
    worker = Worker(store)
    worker.periodic("0 3 * * *", worker.task("t")(lambda: 1), tz="Europe/Berlin")
    drained = worker.run_until_idle(until=ms(2026, 10, 26, 12))
    assert [run.at for run in drained] == [ms(2026, 10, 24, 1), ms(2026, 10, 25, 2), ms(2026, 10, 26, 2)]


def test_what_was_missed_is_not_made_up_but_the_one_that_waited(worker: Worker, clock: rc.ManualClock):
    worker.periodic("@hourly", worker.task("t")(lambda: 1))
    worker.run_until_idle()
    clock.advance(5 * HOUR + 60_000)
    assert [run.id for run in worker.run_until_idle()] == [f"t@{HOUR}"]
    clock.advance(HOUR)
    assert [run.id for run in worker.run_until_idle()] == [f"t@{6 * HOUR}"]


def test_one_that_is_too_late_may_be_dropped(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    worker.periodic("@hourly", worker.task("t")(lambda: 1), good_for=timedelta(minutes=10))
    worker.run_until_idle()
    clock.advance(HOUR + 600_000)
    assert len(worker.run_until_idle()) == 0
    late = store.jobs.get(f"t@{HOUR}")
    assert (late.state, late.good_until) == (
        "expired",
        HOUR + 600_000,
    )  # counted from the occurrence, not from when it was enqueued


def test_payload_and_options(worker: Worker, store: rc.Store):
    task = worker.task("t", queue="default", tags={"kind": "report"}, priority=7)(lambda region: region)
    worker.periodic("@daily", task, {"region": "north"}, name="north", tags={"region": "north"})
    worker.periodic("@daily", "t", {"region": "south"}, name="south", priority=9)
    worker.run_until_idle()
    north, south = store.jobs.get(f"north@{24 * HOUR}"), store.jobs.get(f"south@{24 * HOUR}")
    assert north.tags == {"region": "north", "periodic:name": "north", "periodic:cron": "@daily"}
    assert (north.priority, south.priority, south.tags["kind"]) == (7, 9, "report")
    assert south.payload.json() == {"region": "south"}
    assert north.retention == 86_400_000


def test_cron_above_a_task(worker: Worker):
    @worker.cron("@hourly", tz="Asia/Kolkata", payload=3)
    @worker.task("t")
    def body(n):
        return n

    assert [(run.type, run.result, run.at) for run in worker.run_until_idle(until=HOUR)] == [("t", 3, HOUR // 2)]


def test_an_occurrence_that_was_done_is_not_done_again_by_a_late_clock(store: rc.Store, clock: rc.ManualClock):
    """The row of the occurrence is kept for a while, whatever the lifecycle says."""
    worker = Worker(store, lifecycle="asynq")
    worker.periodic("@hourly", worker.task("t")(lambda: 1))
    worker.run_until_idle(until=HOUR)
    again = store.jobs.enqueue("t", id=f"t@{HOUR}", process_at=HOUR)
    assert again.state == "completed"


def test_a_changed_expression_takes_the_place_of_the_old(store: rc.Store, caplog: pytest.LogCaptureFixture):
    old, new = Worker(store), Worker(store)
    old.periodic("0 3 * * *", old.task("t")(lambda: 1))
    new.periodic("0 5 * * *", new.task("t")(lambda: 1))
    other = new.task("other")(lambda: 1).enqueue(process_in=HOUR)
    old.run_until_idle()
    assert store.jobs.get(f"t@{3 * HOUR}").state == "scheduled"
    with caplog.at_level("INFO"):
        new.run_until_idle()
    with pytest.raises(rc.errors.NotFound):
        store.jobs.get(f"t@{3 * HOUR}")
    assert store.jobs.get(f"t@{5 * HOUR}").state == "scheduled"
    assert store.jobs.get(other.id).state == "scheduled"
    assert "dropped t@" in caplog.text


def test_a_changed_payload_takes_the_place_of_the_old(store: rc.Store):
    old, new = Worker(store), Worker(store)
    old.periodic("@hourly", old.task("t")(lambda n: n), 1)
    new.periodic("@hourly", new.task("t")(lambda n: n), 2)
    old.run_until_idle()
    assert [run.result for run in new.run_until_idle(until=HOUR)] == [2]


@pytest.mark.parametrize(
    "cron, options, says",
    [
        ("0 3 * *", {}, "cron"),
        ("0 3 * * *", {"tz": "Mars/Olympus"}, "Mars"),
        ("@daily", {"name": ""}, "name of a periodic job must not be empty"),
        ("@daily", {"retention": 0}, "retention"),
        ("@daily", {"retention": 59_999}, "59999"),
    ],
)
def test_what_cannot_be_periodic(worker: Worker, cron, options, says):
    with pytest.raises(rc.errors.Invalid, match=says):
        worker.periodic(cron, "t", **options)


def test_two_of_one_type_need_two_names(worker: Worker):
    worker.periodic("@daily", "t")
    with pytest.raises(rc.errors.Invalid, match="name= of its own"):
        worker.periodic("@hourly", "t")
    assert repr(worker.periodic("@hourly", "t", name="often")) == "<Periodic 'often' '@hourly'>"
