"""Compares the model's groups with JOBS; the expected numbers were computed by hand."""

from __future__ import annotations

import pytest

from reference import properties
from reference.client import Client
from resonate_core.conformance.reference import jobs_policy


@pytest.fixture
def send():
    """A client whose default queue has groups with size 3, grace 10 ms and maxDelay 25 ms."""
    client = Client()
    client("queue.set", queue="default", groups={"size": 3, "grace": 10, "maxDelay": 25})
    return client


def states(send, *ids):
    return [send.job(one)["state"] for one in ids]


def batch(number):
    return f"batch:{number:016x}"


def sound(send):
    return properties.of_a_state(send.model.snapshot()) == []


def test_settings_of_a_queue():
    send = Client()

    def shown(**more):
        return send("queue.set", queue="q", **more)[1]["queue"].get("groups")

    assert shown(weight=2) is None
    assert shown(groups={}) == {"size": 1000, "grace": 60_000}
    assert shown(groups={"size": 5, "maxDelay": 7}) == {"size": 5, "grace": 60_000, "maxDelay": 7}
    assert shown(weight=3) == {"size": 5, "grace": 60_000, "maxDelay": 7}
    assert shown(groups={"grace": 0}) == {"size": 1000, "grace": 0}
    assert send.model.snapshot()["queues"][0]["groups"] == {"size": 1000, "grace": 0}
    assert shown(groups=None) is None


@pytest.mark.parametrize("groups", [{"size": 0}, {"size": 1001}, {"grace": -1}, {"maxDelay": 0}, {"size": "5"}, 5])
def test_settings_that_are_refused(send, groups):
    assert send("queue.set", queue="default", groups=groups)[0] == 400


@pytest.mark.parametrize("group", ["", "a\0", 5])
def test_groups_that_are_refused(send, group):
    assert send.enqueue(group=group)[0] == 400


def test_a_queue_without_settings_waits_a_minute_for_a_thousand():
    send = Client()
    send.enqueue("j", 5, queue="q", group="g")
    assert send.model.next_due() == 60_005


def test_what_gathers_is_scheduled_and_nobody_can_claim_it(send):
    job = send.enqueue("a", 3, group="g")[1]["job"]
    assert (job["state"], job["group"], job["batch"], job["gathering"]) == ("scheduled", "g", batch(1), True)
    assert {"processAt", "enqueuedAt"}.isdisjoint(job)
    assert send.claim() == []
    assert send.row("a")["job"]["flight"] == {"firstAt": 3, "lastAt": 3, "count": 1}
    assert (send.task("a")["retryAt"], send.model.next_due()) == (13, 13)
    assert sound(send)


def test_the_grace_begins_anew_with_each_job_until_the_longest_delay(send):
    send.enqueue("a", 0, group="g")
    send.enqueue("b", 9, group="g")
    assert (send.task("a")["retryAt"], send.task("b")["retryAt"]) == (19, send.row("b")["timeoutAt"])
    send("queue.set", 10, queue="default", groups={"size": 9, "grace": 10, "maxDelay": 25})
    send.enqueue("c", 18, group="g")
    assert send.model.next_due() == 25
    [fired] = send.model.advance_to(30)
    assert fired == {"kind": "job_batch", "id": "a", "at": 25, "now": 25, "detail": {"batch": batch(1)}}
    for one in ("a", "b", "c"):
        job = send.job(one)
        assert (job["state"], job["enqueuedAt"], job["batch"], "gathering" in job) == ("pending", 25, batch(1), False)
    assert "flight" not in send.row("a")["job"]
    assert send.enqueue("d", group="g")[1]["job"]["batch"] == batch(2)


def test_the_last_of_its_size_makes_it_ready_in_the_request(send):
    send.enqueue("a", 0, group="g")
    send.enqueue("b", 1, group="g")
    job = send.enqueue("c", 2, group="g")[1]["job"]
    assert (job["state"], job["enqueuedAt"], job["batch"]) == ("pending", 2, batch(1))
    assert [send.job(one)["enqueuedAt"] for one in "ab"] == [2, 2]
    assert send.model.next_due() is None


