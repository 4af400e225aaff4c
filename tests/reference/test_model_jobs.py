"""Compares the model's jobs with JOBS; the expected numbers were computed by hand."""

from __future__ import annotations

import base64
import json

import pytest

from reference.client import NEW, OLD, TARGET, Client
from resonate_core.conformance.reference import jobs_policy

FIXED = {"kind": "fixed", "intervals": [10, 40]}


def test_the_hash_is_two_published_ones():
    assert jobs_policy.fnv1a("") == 0xCBF29CE484222325
    assert jobs_policy.fnv1a("a") == 0xAF63DC4C8601EC8C
    assert jobs_policy.splitmix(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF
    assert jobs_policy.splitmix(2 * 0x9E3779B97F4A7C15 % 2**64) == 0x6E789E6AA1B965F4


@pytest.mark.parametrize(("failures", "delay"), [(0, 10), (1, 40), (2, 40), (99, 40)])
def test_fixed_intervals_repeat_the_last(failures, delay):
    assert jobs_policy.delay(FIXED, "j", failures) == delay


def test_exponential_intervals_grow_to_the_cap():
    policy = {"kind": "exponential", "base": 100, "factor": 2, "cap": 350, "jitter": 0}
    assert [jobs_policy.delay(policy, "j", failures) for failures in range(4)] == [100, 200, 350, 350]
    spread = {jobs_policy.delay({**policy, "jitter": 0.5}, f"j{number}", 0) for number in range(200)}
    assert 50 <= min(spread) < 60
    assert 140 < max(spread) < 150


def test_the_intervals_of_asynq():
    for failures in range(26):
        seconds, rest = divmod(jobs_policy.delay({"kind": "asynq"}, "j", failures), 1000)
        assert rest == 0
        assert (seconds - failures**4 - 15) % (failures + 1) == 0
        assert 0 <= (seconds - failures**4 - 15) // (failures + 1) < 30


def test_the_life_of_a_job(send):
    status, data = send.enqueue(payload={"data": "cA=="})
    assert (status, data["job"]) == (
        200,
        {
            "id": "j",
            "queue": "default",
            "type": "t",
            "state": "pending",
            "payload": {"data": "cA=="},
            "tags": {},
            "priority": 50,
            "version": 0,
            "maxRetries": 25,
            "retryCount": 0,
            "retryPolicy": {"kind": "asynq"},
            "onExhausted": "archived",
            "attempts": [],
            "sentAt": 0,
            "enqueuedAt": 0,
        },
    )
    [job] = send.claim(now=5)
    assert (job["state"], job["version"], job["claimedBy"], job["claimedAt"], job["leaseUntil"]) == ("claimed", 1, "w", 5, 105)
    assert send("job.complete", id="j", version=1)[0] == 409, "it was not started"
    job = send("job.start", 7, id="j", version=1)[1]["job"]
    assert (job["state"], job["leaseUntil"], job["attempts"]) == ("running", 107, [{"number": 1, "worker": "w", "startedAt": 7}])
    job = send("job.complete", 9, id="j", version=1, result={"data": "cg=="})[1]["job"]
    assert (job["state"], job["result"], job["completedAt"]) == ("completed", {"data": "cg=="}, 9)
    assert "claimedBy" not in job
    assert send("promise.get", id="j")[1]["promise"]["value"] == {"data": "cg=="}
    assert send.task("j") == {"state": "fulfilled", "acquisitions": 1, "resumes": []}
    assert send.model.next_due() is None


def test_failures_retry_and_then_archive(send):
    send.running(now=0, retryPolicy=FIXED, maxRetries=1)
    job = send.fail(1, now=5)[1]["job"]
    assert (job["state"], job["retryCount"], job["nextRetryAt"], job["error"]) == ("retry", 1, 15, {"code": "E", "message": ""})
    assert "enqueuedAt" not in job
    [fired] = send.model.tick(15)
    assert fired == {"kind": "job_ready", "id": "j", "at": 15, "now": 15, "detail": {}}
    [job] = send.claim(now=20)
    send("job.start", 20, id="j", version=2)
    job = send.fail(2, now=21)[1]["job"]
    assert (job["state"], job["failedAt"], job["retryCount"]) == ("archived", 21, 1)
    assert (send.row("j")["state"], send.task("j")["state"]) == ("pending", "halted")
    job = send("job.run", 30, id="j")[1]["job"]
    assert (job["state"], job["enqueuedAt"], job["failedAt"]) == ("pending", 30, 21)


def test_an_exhausted_job_may_fail_its_promise(send):
    send.running(onExhausted="failed", maxRetries=0)
    send.fail(1, "Boom", now=5)
    value = send("promise.get", id="j")[1]["promise"]["value"]
    assert json.loads(base64.b64decode(value["data"])) == {"__type": "error", "name": "Boom", "message": "", "code": "Boom"}
    assert send.job()["error"] == {"code": "Boom", "message": ""}


@pytest.mark.parametrize(
    ("code", "more", "state"), [("A", {}, "retry"), ("B", {}, "archived"), ("A", {"retryable": False}, "archived")]
)
def test_which_errors_retry(send, code, more, state):
    send.running(retryPolicy={**FIXED, "codes": ["A"]}, maxRetries=3)
    assert send.fail(1, code, **more)[1]["job"]["state"] == state


def test_lifecycles():
    send = Client()
    job = send.enqueue("a", lifecycle="asynq")[1]["job"]
    assert (job["maxRetries"], job["onExhausted"], job["retention"]) == (25, "archived", 0)
    [job] = send.claim(runLease=70)
    assert (job["state"], job["startedAt"], job["leaseUntil"]) == ("running", 0, 70)
    send("job.complete", id="a", version=1)
    assert send("job.get", id="a")[0] == 404, "its retention is 0"
    job = send.enqueue("h", lifecycle="horsies")[1]["job"]
    assert (job["maxRetries"], job["onExhausted"]) == (0, "failed")
    assert "retention" not in job
    assert send.enqueue("h2", lifecycle="horsies", retryPolicy=FIXED)[1]["job"]["maxRetries"] == 2
    send("queue.set", queue="q", lifecycle="horsies", defaults={"priority": 3, "retention": 0})
    job = send.enqueue("q1", queue="q")[1]["job"]
    assert (job["priority"], job["retention"], job["maxRetries"]) == (3, 0, 0)
    job = send.enqueue("q2", queue="q", lifecycle="asynq", retention=None)[1]["job"]
    assert (job["maxRetries"], "retention" in job) == (25, False)


def test_leases_that_run_out(send):
    send.enqueue(timeout=1000)
    send.claim(lease=10, runLease=20)
    [fired] = send.model.tick(10)
    assert (fired["kind"], send.job()["state"], send.job()["retryCount"], send.job()["enqueuedAt"]) == (
        "job_lease",
        "pending",
        0,
        0,
    )
    send.claim(now=11, lease=10, runLease=20)
    send("job.start", 12, id="j", version=2)
    send.model.advance_to(32)
    job = send.job()
    assert (job["state"], job["error"]["code"], job["attempts"][0]["outcome"]) == ("retry", "WorkerCrashed", "crashed")


def test_an_attempt_that_takes_too_long(send):
    send.running(timeout=30)
    assert send("job.heartbeat", 29, worker="w", jobs=[{"id": "j", "version": 1}]) == (200, {"cancelled": [], "lost": []})
    [fired] = send.model.tick(30)
    assert (fired["kind"], send.job()["error"]["code"]) == ("job_timeout", "TaskTimeout")


def test_good_until_is_projected_until_the_job_runs(send):
    send.enqueue("a", goodUntil=10)
    send.enqueue("b", goodUntil=10)
    send.claim(lease=50)
    send("job.start", id="a", version=1)
    assert send.job("b", 10)["state"] == "expired"
    assert send.job("b")["expiredAt"] == 10
    assert send.job("a")["state"] == "running"
    assert send("job.claim", queues=["default"], worker="w", lease=1) == (200, {"jobs": []})
    assert send.row("b")["state"] == "rejected"
    assert send.row("b")["settledAt"] == 10


def test_the_deadline_ends_a_running_job(send):
    send.running(deadline=40, lease=100)
    job = send.job(now=60)
    assert (job["state"], job["failedAt"], job["error"]["code"]) == ("failed", 40, "DeadlineExceeded")
    assert job["attempts"][0]["finishedAt"] == 40
    assert send("job.complete", 60, id="j", version=1)[0] == 409
    assert send.promise("p")[0] == 200
    assert send.row("j")["state"] == "rejected_timedout"


def test_snooze_release_and_heartbeats(send):
    send.running(lease=50)
    job = send("job.snooze", 10, id="j", version=1, delay=5)[1]["job"]
    assert (job["state"], job["processAt"], job["retryCount"], job["attempts"][0]["outcome"]) == ("scheduled", 15, 0, "snoozed")
    send.model.tick(15)
    send.claim(now=16)
    assert send("job.release", 17, id="j", version=2)[1]["job"]["enqueuedAt"] == 15
    send.claim(now=18, lease=10)
    named = [{"id": "j", "version": 3}, {"id": "j", "version": 2}, {"id": "none", "version": 0}]
    assert send("job.heartbeat", 20, worker="w", jobs=named)[1] == {"cancelled": [], "lost": ["j", "none"]}
    assert send.job()["leaseUntil"] == 30
    send("job.cancel", id="j")
    assert send("job.heartbeat", worker="w", jobs=named[:1])[1] == {"cancelled": ["j"], "lost": []}
    assert send("job.cancel", id="j")[0] == 409


def test_reports_keep_the_newest_lines_and_the_progress_of_the_last_attempt(send):
    send.running(lease=50)
    assert send("job.report", id="j", version=1)[0] == 400
    assert send("job.report", id="j", version=2, progress=1)[0] == 409
    job = send("job.report", 10, id="j", version=1, progress=0.5, lines=["a"])[1]["job"]
    assert job["report"] == {"at": 10, "progress": 0.5, "lines": [{"at": 10, "attempt": 1, "text": "a"}]}
    assert job["leaseUntil"] == 50
    report = send("job.report", 11, id="j", version=1, lines=["b"] * 100)[1]["job"]["report"]
    assert (report["progress"], len(report["lines"]), report["lines"][0]["text"]) == (0.5, 100, "b")
    send("job.snooze", 12, id="j", version=1, delay=0)
    assert send.job()["report"]["progress"] == 0.5
    send.claim(now=13)
    send("job.start", 14, id="j", version=2)
    assert "progress" not in send.job()["report"] and send("job.report", 15, id="j", version=2, progress=0)[0] == 200
    assert send.job()["report"]["progress"] == 0


def test_a_heartbeat_of_tasks_renews_the_job_that_it_names(send):
    send.running(lease=50)
    send("task.heartbeat", 10, pid="w", tasks=[])
    assert send.job()["leaseUntil"] == 50
    send("task.heartbeat", pid="w", tasks=[{"id": "j", "version": 1}])
    assert send.job()["leaseUntil"] == 60


def test_jobs_by_filter(send):
    for number in range(3):
        send.enqueue(f"j{number}", tags={"a": str(number % 2)})
    assert send("job.cancel", tags={"a": "0"})[1] == {"count": 2, "more": False}
    assert send("job.archive", state="pending")[1] == {"count": 1, "more": False}
    assert send("job.run", state="archived", queue="none")[1] == {"count": 0, "more": False}
    assert send("job.delete", state="cancelled")[1] == {"count": 2, "more": False}
    assert [job["id"] for job in send("job.search")[1]["jobs"]] == ["j1"]
    assert send("job.cancel")[0] == 400
    assert send("job.run", queue="default")[0] == 400


def test_enqueue_of_what_exists(send):
    assert send.enqueue(payload={"data": "x"})[0] == 200
    assert send.enqueue(payload={"data": "x"}, priority=1)[1]["job"]["priority"] == 50
    assert send.enqueue(payload={"data": "y"})[0] == 409
    send.promise("p", 70)
    send.promise("dead", 1)
    send("promise.create", id="t", timeoutAt=70, tags=TARGET)
    send.promise("timer", 70, timer="true")
    job = send.enqueue("p", deadline=5)[1]["job"]
    assert job["deadline"] == 70
    assert send.row("p")["external"] is True
    assert [send.enqueue(one, now=2)[0] for one in ("dead", "t", "timer")] == [409, 409, 409]
    assert [job["id"] for job in (send("job.enqueue", type="t")[1]["job"] for _ in range(2))] == [
        "job:0000000000000001",
        "job:0000000000000002",
    ]


def test_who_gave_a_payload_to_an_adopted_promise_has_to_give_it_again(send):
    for one in ("a", "b"):
        send("promise.create", id=one, timeoutAt=70, param={"data": "x"})
    assert [send.enqueue("a", **more)[0] for more in ({}, {}, {"payload": {"data": "x"}}, {"payload": {"data": "y"}})] == [
        200,
        200,
        200,
        409,
    ]
    assert [send.enqueue("b", **more)[0] for more in ({"payload": {"data": "x"}}, {"payload": {"data": "x"}}, {})] == [
        200,
        200,
        409,
    ]


def test_unique_keys(send):
    send.enqueue("a", uniqueKey="k", uniqueFor=100)
    assert send.enqueue("b", uniqueKey="k")[0] == 409
    assert send.enqueue("b", uniqueKey="k", queue="other")[0] == 200
    assert send.enqueue("c", now=100, uniqueKey="k")[0] == 200
    assert send.enqueue("d", uniqueKey="k")[0] == 409
    send("job.cancel", id="c")
    assert send.enqueue("d", uniqueKey="k")[0] == 200


def test_a_batch_of_jobs_is_refused_one_by_one(send):
    jobs = [{"type": "t"}, {"type": ""}, {"type": "t", "id": "x"}, {"type": "u", "id": "x"}]
    status, data = send("job.enqueue_many", jobs=jobs)
    assert (status, [one["status"] for one in data["jobs"]]) == (200, [200, 400, 200, 409])
    assert send("job.enqueue_many", jobs=[{"type": "t"}, {"type": 5}])[0] == 400
    assert send("job.enqueue_many", jobs=[])[0] == 400


@pytest.mark.parametrize(
    ("state", "job_state", "error"),
    [
        ("resolved", "completed", None),
        ("rejected", "failed", {"code": "Rejected", "message": "the promise was rejected from outside"}),
        ("rejected_canceled", "cancelled", {"code": "Cancelled", "message": "the job was cancelled"}),
    ],
)
def test_a_settlement_from_outside(send, state, job_state, error):
    send.running()
    assert send.settle("j", 8, state)[0] == 200
    job = send.job()
    assert (job["state"], job.get("error"), job["attempts"][0]["finishedAt"]) == (job_state, error, 8)


@pytest.mark.parametrize("dialect", [NEW, OLD])
def test_what_tasks_may_not_do_with_jobs(dialect):
    send = Client(dialect)
    send.running()
    send.acquired("t")
    version = {"id": "j", "version": 1}
    assert send("task.acquire", **version, pid="w", ttl=1)[0] == 409
    assert send("task.release", **version)[0] == 409
    assert send.suspend("j", 1, "t")[0] == 409
    assert send.acquired("j")[0] == 409
    assert send("task.halt", dialect=NEW, id="j")[0] == 409
    assert send("task.continue", dialect=NEW, id="j")[0] == 409
    kind, status = ("promise.register", 400) if dialect == OLD else ("promise.register_callback", 422)
    assert send(kind, awaited="t", awaiter="j")[0] == status
    assert send(kind, awaited="j", awaiter="t")[0] == 200
    action = {"kind": "promise.settle", "data": {"id": "j", "state": "resolved"}}
    assert send("task.fulfill", id="j", version=0 if dialect == OLD else 1, action=action)[0] == 200
    assert send.job()["state"] == "completed"


def test_a_job_that_is_awaited_is_kept_until_its_awaiter_is_settled(send):
    send.running(lifecycle="asynq")
    send.acquired("t", 10**6)
    send.suspend("t", 1, "j")
    send("job.complete", 10, id="j", version=1)
    assert send.job()["state"] == "completed"
    assert send.task("t")["current"] == "j"
    assert send.model.next_due() == 1010
    send.settle("t", 20)
    send.model.tick(1009)
    assert send("job.get", id="j")[0] == 200
    [fired] = send.model.tick(1010)
    assert (fired["kind"], fired["at"], send("job.get", id="j")[0]) == ("job_retention", 1010, 404)


def test_delete(send):
    send.enqueue("a")
    send.enqueue("b")
    send("promise.register_listener", awaited="b", address="x://1")
    assert send("job.delete", id="a") == (200, {})
    assert send("job.delete", id="a")[0] == 404
    assert send("job.delete", id="b")[0] == 409
    send("job.cancel", id="b")
    assert send("job.delete", id="b")[0] == 200
    assert send.job("b")["state"] == "cancelled", "its message was not taken"
    assert send("job.delete", state="cancelled")[1] == {"count": 0, "more": False}
    send.model.take_messages()
    send.model.tick(1000)
    assert send("job.get", id="b")[0] == 404


def test_a_snapshot_holds_jobs(send):
    send.enqueue("a", processIn=5)
    send("job.enqueue", type="t", payload={"data": "x"})
    send.claim(lease=9)
    send("queue.set", queue="default", rate={"limit": 1, "per": 10})
    taken = send.model.snapshot()
    assert taken["generatedJobs"] == 1
    assert taken["queues"][0]["counts"]["claimed"] == 1
    other = Client()
    other.model.restore(taken)
    assert other.model.snapshot() == taken
    assert other.model.next_due() == send.model.next_due() == 5
