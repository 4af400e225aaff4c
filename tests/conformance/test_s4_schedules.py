"""PROTOCOL 4: schedules, their cron expressions, and the occurrences that are made up after a downtime."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, DialectClient, executes, stored, stored_schedule, stored_task

Make = Callable[..., Any]
MINUTE = 60_000
DAY = 86_400_000


def ms(text: str) -> int:
    """An instant in UTC, written as 2024-02-28T23:59:30."""
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


def ids(store: Any) -> list[str]:
    """The ids of all stored promises."""
    return [p["id"] for p in store.snapshot()["promises"]]


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_18_schedule_create_get_delete(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    assert "nobody" in client.send("schedule.get", {"id": "nobody"}).must(404).data
    client.send("schedule.delete", {"id": "nobody"}).must(404)
    record = client.schedule("s", "*/5 * * * *", "t-{{.id}}", 500, {"a": "b"}, now=7).must()["schedule"]
    empty = {} if version == V26 else {"headers": {}, "data": ""}
    assert record == {
        "id": "s",
        "cron": "*/5 * * * *",
        "promiseId": "t-{{.id}}",
        "promiseTimeout": 500,
        "promiseParam": empty,
        "promiseTags": {"a": "b"},
        "createdAt": 7,
        "nextRunAt": 5 * MINUTE,
    }
    assert client.send("schedule.get", {"id": "s"}).must()["schedule"] == record
    again = client.schedule("s", "0 0 * * *", "other", 900, {}, now=9).must()
    assert again["schedule"] == record
    assert stored_schedule(store, "s")["dialect"] == version
    assert client.send("schedule.delete", {"id": "s"}).must().data == {}
    client.send("schedule.get", {"id": "s"}).must(404)
    store.tick(now=10 * MINUTE)
    assert ids(store) == []


@pytest.mark.parametrize("version", [V26, V25])
@pytest.mark.parametrize("catchup", ["all", "latest", "none"])
def test_s3_20_a_paused_schedule_does_not_fire(make_store: Make, version: str, catchup: str) -> None:
    store = make_store(catchup=catchup)
    client = DialectClient(store, version)
    for kind in ("schedule.pause", "schedule.resume"):
        assert "nobody" in client.send(kind, {"id": "nobody"}).must(404).data
        client.send(kind, {}).must(400)
    created = client.schedule("s", "*/5 * * * *", "p{{.timestamp}}", 500, {}, now=7).must()["schedule"]
    assert client.send("schedule.resume", {"id": "s"}).must()["schedule"] == created
    store.tick(now=5 * MINUTE)
    ran = client.send("schedule.get", {"id": "s"}).must()["schedule"]
    paused = {**ran, "paused": True}
    assert client.send("schedule.pause", {"id": "s"}).must()["schedule"] == paused
    assert client.send("schedule.pause", {"id": "s"}).must()["schedule"] == paused
    assert client.send("schedule.get", {"id": "s"}).must()["schedule"] == paused
    assert client.schedule("s", "0 0 * * *").must()["schedule"] == paused, "a repeated create resumes nothing"
    assert [fired for fired in store.tick(now=58 * MINUTE) if fired.kind.startswith("schedule")] == []
    assert ids(store) == [f"p{5 * MINUTE}"]
    resumed = client.send("schedule.resume", {"id": "s"}).must()["schedule"]
    assert resumed == {**ran, "nextRunAt": 60 * MINUTE}
    store.tick(now=60 * MINUTE)
    assert sorted(ids(store)) == [f"p{5 * MINUTE}", f"p{60 * MINUTE}"]


@pytest.mark.not_of_the_model("it sets no schedule aside")
def test_s3_20_a_pause_ends_what_set_a_schedule_aside(store: Any) -> None:
    client = DialectClient(store)
    client.schedule("s", "*/5 * * * *", "p{{.timestamp}}", 500, {}).must()
    snapshot = store.snapshot()
    snapshot["schedules"][0]["cron"] = "CRON_TZ=Nowhere/Land * * * * *"
    store.restore(snapshot)
    store.tick(now=5 * MINUTE)
    assert [problem.name for problem in store.problems()] == ["schedule_set_aside"]
    assert "problem" not in client.send("schedule.pause", {"id": "s"}).must()["schedule"]
    assert store.problems() == []
    assert "Nowhere/Land" in client.send("schedule.resume", {"id": "s"}).must(400).data
    assert client.send("schedule.get", {"id": "s"}).must()["schedule"]["paused"] is True
    client.send("schedule.delete", {"id": "s"}).must()


def test_s3_18_defaults(store: Any) -> None:
    data = {"id": "s", "cron": "@hourly", "promiseId": "p", "promiseTimeout": 0}
    record = DialectClient(store).send("schedule.create", data).must()["schedule"]
    assert (record["promiseParam"], record["promiseTags"], record["nextRunAt"]) == ({}, {}, 60 * MINUTE)


def test_s3_18_an_invalid_cron_is_a_400_even_where_the_id_exists(store: Any) -> None:
    client = DialectClient(store)
    client.schedule("s").must()
    client.schedule("s", "x").must(400)


NEXT = [
    ("* * * * *", "1970-01-01T00:00:00", "1970-01-01T00:01:00"),
    ("* * * * *", "1970-01-01T00:00:59", "1970-01-01T00:01:00"),
    ("*/15 * * * *", "2024-01-01T00:15:00", "2024-01-01T00:30:00"),
    ("5-59/20 * * * *", "2024-01-01T00:30:00", "2024-01-01T00:45:00"),
    ("0 9-17/4 * * *", "2024-01-01T13:30:00", "2024-01-01T17:00:00"),
    ("0,30 8,20 * * *", "2024-01-01T08:30:00", "2024-01-01T20:00:00"),
    ("0 0 29 2 *", "2024-03-01T00:00:00", "2028-02-29T00:00:00"),
    ("0 0 29 2 *", "2096-03-01T00:00:00", "2104-02-29T00:00:00"),
    ("0 0 31 * *", "2024-01-31T00:00:00", "2024-03-31T00:00:00"),
    ("0 0 * * 0", "2024-01-01T00:00:00", "2024-01-07T00:00:00"),
    ("0 0 * * 7", "2024-01-01T00:00:00", "2024-01-07T00:00:00"),
    ("0 0 * * SUN", "2024-01-01T00:00:00", "2024-01-07T00:00:00"),
    ("0 0 * * mon-fri", "2024-01-05T00:00:00", "2024-01-08T00:00:00"),
    ("0 0 1 JAN *", "2024-01-01T00:00:00", "2025-01-01T00:00:00"),
    ("0 0 1 jan-mar *", "2024-01-01T00:00:00", "2024-02-01T00:00:00"),
    ("0 0 13 * 5", "2024-09-01T00:00:00", "2024-09-06T00:00:00"),
    ("0 0 13 * 5", "2024-09-06T00:00:00", "2024-09-13T00:00:00"),
    ("0 0 */10 * 5", "2024-09-02T00:00:00", "2024-10-11T00:00:00"),
    ("0 0 13 * */2", "2024-09-01T00:00:00", "2024-10-13T00:00:00"),
    ("0 0 */2 * mon", "2024-03-04T00:00:00", "2024-03-11T00:00:00"),
    ("0 0 1-7 * *", "2024-09-07T00:00:00", "2024-10-01T00:00:00"),
    ("@hourly", "2024-01-01T00:00:00", "2024-01-01T01:00:00"),
    ("30 4 * jan-mar Mon-Fri", "2024-03-29T12:00:00", "2025-01-01T04:30:00"),
    ("@daily", "2024-02-28T12:00:00", "2024-02-29T00:00:00"),
    ("@midnight", "2024-02-28T12:00:00", "2024-02-29T00:00:00"),
    ("@weekly", "2024-01-01T00:00:00", "2024-01-07T00:00:00"),
    ("@monthly", "2024-01-01T00:00:00", "2024-02-01T00:00:00"),
    ("@yearly", "2024-01-01T00:00:00", "2025-01-01T00:00:00"),
    ("@annually", "2024-06-01T00:00:00", "2025-01-01T00:00:00"),
    ("30 * * * * *", "2024-01-01T00:00:00", "2024-01-01T00:00:30"),
    ("*/20 * * * * *", "1970-01-01T00:00:40", "1970-01-01T00:01:00"),
    ("*/20 0 0 * * *", "2024-01-01T00:00:40", "2024-01-02T00:00:00"),
    ("CRON_TZ=Europe/Berlin 0 12 * * *", "2024-07-01T00:00:00", "2024-07-01T10:00:00"),
    ("CRON_TZ=Europe/Berlin 0 12 * * *", "2024-12-01T00:00:00", "2024-12-01T11:00:00"),
    ("CRON_TZ=Asia/Kolkata 0 0 * * *", "2024-01-01T00:00:00", "2024-01-01T18:30:00"),
    # A local time that a change of the clocks skips fires at the change; a time that occurs twice fires at the first only (PROTOCOL 8).
    ("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-03-30T12:00:00", "2024-03-31T01:00:00"),
    ("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-10-26T12:00:00", "2024-10-27T00:30:00"),
    ("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-10-27T00:30:00", "2024-10-28T01:30:00"),
    ("CRON_TZ=Europe/Berlin 30 2 * * *", "2024-03-31T01:00:00", "2024-04-01T00:30:00"),
    # An interval follows elapsed time: it does not fire for an hour that is skipped, and fires again in an hour that occurs twice.
    ("CRON_TZ=Europe/Berlin */10 2 * * *", "2024-03-31T00:00:00", "2024-04-01T00:00:00"),
    ("CRON_TZ=Europe/Berlin 0 * * * *", "2024-10-27T00:00:00", "2024-10-27T01:00:00"),
    ("CRON_TZ=Europe/Berlin */15 2 * * *", "2024-10-27T00:45:00", "2024-10-27T01:00:00"),
    # Lord Howe moves its clock by half an hour; Samoa had no 30 December 2011.
    ("CRON_TZ=Australia/Lord_Howe 10 2 * * *", "2024-10-05T00:00:00", "2024-10-05T15:30:00"),
    ("CRON_TZ=Pacific/Apia 0 9 * * *", "2011-12-29T19:00:00", "2011-12-30T19:00:00"),
]


@pytest.mark.parametrize(("cron", "now", "expected"), NEXT)
def test_s4_next_occurrence_is_strictly_after_now(store: Any, cron: str, now: str, expected: str) -> None:
    record = DialectClient(store).schedule("s", cron, now=ms(now)).must()["schedule"]
    assert record["nextRunAt"] == ms(expected)


def test_s4_milliseconds_within_a_second(store: Any) -> None:
    client = DialectClient(store)
    assert client.schedule("a", now=59_999).must()["schedule"]["nextRunAt"] == MINUTE
    assert client.schedule("b", now=MINUTE).must()["schedule"]["nextRunAt"] == 2 * MINUTE
    assert client.schedule("c", now=MINUTE + 1).must()["schedule"]["nextRunAt"] == 2 * MINUTE


# fmt: off
REFUSED = [
    "", " ", "x", "* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *",
    "* * * * 8", "*/0 * * * *", "5-1 * * * *", "-1 * * * *", "1,,2 * * * *", "a * * * *", "* * * foo *", "@never", "@", "@ hourly",
    "0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "CRON_TZ=Nowhere/Land * * * * *", "CRON_TZ=Europe/Berlin",
    "CRON_TZ= * * * * *", "1.5 * * * *", "1-2-3 * * * *", "1/2/3 * * * *", "0 0 L * *", "0 0 * * 1#2", "0 0 15W * *",
]
# fmt: on


@pytest.mark.parametrize("cron", REFUSED)
def test_s4_cron_texts_that_are_refused(store: Any, cron: str) -> None:
    """Invalid expressions, and those that can never fire."""
    DialectClient(store).schedule("s", cron, now=5).must(400)
    assert store.snapshot()["schedules"] == [] and store.now == 0


@pytest.mark.parametrize("version", [V26, V25])
def test_s4_an_occurrence_is_created_as_of_its_instant(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.schedule("s", timeout=10 * MINUTE, tags={"a": "b"}, promiseParam={"data": "eA=="}, now=0).must()
    fired = store.tick(now=MINUTE + 777)
    assert [(f.kind, f.id, f.at, f.now) for f in fired] == [("schedule", "s", MINUTE, MINUTE + 777)]
    assert fired[0].detail == {"promise_id": "s.60000", "created": True}
    row = stored(store, "s.60000")
    assert (row["state"], row["createdAt"], row["timeoutAt"], row["dialect"]) == ("pending", MINUTE, 11 * MINUTE, version)
    assert row["param"] == {"data": "eA=="} and row["tags"]["a"] == "b"
    schedule = stored_schedule(store, "s")
    assert (schedule["lastRunAt"], schedule["nextRunAt"]) == (MINUTE, 2 * MINUTE)
    assert client.send("schedule.get", {"id": "s"}).must()["schedule"]["lastRunAt"] == MINUTE


@pytest.mark.parametrize("version", [V26, V25])
def test_s4_an_occurrence_with_a_target_is_dispatched(store: Any, version: str) -> None:
    DialectClient(store, version).schedule("s", tags={"resonate:target": ADDRESS}, now=0).must()
    fired = store.tick(now=MINUTE + 5)
    assert [(f.kind, f.id, f.at) for f in fired] == [("schedule", "s", MINUTE), ("dispatch", "s.60000", MINUTE)]
    assert executes(store) == [("execute" if version == V26 else "invoke", "s.60000", 0)]
    assert stored_task(store, "s.60000")["retryAt"] == MINUTE + 5 + 5_000


TEMPLATES = [
    ("{{.id}}.{{.timestamp}}", "s.60000"),
    ("{{.timestamp}}-{{.id}}-{{.id}}", "60000-s-s"),
    ("fixed", "fixed"),
    ("{{ .id }}", "{{ .id }}"),
    ("{{.Id}}{{.timestamp}}", "{{.Id}}60000"),
    ("{{.id}", "{{.id}"),
    ("x:{{.id}}/é", "x:s/é"),
]


@pytest.mark.parametrize(("template", "id"), TEMPLATES)
def test_s4_templates(store: Any, template: str, id: str) -> None:
    DialectClient(store).schedule("s", template=template, now=0).must()
    store.tick(now=MINUTE)
    assert ids(store) == [id]


def test_s4_a_template_is_expanded_in_one_pass(store: Any) -> None:
    DialectClient(store).schedule("{{.timestamp}}", template="{{.id}}", now=0).must()
    store.tick(now=MINUTE)
    assert ids(store) == ["{{.timestamp}}"]


def test_s4_an_occurrence_whose_id_exists_is_not_created_twice(store: Any) -> None:
    client = DialectClient(store)
    client.create("s.60000", tags={"mine": "yes"}, now=0).must()
    client.schedule("s", now=0).must()
    fired = store.tick(now=MINUTE)
    assert fired[0].detail == {"promise_id": "s.60000", "created": False}
    assert stored(store, "s.60000")["tags"] == {"mine": "yes"}
    assert stored_schedule(store, "s")["lastRunAt"] == MINUTE


def test_s4_delete_and_create_again_does_not_make_an_occurrence_twice(store: Any) -> None:
    client = DialectClient(store)
    for _ in range(2):
        client.schedule("s", template="once", now=store.now).must()
        store.tick(now=store.now + MINUTE)
        client.send("schedule.delete", {"id": "s"}).must()
    assert ids(store) == ["once"] and stored(store, "once")["createdAt"] == MINUTE


def test_s4_an_occurrence_past_its_own_deadline_times_out_next(store: Any) -> None:
    client = DialectClient(store)
    client.schedule("s", timeout=1_000, tags={"resonate:target": ADDRESS}, now=0).must()
    fired = store.tick(now=2 * MINUTE + 5_000)
    assert [(f.kind, f.at) for f in fired] == [
        ("schedule", MINUTE),
        ("promise_timeout", MINUTE + 1_000),
        ("schedule", 2 * MINUTE),
        ("promise_timeout", 2 * MINUTE + 1_000),
    ]
    row = stored(store, "s.60000")
    assert (row["state"], row["createdAt"], row["settledAt"]) == ("rejected_timedout", MINUTE, MINUTE + 1_000)
    assert row["task"]["state"] == "fulfilled" and executes(store) == []


def test_s4_a_zero_timeout_is_born_settled(store: Any) -> None:
    DialectClient(store).schedule("s", timeout=0, now=0).must()
    store.tick(now=MINUTE)
    row = stored(store, "s.60000")
    assert (row["state"], row["createdAt"], row["settledAt"], row["timeoutAt"]) == ("rejected_timedout", MINUTE, MINUTE, MINUTE)


def test_s4_a_huge_timeout_saturates(store: Any) -> None:
    client = DialectClient(store)
    for i, timeout in enumerate((2**63 - 1, 2**53 - 1, 2**50)):
        client.schedule(f"s{i}", timeout=timeout, now=0).must()
    store.tick(now=MINUTE)
    assert [stored(store, f"s{i}.60000")["timeoutAt"] for i in range(3)] == [2**63 - 1, 2**53 - 1 + MINUTE, 2**50 + MINUTE]


def test_s4_a_delay_in_the_tags_of_a_schedule_is_a_400(store: Any) -> None:
    tags = {"resonate:delay": "5", "resonate:target": ADDRESS}
    for version in (V26, V25):
        DialectClient(store, version).schedule("s", tags=tags).must(400)
        DialectClient(store, version).schedule("s", tags={"resonate:target": ""}).must(400)


# --- catch-up ----------------------------------------------------------------------------------------------------------------
CATCHUP = [
    # option, now in ms, occurrences that are made, lastRunAt and nextRunAt (the last three in minutes)
    ("all", 5 * MINUTE + 500, [1, 2, 3, 4, 5], 5, 6),
    ("latest", 5 * MINUTE + 500, [5], 5, 6),
    ("none", 5 * MINUTE + 500, [5], 5, 6),
    ("all", MINUTE, [1], 1, 2),
    ("latest", MINUTE, [1], 1, 2),
    ("none", MINUTE, [1], 1, 2),
]


@pytest.mark.parametrize(("catchup", "now", "made", "last", "following"), CATCHUP)
def test_s4_catchup(make_store: Make, catchup: str, now: int, made: list[int], last: int, following: int) -> None:
    store = make_store(catchup=catchup)
    DialectClient(store).schedule("s", now=0).must()
    fired = store.tick(now=now)
    assert [f.detail["promise_id"] for f in fired] == [f"s.{m * MINUTE}" for m in made]
    assert sorted(ids(store)) == sorted(f"s.{m * MINUTE}" for m in made)
    schedule = stored_schedule(store, "s")
    assert (schedule["lastRunAt"], schedule["nextRunAt"]) == (last * MINUTE, following * MINUTE)
    assert {stored(store, i)["createdAt"] for i in ids(store)} == {m * MINUTE for m in made}


def test_s4_catchup_latest_is_one_step_at_the_first_missed(make_store: Make) -> None:
    store = make_store(catchup="latest")
    DialectClient(store).schedule("s", now=0).must()
    assert [(f.at, f.detail) for f in store.tick(now=3 * MINUTE)] == [(MINUTE, {"promise_id": "s.180000", "created": True})]


def test_s4_catchup_none_skips_what_is_more_than_a_minute_late(make_store: Make) -> None:
    store = make_store(catchup="none")
    client = DialectClient(store)
    client.schedule("hourly", "@hourly", now=0).must()
    client.schedule("daily", "@daily", now=0).must()
    fired = store.tick(now=61 * MINUTE)
    assert [(f.id, f.at, f.detail) for f in fired] == [("hourly", 60 * MINUTE, {"promise_id": "hourly.3600000", "created": True})]
    fired = store.tick(now=DAY + MINUTE + 1)
    assert [(f.id, f.at, f.detail) for f in fired] == [
        ("hourly", 120 * MINUTE, {"promise_id": None, "created": False}),
        ("daily", DAY, {"promise_id": None, "created": False}),
    ]
    assert ids(store) == ["hourly.3600000"]
    assert stored_schedule(store, "hourly")["lastRunAt"] == 60 * MINUTE
    assert stored_schedule(store, "hourly")["nextRunAt"] == DAY + 60 * MINUTE
    assert "lastRunAt" not in stored_schedule(store, "daily") and stored_schedule(store, "daily")["nextRunAt"] == 2 * DAY


@pytest.mark.parametrize("catchup", ["all", "latest", "none"])
def test_s4_a_server_that_was_there_misses_nothing(make_store: Make, clock_type: Any, catchup: str) -> None:
    clock = clock_type(0)
    store = make_store(catchup=catchup, clock=clock)
    DialectClient(store).schedule("s").must()
    clock.advance_to(3 * MINUTE)
    assert ids(store) == ["s.120000", "s.180000", "s.60000"]


def test_s4_all_occurrences_are_made_after_any_request(store: Any) -> None:
    client = DialectClient(store)
    client.schedule("s", now=0).must()
    client.create("p", now=3 * MINUTE).must()
    assert [p["id"] for p in store.snapshot()["promises"]] == ["p", "s.120000", "s.180000", "s.60000"]


def test_s4_more_occurrences_than_the_budget(make_store: Make) -> None:
    store = make_store(check=False)
    client = DialectClient(store)
    client.schedule("s", timeout=FAR, now=0).must()
    client.create("p", now=1_500 * MINUTE).must()
    assert len(ids(store)) == 65
    assert len(store.tick()) == 1_436
    assert stored_schedule(store, "s")["lastRunAt"] == 1_500 * MINUTE