def test_without_grace_the_next_step_makes_it_ready(send):
    send("queue.set", queue="default", groups={"grace": 0})
    reply = send("job.enqueue_many", 4, jobs=[{"id": one, "type": "t", "group": "g"} for one in "ab"])
    assert [one["job"]["state"] for one in reply[1]["jobs"]] == ["scheduled", "scheduled"]
    assert [one["kind"] for one in send.model.world.fired] == ["job_batch"]
    assert (states(send, "a", "b"), send.job("a")["enqueuedAt"]) == (["pending", "pending"], 4)


def test_flights_are_of_a_queue_a_type_and_a_group(send):
    send.enqueue("a", group="g")
    send.enqueue("b", group="h")
    send.enqueue("c", group="g", type="u")
    send.enqueue("d", group="g", queue="other")
    send.enqueue("e", group="g")
    assert [send.job(one)["batch"] for one in "abcde"] == [batch(1), batch(2), batch(3), batch(4), batch(1)]
    assert sound(send)


def test_ids_and_batches_are_counted_together(send):
    first = send("job.enqueue", type="t", group="g")[1]["job"]
    assert (first["id"], first["batch"]) == ("job:0000000000000001", batch(2))
    assert send("job.enqueue", type="t", group="g")[1]["job"]["id"] == "job:0000000000000003"
    assert send.model.snapshot()["generatedJobs"] == 3


def test_a_job_for_later_joins_when_its_time_has_come(send):
    job = send.enqueue("a", 0, group="g", processIn=5)[1]["job"]
    assert (job["state"], "batch" in job, "gathering" in job) == ("scheduled", False, False)
    send.enqueue("b", 1, group="g")
    assert send.task("b")["retryAt"] == 11
    [fired] = send.model.tick(7)
    assert (fired["kind"], fired["id"], fired["at"]) == ("job_ready", "a", 5)
    job = send.job("a")
    assert (job["state"], job["gathering"], job["batch"], job["processAt"]) == ("scheduled", True, batch(1), 5)
    assert (send.row("b")["job"]["flight"], send.task("b")["retryAt"]) == ({"firstAt": 1, "lastAt": 5, "count": 2}, 15)
    assert sound(send)


def test_who_joins_late_finds_the_flight_over(send):
    send.enqueue("a", 0, group="g")
    job = send.enqueue("b", 12, group="g")[1]["job"]
    assert job["batch"] == batch(2)
    job = send.job("a")
    assert (job["state"], job["enqueuedAt"]) == ("pending", 10)


def test_nothing_is_ready_before_the_last_one_joined(send):
    send.enqueue("later", 0, group="g", processAt=30)
    send("queue.set", queue="default", groups={"size": 2, "grace": 10})
    send.enqueue("new", 35, group="g")
    assert states(send, "new", "later") == ["pending", "pending"]
    assert [send.job(one)["enqueuedAt"] for one in ("new", "later")] == [35, 35]


def test_the_next_by_id_leads_when_the_leader_goes(send):
    send("queue.set", queue="default", groups={"size": 9, "grace": 10, "maxDelay": 25})
    for instant, one in enumerate("cab"):
        send.enqueue(one, instant, group="g")
    job = send("job.cancel", 3, id="c")[1]["job"]
    assert (job["group"], "batch" in job, "gathering" in job) == ("g", False, False)
    assert (send.row("a")["job"]["flight"], send.task("a")["retryAt"]) == ({"firstAt": 0, "lastAt": 2, "count": 2}, 12)
    assert sound(send)
    send("job.cancel", id="b")
    assert send.row("a")["job"]["flight"]["count"] == 1
    send("job.delete", id="a")
    assert send.model.next_due() is None
    assert send.enqueue("d", group="g")[1]["job"]["batch"] == batch(2)


