"""Compares the model's clock and schedules with PROTOCOL; the expected numbers were computed by hand."""

from __future__ import annotations

import pytest

from reference.client import NEW, TARGET, Client, names
from resonate_core.conformance.reference import Model


def test_reads_move_the_clock_and_store_nothing(send):
    send.acquired("t", 1000, ttl=10)
    before = send.model.snapshot()
    send("task.get", 500, id="t")
    assert send.model.snapshot() == before
    assert send.model.now == 500
    send("promise.get", id="none", now=600)
    assert send.task("t")["state"] == "acquired"
    send("promise.settle", id="none", state="resolved")
    assert send.task("t")["state"] == "pending", "a refused write is followed by the steps"


def test_an_earlier_instant_is_refused(send):
    send("promise.get", 10, id="p")
    assert send.promise("p", now=9)[0] == 400
    with pytest.raises(ValueError, match="is before"):
        send.model.tick(9)


def test_a_refusal_by_shape_moves_nothing(send):
    assert send("promise.create", 10, id="", timeoutAt=5)[0] == 400
    assert send.model.now == 0


def test_equal_deadlines_fire_by_kind_then_id(send):
    # The timeout of u comes first; the schedule, the leases and the retry are due at the same instant.
    send.acquired("b", 10**6, ttl=5000)
    send.acquired("a", 10**6, ttl=5000)
    send("promise.create", id="c", timeoutAt=10**6, tags=TARGET)
    send.promise("u", 5000, external="true")
    send("schedule.create", id="s", cron="*/5 * * * * *", promiseId="s.{{.timestamp}}", promiseTimeout=1)
    send.model.take_messages()
    fired = send.model.tick(5000)
    assert [(one["kind"], one["id"]) for one in fired] == [
        ("promise_timeout", "u"),
        ("lease_expiry", "a"),
        ("lease_expiry", "b"),
        ("dispatch", "a"),
        ("dispatch", "b"),
        ("dispatch", "c"),
        ("schedule", "s"),
    ]


def test_advance_visits_every_instant(send):
    send("promise.create", id="t", timeoutAt=12_000, tags=TARGET)
    send.model.take_messages()
    fired = send.model.advance_to(20_000)
    assert [(one["kind"], one["now"]) for one in fired] == [("dispatch", 5000), ("promise_timeout", 12_000)]
    assert send.model.now == 20_000
    assert send.model.next_due() is None


def test_a_batch_is_the_requests_one_by_one(send):
    head = {"corrId": "c", "version": NEW}
    create = {"kind": "promise.create", "head": head, "data": {"id": "p", "timeoutAt": 10}}
    bad = {"kind": "promise.settle", "head": head, "data": {"id": "none", "state": "resolved"}}
    assert [one["head"]["status"] for one in send.model.apply_batch([create, bad, create])] == [200, 404, 200]
    clean = Model()
    before = clean.snapshot()
    clean.apply_batch([create, bad, create], atomic=True)
    assert clean.snapshot() == before


def test_old_unblocks_are_dropped_and_counted():
    send = Client(unblock_retention=100)
    send.promise("p", 50)
    send("promise.register_listener", awaited="p", address="x://1")
    send.settle("p", 10)
    send.model.tick(109)
    assert len(send.model.messages()) == 1
    send.model.tick(110)
    assert send.model.snapshot()["dropped"] == 1
    assert send.model.messages() == []


def test_a_restored_model_goes_on_alike(send):
    send.acquired("t", 10**6)
    copy = Model()
    copy.restore(send.model.snapshot())
    assert copy.advance_to(9000) == send.model.advance_to(9000)
    assert copy.snapshot() == send.model.snapshot()


def schedule(send, **more):
    data = {"id": "s", "cron": "* * * * *", "promiseId": "{{.id}}.{{.timestamp}}", "promiseTimeout": 90_000}
    return send("schedule.create", **{**data, **more})


def test_a_schedule_makes_one_promise_an_occurrence(send):
    status, data = schedule(send, promiseTags=TARGET)
    assert data["schedule"]["nextRunAt"] == 60_000
    fired = send.model.tick(130_000)
    assert [(one["kind"], one["at"], one["id"]) for one in fired] == [
        ("schedule", 60_000, "s"),
        ("dispatch", 60_000, "s.60000"),
        ("schedule", 120_000, "s"),
        ("dispatch", 120_000, "s.120000"),
    ]
    row = send.row("s.60000")
    assert (row["createdAt"], row["timeoutAt"]) == (60_000, 150_000)
    assert row["tags"] == TARGET | names({"schedule": "s", **dict.fromkeys(("origin", "branch", "parent", "prefix"), "s.60000")})
    assert send("schedule.get", id="s")[1]["schedule"]["lastRunAt"] == 120_000


@pytest.mark.parametrize(
    ("catchup", "now", "made", "last"),
    [
        ("all", 190_000, ["s.120000", "s.180000", "s.60000"], 180_000),
        ("latest", 190_000, ["s.180000"], 180_000),
        ("none", 190_000, ["s.180000"], 180_000),
    ],
)
def test_catching_up(catchup, now, made, last):
    send = Client(catchup=catchup)
    schedule(send)
    send.model.tick(now)
    assert [row["id"] for row in send.model.snapshot()["promises"]] == made
    [row] = send.model.snapshot()["schedules"]
    assert (row["lastRunAt"], row["nextRunAt"]) == (last, 240_000)


def test_an_occurrence_that_is_too_late_is_skipped():
    send = Client(catchup="none")
    schedule(send, cron="0 * * * *")
    [fired] = send.model.tick(3_600_000 + 60_001)
    assert fired["detail"] == {"promise_id": None, "created": False}
    [row] = send.model.snapshot()["schedules"]
    assert (row.get("lastRunAt"), row["nextRunAt"]) == (None, 7_200_000)


def test_an_occurrence_without_a_duration_is_born_settled():
    send = Client(rules="strict")
    schedule(send, promiseTimeout=0, promiseTags=TARGET)
    send.model.tick(60_000)
    row = send.row("s.60000")
    assert (row["state"], row["settledAt"], row["tags"]) == ("rejected_timedout", 60_000, TARGET)
    assert row["task"] == {"state": "fulfilled", "acquisitions": 0, "resumes": []}


@pytest.mark.parametrize(("interval", "shown"), [(5000, [5000, 10_000, 780_000]), (7, [7, 5005, 777_784])])
def test_a_message_that_waits_is_not_sent_again(interval, shown):
    send = Client(retry_timeout=interval)
    send("promise.create", id="t", timeoutAt=10**6, tags=TARGET)
    seen = [send.task("t")["retryAt"]]
    for now in (5000, 777_777):
        assert send.model.tick(now) == []
        seen.append(send.task("t")["retryAt"])
    assert seen == shown
    assert send.model.next_due() == 10**6
    assert len(send.model.take_messages()) == 1
    assert send.model.next_due() == shown[-1]
    assert [one["at"] for one in send.model.tick(shown[-1])] == [shown[-1]]
