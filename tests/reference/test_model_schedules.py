"""Compares goodFor, and the model's schedules that enqueue jobs, with JOBS."""

from __future__ import annotations

import pytest

from reference.client import NEW, OLD, Client

ORDER = {"type": "report", "queue": "q", "priority": 7, "retention": None, "goodFor": 100, "maxRetries": 2}


def schedule(send, job, now=0, **more):
    """Creates a schedule that fires every second."""
    data = {"id": "s", "cron": "* * * * * *", "promiseId": "s.{{.timestamp}}", "promiseTimeout": 5000, **more}
    return send("schedule.create", now, job=job, **data)


def occurrences(fired):
    return [(one["at"], one["detail"]) for one in fired if one["kind"] == "schedule"]


def test_an_occurrence_is_a_job(send):
    status, data = schedule(send, ORDER, promiseParam={"data": "cA=="}, promiseTags={"own": "1"})
    assert (status, data["schedule"]["job"]) == (200, ORDER)
    assert schedule(send, {"type": "other"})[1]["schedule"]["job"] == ORDER, "it is there already"
    fired = send.model.tick(1050)
    assert occurrences(fired) == [(1000, {"promise_id": "s.1000", "created": True})]
    lineage = dict.fromkeys(("resonate:origin", "resonate:branch", "resonate:parent", "resonate:prefix"), "s.1000")
    assert send.job("s.1000") == {
        "id": "s.1000",
        "queue": "q",
        "type": "report",
        "state": "pending",
        "payload": {"data": "cA=="},
        "tags": {"own": "1", "resonate:schedule": "s", **lineage},
        "priority": 7,
        "version": 0,
        "maxRetries": 2,
        "retryCount": 0,
        "retryPolicy": {"kind": "asynq"},
        "onExhausted": "archived",
        "goodUntil": 1100,
        "deadline": 6000,
        "attempts": [],
        "sentAt": 1000,
        "enqueuedAt": 1000,
    }
    assert (send.row("s.1000")["createdAt"], send.model.now) == (1000, 1050)


def test_what_is_left_out_may_be_said_to_be_nothing(send):
    nothing = {"id": None, "payload": {}, "tags": {}, "priority": None}
    assert schedule(send, {"type": "t", **nothing})[1]["schedule"]["job"] == {"type": "t", "queue": "default"}


def test_the_record_shows_the_queue_always(send):
    assert schedule(send, {"type": "t"})[1]["schedule"]["job"] == {"type": "t", "queue": "default"}
    assert "job" not in schedule(send, None, id="plain")[1]["schedule"]
    assert send("schedule.get", id="s")[1]["schedule"]["job"]["queue"] == "default"


@pytest.mark.parametrize("dialect", [NEW, OLD])
@pytest.mark.parametrize(
    "job",
    [
        {"queue": "q"},
        {"type": ""},
        {"type": "t", "id": "x"},
        {"type": "t", "payload": {"data": ""}},
        {"type": "t", "tags": {"a": ""}},
        {"type": "t", "deadline": 5},
        {"type": "t", "processAt": 5},
        {"type": "t", "goodUntil": 5},
        {"type": "t", "sentAt": 5},
        {"type": "t", "goodFor": 0},
        {"type": "t", "group": ""},
        {"type": "t", "uniqueFor": 5},
        "t",
    ],
)
def test_jobs_that_no_schedule_has(dialect, job):
    assert schedule(Client(dialect), job)[0] == 400


def test_a_timer_is_no_job(send):
    assert schedule(send, {"type": "t"}, promiseTags={"resonate:timer": "true"})[0] == 400


def test_the_queue_of_the_time_of_firing_counts(send):
    schedule(send, {"type": "t"})
    send("queue.set", queue="default", lifecycle="asynq", defaults={"priority": 3})
    send.model.advance_to(1000)
    job = send.job("s.1000")
    assert (job["priority"], job["maxRetries"], job["retention"]) == (3, 25, 0)


def test_what_waits_first_waits_from_the_occurrence(send):
    schedule(send, {"type": "t", "processIn": 300, "goodFor": 50})
    send.model.tick(1200)
    job = send.job("s.1000")
    assert (job["state"], job["processAt"], job["goodUntil"], "enqueuedAt" in job) == ("scheduled", 1300, 1350, False)
    [fired] = send.model.tick(1340)
    assert (fired["kind"], send.job("s.1000")["enqueuedAt"]) == ("job_ready", 1300)


def test_a_unique_key_keeps_runs_from_overlapping(send):
    schedule(send, {"type": "t", "uniqueKey": "k"})
    send.model.advance_to(1000)
    [job] = send.claim(start=1, lease=10_000)
    assert occurrences(send.model.advance_to(2000)) == [(2000, {"promise_id": "s.2000", "created": False})]
    send("job.complete", 2500, id=job["id"], version=1)
    assert occurrences(send.model.advance_to(3000)) == [(3000, {"promise_id": "s.3000", "created": True})]
    assert send("job.get", id="s.2000")[0] == 404
    assert send("schedule.get", id="s")[1]["schedule"]["lastRunAt"] == 3000


def test_a_promise_that_is_there_is_not_adopted(send):
    send.promise("s.1000", 10**6)
    schedule(send, {"type": "t"})
    assert occurrences(send.model.advance_to(1000)) == [(1000, {"promise_id": "s.1000", "created": False})]
    assert "job" not in send.row("s.1000")


def test_without_time_it_is_born_failed(send):
    schedule(send, {"type": "t"}, promiseTimeout=0)
    send.model.tick(1500)
    job = send.job("s.1000")
    assert (job["state"], job["failedAt"], "enqueuedAt" in job) == ("failed", 1000, False)


def test_jobs_of_a_schedule_gather(send):
    send("queue.set", queue="default", groups={"size": 2, "grace": 60_000})
    schedule(send, {"type": "t", "group": "g"})
    send.model.tick(1500)
    assert send.row("s.1000")["job"]["flight"] == {"firstAt": 1000, "lastAt": 1000, "count": 1}
    send.model.tick(2500)
    assert send.job("s.1000")["enqueuedAt"] == send.job("s.2000")["enqueuedAt"] == 2000


def test_catching_up(send):
    schedule(send, {"type": "t", "uniqueKey": "k", "uniqueFor": 1500})
    assert [detail["created"] for _, detail in occurrences(send.model.tick(4500))] == [True, False, True, False]
    latest = Client(catchup="latest")
    schedule(latest, {"type": "t"})
    assert [detail["promise_id"] for _, detail in occurrences(latest.model.tick(4500))] == ["s.4000"]


def test_good_for(send):
    assert send.enqueue("a", 10, goodFor=5)[1]["job"]["goodUntil"] == 15
    assert send.enqueue("b", 10, goodFor=5, processAt=20)[1]["job"]["goodUntil"] == 25
    assert send.enqueue("c", 10, goodFor=5, processAt=3)[1]["job"]["goodUntil"] == 15
    assert send.enqueue("d", 10, goodFor=5, processIn=7)[1]["job"]["goodUntil"] == 22
    assert "goodUntil" not in send.enqueue("e", 10, goodFor=2**63 - 1)[1]["job"]
    assert [send.enqueue("f", goodFor=one)[0] for one in (0, -1, "5")] == [400, 400, 400]
    assert send.enqueue("f", goodFor=5, goodUntil=20)[0] == 400