@pytest.mark.parametrize(
    ("leave", "state"),
    [
        (lambda send: send("job.run", 5, id="a"), "pending"),
        (lambda send: send("job.archive", 5, id="a"), "archived"),
        (lambda send: send("job.cancel", 5, id="a"), "cancelled"),
        (lambda send: send.settle("a", 5), "completed"),
        (lambda send: send.model.tick(7), "expired"),
        (lambda send: send.model.tick(8), "failed"),
    ],
)
def test_ways_out_of_a_flight(leave, state):
    send = Client()
    send.enqueue("a", group="g", **({"goodUntil": 7} if state == "expired" else {"deadline": 8}))
    send.enqueue("b", group="g")
    leave(send)
    job = send.job("a")
    assert (job["state"], job["group"], "batch" in job, "gathering" in job) == (state, "g", False, False)
    assert send.row("b")["job"]["flight"] == {"firstAt": 0, "lastAt": 0, "count": 1}
    assert send.model.advance_to(60_000)[-1]["id"] == "b"
    assert states(send, "b") == ["pending"]


def test_a_job_that_left_runs_by_itself(send):
    send.enqueue("a", group="g")
    send("job.archive", id="a")
    send("job.run", 2, id="a")
    send.enqueue("b", group="g")
    assert [job["id"] for job in send.claim(count=9)] == ["a"]


def test_a_dead_job_is_ready_with_the_others_and_is_not_claimed(send):
    send.enqueue("a", 0, group="g", goodUntil=11)
    send.enqueue("b", 0, group="g")
    assert send.job("a", 12)["state"] == "expired"
    assert "batch" not in send.job("a")
    fired = send.model.tick(12)
    assert [(one["kind"], one["id"], one["at"]) for one in fired] == [("job_batch", "a", 10), ("job_expiry", "a", 11)]
    assert (send.job("a")["state"], send.job("a")["batch"]) == ("expired", batch(1))
    assert [job["id"] for job in send.claim(count=9)] == ["b"]


def test_what_is_born_dead_joins_nothing(send):
    assert "batch" not in send.enqueue("a", 5, group="g", deadline=5)[1]["job"]
    assert "batch" not in send.enqueue("b", 5, group="g", goodUntil=4)[1]["job"]
    assert send.model.snapshot().get("generatedJobs") is None
    assert states(send, "a", "b") == ["failed", "expired"]


def test_a_claim_takes_whole_batches(send):
    send("queue.set", queue="default", groups={"size": 3}, concurrency=2, rate={"limit": 1, "per": 1000, "burst": 2})
    send.enqueue("d", priority=1)
    for number, one in enumerate("bca"):
        send.enqueue(one, group="g", priority=2 + number)
    assert [job["id"] for job in send.claim(count=1)] == ["d"]
    assert [job["id"] for job in send.claim(count=1)] == ["b", "a", "c"], "first the one that was picked"
    assert send("queue.get", queue="default")[1]["queue"]["active"] == 4
    assert send.model.snapshot()["queues"][0]["level"] == 0, "one token for the three"


def test_a_batch_is_one_turn_of_its_queue():
    send = Client()
    for name in "xy":
        send("queue.set", queue=name, groups={"size": 2})
        for number in range(4):
            send.enqueue(f"{name}{number}", queue=name, group="g")
    jobs = send.claim("x", "y", count=5)
    assert [job["id"] for job in jobs] == ["x0", "x1", "y0", "y1", "x2", "x3"]


def test_the_first_of_a_claim_may_start_at_once(send):
    for one in "abc":
        send.enqueue(one, lifecycle="asynq" if one == "c" else None)
    jobs = send.claim(count=3, start=1, lease=10, runLease=70)
    assert [(job["state"], job["leaseUntil"], len(job["attempts"])) for job in jobs] == [
        ("running", 70, 1),
        ("claimed", 10, 0),
        ("running", 70, 1),
    ]
    assert send("job.complete", id="a", version=1)[0] == 200
    assert send("job.claim", queues=["default"], worker="w", lease=1, start=-1)[0] == 400
    send.enqueue("d")
    assert send.claim(start=5)[0]["state"] == "running"


def test_a_batch_is_tried_again_together(send):
    policy = {"kind": "exponential", "base": 1000, "jitter": 0.5}
    for one in "abc":
        send.enqueue(one, group="g", retryPolicy=policy)
    send.claim(count=1, start=9)
    for one in "abc":
        send.fail(1, now=5, job_id=one)
    filled = {**policy, "factor": 2, "cap": 86_400_000, "jitter": 0.5}
    instants = {send.job(one)["nextRetryAt"] for one in "abc"}
    assert instants == {5 + jobs_policy.delay(filled, batch(1), 0)}
    assert jobs_policy.delay(filled, "a", 0) != jobs_policy.delay(filled, batch(1), 0)
    send.model.advance_to(min(instants))
    assert states(send, *"abc") == ["pending"] * 3
    assert [job["id"] for job in send.claim(count=1)] == ["a", "b", "c"]
    assert send.job("a")["batch"] == batch(1)


