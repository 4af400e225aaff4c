"""Schedules whose promises are jobs: the job that an occurrence enqueues, its instants, and when there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backends import SUBJECT
from conformance.job_groups import GatheringGroup, batch, departed, gathering_groups
from conformance.job_wire import JobDoor, agreed
from conformance.wire import ADDRESS, FAR, V25, V26, executes, rows_of, stored, stored_schedule

MINUTE = 60_000
FIXED = {"kind": "fixed", "intervals": [5]}
X = {"data": "eA=="}
EVERY: dict[str, Any] = {
    "queue": "reports",
    "type": "report:build",
    "priority": 7,
    "processIn": 500,
    "goodFor": 9_000,
    "timeout": 800,
    "retention": 100,
    "maxRetries": 3,
    "retryPolicy": FIXED,
    "onExhausted": "failed",
    "lifecycle": "horsies",
    "uniqueKey": "k",
    "uniqueFor": 70,
    "group": "g",
}


@pytest.fixture(params=[V26, V25])
def door(store: Any, request: pytest.FixtureRequest) -> JobDoor:
    return JobDoor(store, request.param)


def plan(door: JobDoor, id: str = "s", now: int | None = 0, **job: Any) -> dict[str, Any]:
    """Creates a schedule that enqueues this job every minute; returns its record."""
    record: dict[str, Any] = door.schedule(id, job={"queue": "reports", "type": "t", **job}, now=now).must()["schedule"]
    return record


def fired(steps: list[Any]) -> list[tuple[str, int, Any, Any]]:
    """The occurrences among the steps: schedule, instant, id of the promise, whether the promise was created."""
    return [(s.id, s.at, s.detail["promise_id"], s.detail["created"]) for s in steps if s.kind == "schedule"]


# --- the record of a schedule ---------------------------------------------------------------------------------------
def test_the_record_shows_the_job_as_given(door: JobDoor) -> None:
    record = plan(door, **EVERY)
    assert record["job"] == EVERY
    assert door.send("schedule.get", {"id": "s"}).must()["schedule"] == record
    if door.version == V26:
        assert door.send("schedule.search", {}).must()["schedules"] == [record]


@pytest.mark.parametrize("job", [{"type": "t"}, {"type": "t", "retention": None}, {"type": "t", "color": "blue"}])
def test_a_little_job(door: JobDoor, job: dict[str, Any]) -> None:
    """The record always shows the queue, and never a member that the engine does not know."""
    shown = {"queue": "default", **{name: value for name, value in job.items() if name != "color"}}
    assert door.schedule("s", job=job).must()["schedule"]["job"] == shown


def test_a_schedule_without_a_job_has_none(door: JobDoor) -> None:
    assert "job" not in door.schedule("s", now=0).must()["schedule"]
    door.store.clock.advance_to(MINUTE)
    assert door.state("s.60000") == "absent" and door.get("s.60000").status == 200


def test_one_that_exists_stays_as_it_is(door: JobDoor) -> None:
    first = plan(door, "s")
    assert plan(door, "s", type="other") == first == door.schedule("s").must()["schedule"]
    plain = door.schedule("p").must()["schedule"]
    assert plan(door, "p") == plain


# fmt: off
NOT_OF_A_SCHEDULE: list[tuple[str, Any]] = [
    ("id", "a"), ("payload", X), ("tags", {"a": "b"}), ("deadline", FAR), ("processAt", 5), ("goodUntil", 5), ("sentAt", 5),
]
BAD: list[Any] = [
    5, "t", [], {}, {"queue": "q"}, {"type": ""}, {"type": 5}, {"type": "t", "queue": ""}, {"type": "t", "group": ""},
    {"type": "t", "group": 5}, {"type": "t", "goodFor": 0}, {"type": "t", "goodFor": "1"}, {"type": "t", "processIn": -1},
    {"type": "t", "priority": 0}, {"type": "t", "priority": 101}, {"type": "t", "timeout": 0}, {"type": "t", "retention": -1},
    {"type": "t", "maxRetries": -1}, {"type": "t", "retryPolicy": {"kind": "linear"}}, {"type": "t", "onExhausted": "gone"},
    {"type": "t", "lifecycle": "celery"}, {"type": "t", "uniqueKey": ""}, {"type": "t", "uniqueFor": 5},
    {"type": "t", "uniqueKey": "k", "uniqueFor": 0},
]
# fmt: on


@pytest.mark.parametrize(("member", "value"), NOT_OF_A_SCHEDULE)
def test_what_the_schedule_says_itself_is_refused_in_its_job(door: JobDoor, member: str, value: Any) -> None:
    before = rows_of(door.store)
    assert member in door.schedule("s", job={"type": "t", member: value}).must(400).data
    assert rows_of(door.store) == before


@pytest.mark.parametrize("job", BAD, ids=str)
def test_bad_jobs(door: JobDoor, job: Any) -> None:
    before = rows_of(door.store)
    door.schedule("s", job=job).must(400)
    assert rows_of(door.store) == before


def test_a_timer_is_no_job(door: JobDoor) -> None:
    door.schedule("s", tags={"resonate:timer": "true"}, job={"type": "t"}).must(400)


# --- the job of an occurrence ---------------------------------------------------------------------------------------
def test_an_occurrence_is_a_job_of_its_instant(door: JobDoor) -> None:
    """An occurrence that is made late creates the same job as in time."""
    record = door.schedule(
        "s", timeout=10 * MINUTE, tags={"team": "blue"}, promiseParam=X, job={"queue": "reports", "type": "t"}, now=0
    ).must()["schedule"]
    steps = door.store.tick(MINUTE + 777)
    assert [(f.kind, f.id, f.at, f.now) for f in steps] == [("schedule", "s", MINUTE, MINUTE + 777)]
    assert fired(steps) == [("s", MINUTE, "s.60000", True)]
    job = door.job("s.60000")
    assert (job["queue"], job["type"], job["payload"], job["state"]) == ("reports", "t", X, "pending")
    assert (job["sentAt"], job["enqueuedAt"], job["deadline"]) == (MINUTE, MINUTE, 11 * MINUTE)
    row = stored(door.store, "s.60000")
    assert (row["createdAt"], row["timeoutAt"], row["dialect"]) == (MINUTE, 11 * MINUTE, door.version)
    agreed(door, "s.60000")
    schedule = door.send("schedule.get", {"id": "s"}).must()["schedule"]
    assert schedule == {**record, "lastRunAt": MINUTE, "nextRunAt": 2 * MINUTE}
    assert door.claimed(5, queues=["reports"]) == ["s.60000"]
    door.start("s.60000").must()
    assert door.complete("s.60000").must()["job"]["state"] == "completed"
    assert door.store.check() == []


def test_it_has_what_its_promise_would_have(make_store: Callable[..., Any]) -> None:
    """Tags, param, deadline and dialect are those that a schedule without a job gives to its promise."""
    rows = []
    for job in ({}, {"job": {"type": "t"}}):
        for rules in ("compatible", "strict"):
            door = JobDoor(make_store(rules=rules))
            door.schedule("s", timeout=7, tags={"a": "b", "resonate:branch": "x"}, promiseParam=X, now=0, **job).must()
            door.store.tick(MINUTE)
            row = stored(door.store, "s.60000")
            rows.append({name: row[name] for name in ("tags", "param", "createdAt", "timeoutAt", "dialect")})
    assert rows[:2] == rows[2:] and rows[0]["tags"]["a"] == "b"


def test_its_target_is_not_called(door: JobDoor) -> None:
    door.schedule("s", tags={"resonate:target": ADDRESS}, job={"type": "t"}, now=0).must()
    door.store.clock.advance_to(MINUTE)
    assert door.state("s.60000") == "pending" and executes(door.store) == []


def test_every_member_of_the_job(door: JobDoor) -> None:
    """All members except the group, which would delay the job."""
    given = {name: value for name, value in EVERY.items() if name != "group"}
    plan(door, **given)
    door.store.clock.advance_to(MINUTE)
    job = door.job("s.60000")
    same = set(EVERY) - {"processIn", "goodFor", "lifecycle", "group"}
    assert {name: job[name] for name in same} == {name: EVERY[name] for name in same}
    assert (job["state"], job["processAt"], job["goodUntil"]) == ("scheduled", MINUTE + 500, MINUTE + 500 + 9_000)
    steps = door.store.clock.advance_to(MINUTE + 500)
    assert [(s.kind, s.id, s.at) for s in steps] == [("job_ready", "s.60000", MINUTE + 500)]
    assert door.claim(queues=["reports"]).must()["jobs"][0]["state"] == "claimed"


def test_good_for_counts_from_the_occurrence(door: JobDoor) -> None:
    plan(door, goodFor=9_000)
    steps = door.store.tick(MINUTE + 20_000)
    assert [(s.kind, s.at) for s in steps] == [("schedule", MINUTE), ("job_expiry", MINUTE + 9_000)]
    job = door.job("s.60000")
    assert (job["state"], job["expiredAt"], job["goodUntil"]) == ("expired", MINUTE + 9_000, MINUTE + 9_000)


def test_a_deadline_that_is_over_at_once(door: JobDoor) -> None:
    door.schedule("s", timeout=0, job={"type": "t"}, now=0).must()
    door.store.clock.advance_to(MINUTE)
    job = door.job("s.60000")
    assert (job["state"], job["failedAt"], job["error"]["code"]) == ("failed", MINUTE, "DeadlineExceeded")
    assert door.store.check() == []


def test_a_huge_timeout_is_no_deadline(door: JobDoor) -> None:
    door.schedule("s", timeout=2**63 - 1, job={"type": "t"}, now=0).must()
    door.store.clock.advance_to(MINUTE)
    assert "deadline" not in door.job("s.60000") and door.state("s.60000") == "pending"


def test_the_defaults_of_the_queue_as_they_are_then(door: JobDoor) -> None:
    """The defaults are read at the occurrence, not when the schedule is created."""
    door.queue("set", "reports", now=0, defaults={"priority": 1})
    plan(door)
    door.store.clock.advance_to(MINUTE)
    door.queue("set", "reports", lifecycle="asynq", defaults={"priority": 9})
    door.store.clock.advance_to(2 * MINUTE)
    first, second = (door.job(f"s.{n * MINUTE}") for n in (1, 2))
    assert (first["priority"], first.get("retention"), first["maxRetries"]) == (1, None, 25)
    assert (second["priority"], second["retention"]) == (9, 0)
    assert [job["state"] for job in door.claim(2, ["reports"]).must()["jobs"]] == ["claimed", "running"]


# --- occurrences that enqueue nothing -------------------------------------------------------------------------------
@pytest.mark.parametrize("what", ["promise", "job", "settled"])
def test_an_id_that_exists_is_left_alone(door: JobDoor, what: str) -> None:
    """An occurrence does not adopt a promise that exists; it only creates a job of its own."""
    if what == "job":
        door.enqueue("s.60000", now=0, type="mine").must()
    else:
        door.create("s.60000", now=0).must()
    if what == "settled":
        door.settle("s.60000", now=0).must()
    plan(door)
    before = stored(door.store, "s.60000")
    assert fired(door.store.clock.advance_to(MINUTE)) == [("s", MINUTE, "s.60000", False)]
    assert stored(door.store, "s.60000") == before
    schedule = stored_schedule(door.store, "s")
    assert (schedule["lastRunAt"], schedule["nextRunAt"]) == (MINUTE, 2 * MINUTE)


def test_a_unique_key_keeps_runs_from_overlapping(door: JobDoor) -> None:
    """While the job of one occurrence holds the key, the following occurrences create nothing."""
    plan(door, uniqueKey="one at a time")
    clock = door.store.clock
    assert fired(clock.advance_to(MINUTE)) == [("s", MINUTE, "s.60000", True)]
    version = door.run_one("s.60000", queues=["reports"], lease=10 * MINUTE)
    assert fired(clock.advance_to(3 * MINUTE)) == [
        ("s", 2 * MINUTE, "s.120000", False),
        ("s", 3 * MINUTE, "s.180000", False),
    ]
    assert door.jobs() == ["s.60000"] and door.get("s.120000").status == 404
    door.complete("s.60000", version).must()
    assert fired(clock.advance_to(4 * MINUTE)) == [("s", 4 * MINUTE, "s.240000", True)]
    assert stored_schedule(door.store, "s")["lastRunAt"] == 4 * MINUTE
    assert door.jobs(uniqueKey="one at a time") == ["s.240000", "s.60000"] and door.store.check() == []


def test_a_key_that_another_job_holds(door: JobDoor) -> None:
    door.enqueue("other", now=0, queue="reports", uniqueKey="k").must()
    plan(door, uniqueKey="k")
    assert fired(door.store.clock.advance_to(MINUTE)) == [("s", MINUTE, "s.60000", False)]
    door.by_hand("cancel", "other").must()
    assert fired(door.store.clock.advance_to(2 * MINUTE)) == [("s", 2 * MINUTE, "s.120000", True)]


def test_a_key_that_is_held_for_a_time(door: JobDoor) -> None:
    plan(door, uniqueKey="k", uniqueFor=MINUTE + 1)
    made = [created for *_, created in fired(door.store.clock.advance_to(4 * MINUTE))]
    assert made == [True, False, True, False]


@pytest.mark.parametrize(
    ("catchup", "made"), [("all", [1, 2, 3, 4, 5]), ("latest", [5]), ("none", [5])], ids=["all", "latest", "none"]
)
def test_catchup(make_store: Callable[..., Any], catchup: str, made: list[int]) -> None:
    """After a downtime the option applies as for every schedule; a job that is made up has the instants of its occurrence."""
    door = JobDoor(make_store(catchup=catchup))
    plan(door)
    assert [id for _, _, id, _ in fired(door.store.tick(5 * MINUTE + 500))] == [f"s.{n * MINUTE}" for n in made]
    assert door.claimed(9, queues=["reports"]) == [f"s.{n * MINUTE}" for n in made]
    assert {job["sentAt"] for job in door.send("job.search", {}).must()["jobs"]} == {n * MINUTE for n in made}


def test_catchup_none_after_more_than_a_minute(make_store: Callable[..., Any]) -> None:
    door = JobDoor(make_store(catchup="none"))
    door.schedule("s", "@hourly", job={"type": "t"}, now=0).must()
    assert fired(door.store.tick(61 * MINUTE + 1)) == [("s", 60 * MINUTE, None, False)]
    assert door.jobs() == []


def test_a_schedule_that_is_deleted_leaves_its_jobs(door: JobDoor) -> None:
    plan(door)
    door.store.clock.advance_to(MINUTE)
    door.send("schedule.delete", {"id": "s"}).must()
    assert door.store.clock.advance_to(9 * MINUTE) == []
    assert door.claimed(9, queues=["reports"]) == ["s.60000"]


# --- with groups ----------------------------------------------------------------------------------------------------
def test_occurrences_gather(door: JobDoor) -> None:
    """Each job joins the group as of its occurrence, like jobs that a client enqueues."""
    door.queue("set", "reports", groups={"grace": 90_000, "maxDelay": 3 * MINUTE}, now=0)
    plan(door, group="g")
    door.store.clock.advance_to(2 * MINUTE)
    door.enqueue("by-hand", queue="reports", type="t", group="g").must()
    assert gathering_groups(door.store) == [
        GatheringGroup("s.60000", batch(1), MINUTE, 2 * MINUTE, 2 * MINUTE + 90_000, ("by-hand", "s.120000", "s.60000"))
    ]
    door.store.clock.advance_to(4 * MINUTE - 1)
    assert departed(door) == []
    door.store.clock.advance_to(4 * MINUTE)
    assert departed(door) == [(4 * MINUTE, "by-hand s.120000 s.180000 s.60000")]
    assert [flight.members for flight in gathering_groups(door.store)] == [("s.240000",)]


def test_occurrences_that_are_made_up_gather_as_of_then(door: JobDoor) -> None:
    door.queue("set", "reports", groups={"size": 2, "grace": 90_000}, now=0)
    plan(door, group="g", processIn=1_000)
    door.store.tick(4 * MINUTE + 30_000)
    assert departed(door) == [(2 * MINUTE + 1_000, "s.120000 s.60000"), (4 * MINUTE + 1_000, "s.180000 s.240000")]


# --- typed ----------------------------------------------------------------------------------------------------------
@pytest.mark.skipif(SUBJECT == "reference", reason="the model has no typed calls")
def test_the_typed_call(store: Any) -> None:
    """The job is a dict with the members of the wire, like a retry policy."""
    schedule = store.schedules.create("s", "* * * * *", promise_timeout=FAR, param=[1], tags={"a": "b"}, job=EVERY)
    assert schedule.job == EVERY == store.schedules.get("s").job
    assert [one.job for one in store.schedules.search()] == [EVERY]
    assert schedule.to_dict()["job"] == EVERY
    assert store.schedules.create("plain", "* * * * *", promise_timeout=FAR).job is None
    store.clock.advance_to(MINUTE)
    job = store.jobs.get("s.60000")
    assert (job.queue, job.type, job.payload.json(), job.process_at, job.good_until) == (
        "reports",
        "report:build",
        [1],
        MINUTE + 500,
        MINUTE + 9_500,
    )
    assert store.promises.get("plain.60000").state == "pending"


@pytest.mark.skipif(SUBJECT == "reference", reason="the model has no snapshots of its own kind")
def test_what_is_kept_of_it(door: JobDoor, make_store: Callable[..., Any], clock_type: Any) -> None:
    """A snapshot and a fork keep the job of a schedule."""
    plan(door, **EVERY)
    door.schedule("plain", now=0).must()
    other = JobDoor(make_store(clock=clock_type(0)), door.version)
    other.store.restore(door.store.snapshot())
    fork = JobDoor(door.store.fork(), door.version)
    for each in (door, other, fork):
        each.store.clock.advance_to(3 * MINUTE)
    assert rows_of(other.store) == rows_of(door.store) == rows_of(fork.store)
    assert door.store.digest() == other.store.digest() == fork.store.digest()
    assert "job" not in stored_schedule(door.store, "plain")
