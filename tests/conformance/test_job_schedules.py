"""Schedules whose promises are jobs: the job that an occurrence enqueues, its instants, and when there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_groups import GatheringGroup, batch, gathering_groups, ready_batches
from conformance.job_wire import JobClient, assert_states_agree
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
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def plan(client: JobClient, id: str = "s", now: int | None = 0, **job: Any) -> dict[str, Any]:
    """Creates a schedule that enqueues this job every minute; returns its record."""
    record: dict[str, Any] = client.schedule(id, job={"queue": "reports", "type": "t", **job}, now=now).must()["schedule"]
    return record


def fired(steps: list[Any]) -> list[tuple[str, int, Any, Any]]:
    """The occurrences among the steps: schedule, instant, id of the promise, whether the promise was created."""
    return [(s.id, s.at, s.detail["promise_id"], s.detail["created"]) for s in steps if s.kind == "schedule"]


# --- the record of a schedule ---------------------------------------------------------------------------------------
def test_the_record_shows_the_job_as_given(client: JobClient) -> None:
    record = plan(client, **EVERY)
    assert record["job"] == EVERY
    assert client.send("schedule.get", {"id": "s"}).must()["schedule"] == record
    if client.version == V26:
        assert client.send("schedule.search", {}).must()["schedules"] == [record]


@pytest.mark.parametrize("job", [{"type": "t"}, {"type": "t", "retention": None}, {"type": "t", "color": "blue"}])
def test_a_little_job(client: JobClient, job: dict[str, Any]) -> None:
    """The record always shows the queue, and never a member that the engine does not know."""
    shown = {"queue": "default", **{name: value for name, value in job.items() if name != "color"}}
    assert client.schedule("s", job=job).must()["schedule"]["job"] == shown


def test_a_schedule_without_a_job_has_none(client: JobClient) -> None:
    assert "job" not in client.schedule("s", now=0).must()["schedule"]
    client.store.clock.advance_to(MINUTE)
    assert client.state("s.60000") == "absent" and client.get("s.60000").status == 200


def test_one_that_exists_stays_as_it_is(client: JobClient) -> None:
    first = plan(client, "s")
    assert plan(client, "s", type="other") == first == client.schedule("s").must()["schedule"]
    plain = client.schedule("p").must()["schedule"]
    assert plan(client, "p") == plain


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
def test_what_the_schedule_says_itself_is_refused_in_its_job(client: JobClient, member: str, value: Any) -> None:
    before = rows_of(client.store)
    assert member in client.schedule("s", job={"type": "t", member: value}).must(400).data
    assert rows_of(client.store) == before


@pytest.mark.parametrize("job", BAD, ids=str)
def test_bad_jobs(client: JobClient, job: Any) -> None:
    before = rows_of(client.store)
    client.schedule("s", job=job).must(400)
    assert rows_of(client.store) == before


def test_a_timer_is_no_job(client: JobClient) -> None:
    client.schedule("s", tags={"resonate:timer": "true"}, job={"type": "t"}).must(400)


# --- the job of an occurrence ---------------------------------------------------------------------------------------
def test_an_occurrence_is_a_job_of_its_instant(client: JobClient) -> None:
    """An occurrence that is made late creates the same job as in time."""
    record = client.schedule(
        "s", timeout=10 * MINUTE, tags={"team": "blue"}, promiseParam=X, job={"queue": "reports", "type": "t"}, now=0
    ).must()["schedule"]
    steps = client.store.tick(MINUTE + 777)
    assert [(f.kind, f.id, f.at, f.now) for f in steps] == [("schedule", "s", MINUTE, MINUTE + 777)]
    assert fired(steps) == [("s", MINUTE, "s.60000", True)]
    job = client.job("s.60000")
    assert (job["queue"], job["type"], job["payload"], job["state"]) == ("reports", "t", X, "pending")
    assert (job["sentAt"], job["enqueuedAt"], job["deadline"]) == (MINUTE, MINUTE, 11 * MINUTE)
    row = stored(client.store, "s.60000")
    assert (row["createdAt"], row["timeoutAt"], row["dialect"]) == (MINUTE, 11 * MINUTE, client.version)
    assert_states_agree(client, "s.60000")
    schedule = client.send("schedule.get", {"id": "s"}).must()["schedule"]
    assert schedule == {**record, "lastRunAt": MINUTE, "nextRunAt": 2 * MINUTE}
    assert client.claimed(5, queues=["reports"]) == ["s.60000"]
    client.start("s.60000").must()
    assert client.complete("s.60000").must()["job"]["state"] == "completed"
    assert client.store.check() == []


def test_it_has_what_its_promise_would_have(make_store: Callable[..., Any]) -> None:
    """Tags, param, deadline and dialect are those that a schedule without a job gives to its promise."""
    rows = []
    for job in ({}, {"job": {"type": "t"}}):
        for rules in ("compatible", "strict"):
            client = JobClient(make_store(rules=rules))
            client.schedule("s", timeout=7, tags={"a": "b", "resonate:branch": "x"}, promiseParam=X, now=0, **job).must()
            client.store.tick(MINUTE)
            row = stored(client.store, "s.60000")
            rows.append({name: row[name] for name in ("tags", "param", "createdAt", "timeoutAt", "dialect")})
    assert rows[:2] == rows[2:] and rows[0]["tags"]["a"] == "b"


def test_its_target_is_not_called(client: JobClient) -> None:
    client.schedule("s", tags={"resonate:target": ADDRESS}, job={"type": "t"}, now=0).must()
    client.store.clock.advance_to(MINUTE)
    assert client.state("s.60000") == "pending" and executes(client.store) == []


def test_every_member_of_the_job(client: JobClient) -> None:
    """All members except the group, which would delay the job."""
    given = {name: value for name, value in EVERY.items() if name != "group"}
    plan(client, **given)
    client.store.clock.advance_to(MINUTE)
    job = client.job("s.60000")
    same = set(EVERY) - {"processIn", "goodFor", "lifecycle", "group"}
    assert {name: job[name] for name in same} == {name: EVERY[name] for name in same}
    assert (job["state"], job["processAt"], job["goodUntil"]) == ("scheduled", MINUTE + 500, MINUTE + 500 + 9_000)
    steps = client.store.clock.advance_to(MINUTE + 500)
    assert [(s.kind, s.id, s.at) for s in steps] == [("job_ready", "s.60000", MINUTE + 500)]
    assert client.claim(queues=["reports"]).must()["jobs"][0]["state"] == "claimed"


def test_good_for_counts_from_the_occurrence(client: JobClient) -> None:
    plan(client, goodFor=9_000)
    steps = client.store.tick(MINUTE + 20_000)
    assert [(s.kind, s.at) for s in steps] == [("schedule", MINUTE), ("job_expiry", MINUTE + 9_000)]
    job = client.job("s.60000")
    assert (job["state"], job["expiredAt"], job["goodUntil"]) == ("expired", MINUTE + 9_000, MINUTE + 9_000)


def test_a_deadline_that_is_over_at_once(client: JobClient) -> None:
    client.schedule("s", timeout=0, job={"type": "t"}, now=0).must()
    client.store.clock.advance_to(MINUTE)
    job = client.job("s.60000")
    assert (job["state"], job["failedAt"], job["error"]["code"]) == ("failed", MINUTE, "DeadlineExceeded")
    assert client.store.check() == []


def test_a_huge_timeout_is_no_deadline(client: JobClient) -> None:
    client.schedule("s", timeout=2**63 - 1, job={"type": "t"}, now=0).must()
    client.store.clock.advance_to(MINUTE)
    assert "deadline" not in client.job("s.60000") and client.state("s.60000") == "pending"


def test_the_defaults_of_the_queue_as_they_are_then(client: JobClient) -> None:
    """The defaults are read at the occurrence, not when the schedule is created."""
    client.queue("set", "reports", now=0, defaults={"priority": 1})
    plan(client)
    client.store.clock.advance_to(MINUTE)
    client.queue("set", "reports", lifecycle="asynq", defaults={"priority": 9})
    client.store.clock.advance_to(2 * MINUTE)
    first, second = (client.job(f"s.{n * MINUTE}") for n in (1, 2))
    assert (first["priority"], first.get("retention"), first["maxRetries"]) == (1, None, 25)
    assert (second["priority"], second["retention"]) == (9, 0)
    assert [job["state"] for job in client.claim(2, ["reports"]).must()["jobs"]] == ["claimed", "running"]


# --- occurrences that enqueue nothing -------------------------------------------------------------------------------
@pytest.mark.parametrize("what", ["promise", "job", "settled"])
def test_an_id_that_exists_is_left_alone(client: JobClient, what: str) -> None:
    """An occurrence does not adopt a promise that exists; it only creates a job of its own."""
    if what == "job":
        client.enqueue("s.60000", now=0, type="mine").must()
    else:
        client.create("s.60000", now=0).must()
    if what == "settled":
        client.settle("s.60000", now=0).must()
    plan(client)
    before = stored(client.store, "s.60000")
    assert fired(client.store.clock.advance_to(MINUTE)) == [("s", MINUTE, "s.60000", False)]
    assert stored(client.store, "s.60000") == before
    schedule = stored_schedule(client.store, "s")
    assert (schedule["lastRunAt"], schedule["nextRunAt"]) == (MINUTE, 2 * MINUTE)


def test_a_unique_key_keeps_runs_from_overlapping(client: JobClient) -> None:
    """While the job of one occurrence holds the key, the following occurrences create nothing."""
    plan(client, uniqueKey="one at a time")
    clock = client.store.clock
    assert fired(clock.advance_to(MINUTE)) == [("s", MINUTE, "s.60000", True)]
    version = client.run_one("s.60000", queues=["reports"], lease=10 * MINUTE)
    assert fired(clock.advance_to(3 * MINUTE)) == [
        ("s", 2 * MINUTE, "s.120000", False),
        ("s", 3 * MINUTE, "s.180000", False),
    ]
    assert client.jobs() == ["s.60000"] and client.get("s.120000").status == 404
    client.complete("s.60000", version).must()
    assert fired(clock.advance_to(4 * MINUTE)) == [("s", 4 * MINUTE, "s.240000", True)]
    assert stored_schedule(client.store, "s")["lastRunAt"] == 4 * MINUTE
    assert client.jobs(uniqueKey="one at a time") == ["s.240000", "s.60000"] and client.store.check() == []


def test_a_key_that_another_job_holds(client: JobClient) -> None:
    client.enqueue("other", now=0, queue="reports", uniqueKey="k").must()
    plan(client, uniqueKey="k")
    assert fired(client.store.clock.advance_to(MINUTE)) == [("s", MINUTE, "s.60000", False)]
    client.administer("cancel", "other").must()
    assert fired(client.store.clock.advance_to(2 * MINUTE)) == [("s", 2 * MINUTE, "s.120000", True)]


def test_a_key_that_is_held_for_a_time(client: JobClient) -> None:
    plan(client, uniqueKey="k", uniqueFor=MINUTE + 1)
    made = [created for *_, created in fired(client.store.clock.advance_to(4 * MINUTE))]
    assert made == [True, False, True, False]


@pytest.mark.parametrize(
    ("catchup", "made"), [("all", [1, 2, 3, 4, 5]), ("latest", [5]), ("none", [5])], ids=["all", "latest", "none"]
)
def test_catchup(make_store: Callable[..., Any], catchup: str, made: list[int]) -> None:
    """After a downtime the option applies as for every schedule; a job that is made up has the instants of its occurrence."""
    client = JobClient(make_store(catchup=catchup))
    plan(client)
    assert [id for _, _, id, _ in fired(client.store.tick(5 * MINUTE + 500))] == [f"s.{n * MINUTE}" for n in made]
    assert client.claimed(9, queues=["reports"]) == [f"s.{n * MINUTE}" for n in made]
    assert {job["sentAt"] for job in client.send("job.search", {}).must()["jobs"]} == {n * MINUTE for n in made}


def test_catchup_none_after_more_than_a_minute(make_store: Callable[..., Any]) -> None:
    client = JobClient(make_store(catchup="none"))
    client.schedule("s", "@hourly", job={"type": "t"}, now=0).must()
    assert fired(client.store.tick(61 * MINUTE + 1)) == [("s", 60 * MINUTE, None, False)]
    assert client.jobs() == []


def test_a_schedule_that_is_deleted_leaves_its_jobs(client: JobClient) -> None:
    plan(client)
    client.store.clock.advance_to(MINUTE)
    client.send("schedule.delete", {"id": "s"}).must()
    assert client.store.clock.advance_to(9 * MINUTE) == []
    assert client.claimed(9, queues=["reports"]) == ["s.60000"]


# --- with groups ----------------------------------------------------------------------------------------------------
def test_occurrences_gather(client: JobClient) -> None:
    """Each job joins the group as of its occurrence, like jobs that a client enqueues."""
    client.queue("set", "reports", groups={"grace": 90_000, "maxDelay": 3 * MINUTE}, now=0)
    plan(client, group="g")
    client.store.clock.advance_to(2 * MINUTE)
    client.enqueue("by-hand", queue="reports", type="t", group="g").must()
    assert gathering_groups(client.store) == [
        GatheringGroup("s.60000", batch(1), MINUTE, 2 * MINUTE, 2 * MINUTE + 90_000, ("by-hand", "s.120000", "s.60000"))
    ]
    client.store.clock.advance_to(4 * MINUTE - 1)
    assert ready_batches(client) == []
    client.store.clock.advance_to(4 * MINUTE)
    assert ready_batches(client) == [(4 * MINUTE, "by-hand s.120000 s.180000 s.60000")]
    assert [flight.members for flight in gathering_groups(client.store)] == [("s.240000",)]


def test_occurrences_that_are_made_up_gather_as_of_then(client: JobClient) -> None:
    client.queue("set", "reports", groups={"size": 2, "grace": 90_000}, now=0)
    plan(client, group="g", processIn=1_000)
    client.store.tick(4 * MINUTE + 30_000)
    assert ready_batches(client) == [(2 * MINUTE + 1_000, "s.120000 s.60000"), (4 * MINUTE + 1_000, "s.180000 s.240000")]


# --- typed ----------------------------------------------------------------------------------------------------------
@pytest.mark.not_of_the_model("it has no typed calls")
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


def test_what_is_kept_of_it(client: JobClient, make_store: Callable[..., Any], clock_type: Any) -> None:
    """A snapshot and a fork keep the job of a schedule."""
    plan(client, **EVERY)
    client.schedule("plain", now=0).must()
    other = JobClient(make_store(clock=clock_type(0)), client.version)
    other.store.restore(client.store.snapshot())
    fork = JobClient(client.store.fork(), client.version)
    for each in (client, other, fork):
        each.store.clock.advance_to(3 * MINUTE)
    assert rows_of(other.store) == rows_of(client.store) == rows_of(fork.store)
    assert client.store.digest() == other.store.digest() == fork.store.digest()
    assert "job" not in stored_schedule(client.store, "plain")