def test_what_has_a_batch_does_not_gather_again(send):
    for one in "abc":
        send.enqueue(one, group="g")
    send.claim(start=9)
    send("job.snooze", id="b", version=1, delay=5)
    assert (send.job("b")["state"], send.job("b")["batch"], "gathering" in send.job("b")) == ("scheduled", batch(1), False)
    send.model.tick(5)
    assert [job["id"] for job in send.claim()] == ["b"]


@pytest.mark.parametrize("end", ["snoozed", "failed"])
def test_who_left_and_was_claimed_does_not_gather_either(send, end):
    send.enqueue("j", group="g", retryPolicy={"kind": "fixed", "intervals": [5]})
    send("job.run", id="j")
    send.claim(start=1)
    if end == "snoozed":
        send("job.snooze", id="j", version=1, delay=5)
    else:
        send.fail(1)
    send.model.advance_to(5)
    assert (send.job()["state"], "batch" in send.job()) == ("pending", False)


def test_filters_by_group(send):
    for one, group in (("a", "g"), ("b", "h"), ("c", "g")):
        send.enqueue(one, group=group)
    send.enqueue("d")
    assert [job["id"] for job in send("job.search", group="g")[1]["jobs"]] == ["a", "c"]
    assert send("job.search", group="")[0] == 400
    assert send("job.run", queue="default", group="g", state="scheduled")[1] == {"count": 2, "more": False}
    assert states(send, "a", "b", "c") == ["pending", "scheduled", "pending"]
    assert send("job.archive", group="g", state="pending")[1]["count"] == 2
    assert send("job.cancel", group="h")[1]["count"] == 1
    assert send("job.delete", group="g", state="archived")[1]["count"] == 2
    assert send("job.cancel", group="")[0] == 400
    assert states(send, "d") == ["pending"]


def test_a_snapshot_holds_flights(send):
    send.enqueue("a", group="g")
    send.enqueue("b", group="g")
    taken = send.model.snapshot()
    other = Client()
    other.model.restore(taken)
    assert other.model.snapshot() == taken
    assert other.enqueue("c", group="g")[1]["job"]["state"] == "pending"


def test_properties_see_what_is_broken(send):
    send.enqueue("a", group="g", uniqueKey="k")
    send.enqueue("b", group="g")
    send.running("r", priority=1)
    before = send.model.snapshot()
    assert properties.of_a_state(before) == []

    def broken(change):
        changed = Client()
        changed.model.restore(before)
        change({row["id"]: row for row in changed.model.world.promises.values()})
        after = changed.model.snapshot()
        return {one[0] for one in properties.of_a_state(after) + properties.of_a_change(before, after)}

    assert broken(lambda rows: rows["a"]["job"]["flight"].update(count=3)) == {"job_flight_count"}
    assert broken(lambda rows: rows["a"]["job"].pop("flight")) >= {"job_flight_count", "job_group_mismatch"}
    assert broken(lambda rows: rows["b"]["task"].update(retryAt=7)) == {"job_group_mismatch"}
    assert broken(lambda rows: rows["b"]["job"].update(uniqueKey="k")) == {"job_unique_twice"}
    assert broken(lambda rows: rows["r"]["task"].update(expiresAt=7)) == {"job_lease_mismatch"}
    send("job.run", id="b")
    send("job.run", id="a")
    send("job.complete", 3, id="r", version=1)
    before = send.model.snapshot()
    assert broken(lambda rows: rows["r"]["job"].update(completedAt=2)) >= {"job_end_mismatch"}
    assert broken(lambda rows: rows["a"]["job"].update(batch="x")) == set(), "it had none"
    for one in "xyz":
        send.enqueue(one, group="g")
    before = send.model.snapshot()
    assert broken(lambda rows: rows["x"]["job"].update(batch="x")) == {"job_batch_changed"}
