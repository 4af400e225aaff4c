"""Previews: a preview shows the same changes as the request makes later, and changes nothing itself."""

from __future__ import annotations

import io
from typing import Any

import pytest

import resonate_core as rc
from ui.ui_client import ACTIONS, Client, client_of, scene


@pytest.mark.parametrize(
    "kind, data",
    ACTIONS[:3] + ACTIONS[4:5] + ACTIONS[8:9] + ACTIONS[10:14] + ACTIONS[15:17],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_preview_shows_what_then_happens(filled: Any, kind: str, data: dict[str, Any]) -> None:
    ui, before, digest = client_of(filled), filled.snapshot(), filled.digest()
    shown = ui.do(kind, data, preview=True, horizonMs=0).json()
    assert filled.digest() == digest, "a preview changed the store"
    assert shown["status"] == 200 and shown["scope"]["complete"] is True
    assert ui.do(kind, data).status_code == 200
    really = {change.text for change in rc.diff(before, filled) if change.text not in _counts(rc.diff(before, filled))}
    assert {change["text"] for change in shown["changes"]} == really


def _counts(found: rc.Diff) -> set[str]:
    """Returns the changes of the counts of queues, which a preview leaves out."""
    only = ("counts", "days", "current", "hour", "hours")
    return {change.text for change in found if change.kind == "queue" and all(one.name in only for one in change.fields)}


def test_what_follows(store: Any) -> None:
    """A retry is made earlier: the step at its old instant does not run, and the awaiter still waits."""
    store.jobs.enqueue("send", id="j", max_retries=3, retry_policy={"kind": "fixed", "intervals": [5000]})
    (job,) = store.jobs.claim("default", worker="ann", lease=60_000, start=1)
    store.jobs.fail("j", job.version, "Down", "x")
    ui = client_of(store)
    shown = ui.do("job.run", {"id": "j"}, preview=True, horizonMs=10_000).json()
    assert [change["text"] for change in shown["changes"]][-1] == "job j: retry → pending"
    assert [(step["at"], step["text"], step["only"]) for step in shown["later"]] == [(5000, "job j becomes pending", "without")]
    cancelled = ui.do("job.cancel", {"id": "j"}, preview=True).json()
    assert cancelled["data"]["job"]["state"] == "cancelled"
    assert cancelled["scope"]["text"] == "1 row: what the action names, and what is linked with that"


def test_a_settlement_wakes_who_awaits(filled: Any) -> None:
    ui = client_of(filled)
    shown = ui.do("promise.settle", {"id": "flow.1", "state": "resolved"}, preview=True, horizonMs=0).json()
    assert "task flow: suspended → pending" in [change["text"] for change in shown["changes"]]
    assert [message["id"] for message in shown["messages"]["added"]] == ["flow"]


def test_a_cancelled_workflow_cancels_its_jobs(filled: Any) -> None:
    shown = client_of(filled).do("promise.settle", {"id": "flow", "state": "rejected_canceled"}, preview=True, horizonMs=0).json()
    assert "job flow.mail: pending → cancelled" in [change["text"] for change in shown["changes"]]


def test_steps_of_both_sides(filled: Any) -> None:
    shown = client_of(filled).do("task.halt", {"id": "nobody"}, preview=True, horizonMs=2 * 10**9).json()
    assert {step["only"] for step in shown["later"] if step["kind"] == "promise_timeout"} == {"both"}


def test_a_refused_action_shows_why(filled: Any) -> None:
    ui, digest = client_of(filled), filled.digest()
    shown = ui.do("job.cancel", {"id": "done"}, preview=True).json()
    assert shown["status"] == 409 and "done" in shown["error"] and shown["changes"] == []
    bulk = ui.do("bulk", {"kind": "job.cancel", "ids": ["waiting", "absent", "later"]}, preview=True).json()
    assert [(one["id"], one["status"]) for one in bulk["results"]] == [("waiting", 200), ("absent", 404), ("later", 200)]
    assert filled.digest() == digest


def test_an_action_on_all_that_match(filled: Any) -> None:
    shown = client_of(filled).do("job.cancel", {"queue": "mail"}, preview=True, horizonMs=0).json()
    cancelled = {change["id"] for change in shown["changes"] if change["kind"] == "job"}
    assert cancelled == {"archived", "running", "waiting", "later", "flow.mail"} and shown["data"]["count"] == 5


def test_a_horizon_is_bounded(filled: Any) -> None:
    filled.schedules.create("often", "* * * * * *", promise_timeout=1000)
    shown = client_of(filled).do("schedule.delete", {"id": "often"}, preview=True, horizonMs=86_400_000).json()
    assert len(shown["later"]) <= 1000 and shown["scope"]["complete"] is False and "only the first" in shown["scope"]["text"]
    assert client_of(filled).do("schedule.delete", {"id": "often"}, preview=True, horizonMs=31 * 86_400_000).status_code == 400


# --- time travel --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded() -> tuple[str, list[dict[str, Any]]]:
    """A recording, and the snapshots of the store after each of its requests."""
    trace, snapshots = io.StringIO(), []
    store = rc.Store(clock=rc.ManualClock(0))
    with store.record(trace):
        scene(store)
        snapshots.append(store.snapshot())
        store.take_messages()
        store.clock.advance(70_000)
        store.jobs.cancel("waiting")
        snapshots.append(store.snapshot())
        store.clock.advance(4_000_000)
        snapshots.append(store.snapshot())
    return trace.getvalue(), snapshots


@pytest.fixture
def travel(recorded: tuple[str, list[dict[str, Any]]]) -> tuple[Client, str, int]:
    """A dashboard with an open recording, its id, and the number of its events."""
    ui = client_of(rc.Store(clock=rc.ManualClock(0)), "read")
    opened = ui.post("travel", recorded[0], "application/x-ndjson").json()
    return ui, opened["travel"], opened["steps"]


def test_the_state_after_each_event(travel: tuple[Client, str, int], recorded: tuple[str, list[dict[str, Any]]]) -> None:
    ui, id, steps = travel
    recording = ui.app.dashboard.recordings.get(id, "")
    kinds = [event.kind for event in recording.events]
    for n, snapshot in zip([kinds.index("messages.take") - 1, kinds.index("job.cancel"), steps - 1], recorded[1], strict=True):
        state = recording.state(n)
        state.clock.advance_to(snapshot["now"])  # nothing was due meanwhile
        assert state.snapshot() == snapshot
    listed = ui.see("travel/steps", travel=id, limit=200)["items"]
    assert [event["n"] for event in listed] == list(range(steps)) and listed[0]["text"] == "the recording begins"
    assert {event["kind"] for event in listed} >= {"job.enqueue", "task.suspend", "messages.take", "step.job_ready", "job.cancel"}
    assert {event["n"] for event in ui.see("travel/steps", travel=id, id="waiting")["items"]} < set(range(steps))


def test_views_as_of_an_event(travel: tuple[Client, str, int]) -> None:
    ui, id, steps = travel
    (cancel,) = [event["n"] for event in ui.see("travel/steps", travel=id, limit=200)["items"] if event["kind"] == "job.cancel"]
    assert ui.see("job", travel=id, n=cancel - 1, id="waiting")["job"]["state"] == "pending"
    assert ui.see("job", travel=id, n=cancel, id="waiting")["job"]["state"] == "cancelled"
    state = ui.see("travel/state", travel=id, n=cancel)
    assert "job waiting: pending → cancelled" in [change["text"] for change in state["changes"]]
    assert state["next"]["n"] == cancel + 1 and state["counts"]["jobs"]["cancelled"] == 1
    diff = ui.see("travel/diff", travel=id, a=cancel - 1, b=cancel)
    assert diff["format"] == "resonate-diff/1" and diff["items"] == state["changes"] and diff["counts"]["changed"] > 0
    assert ui.see("travel/state", travel=id, n=steps - 1)["next"] is None
    assert ui.get("travel/state", travel=id, n=steps).status_code == 400
    assert ui.get("jobs", travel="unknown").status_code == 404


def test_a_story_as_a_test_runs(travel: tuple[Client, str, int]) -> None:
    ui, id, steps = travel
    for n in (0, steps // 2, steps - 1):
        answer = ui.get("travel/pytest", travel=id, n=n)
        assert answer.headers["content-type"].startswith("text/x-python") and "attachment" in answer.headers["content-disposition"]
        names: dict[str, Any] = {}
        exec(compile(answer.text, "test_story.py", "exec"), names)
        names["test_recording"]()
    broken = answer.text.replace("'job.cancel', {'id': 'waiting'}) == 200", "'job.cancel', {'id': 'waiting'}) == 409")
    assert broken != answer.text
    exec(compile(broken, "test_story.py", "exec"), names)
    with pytest.raises(AssertionError):
        names["test_recording"]()


def test_two_forks_differ(travel: tuple[Client, str, int]) -> None:
    ui, id, steps = travel
    first = ui.post("travel/fork", {"travel": id, "advanceMs": 1000}).json()
    second = ui.post(
        "travel/fork", {"travel": id, "do": [{"kind": "job.run", "data": {"id": "archived"}}], "name": "mended"}
    ).json()
    diff = ui.see("travel/diff", travel=first["travel"], other=second["travel"])
    assert "job archived: archived → pending" in [item["text"] for item in diff["items"]] and diff["b"]["label"].startswith(
        "mended"
    )
    assert {one["name"] for one in ui.see("travel")["items"]} == {"recording", "fork", "mended"}


def test_the_future_of_a_store_is_a_fork(filled: Any) -> None:
    ui, digest = client_of(filled, "read"), filled.digest()
    fork = ui.post("travel/fork", {"travel": "store", "advanceMs": 4_000_000}).json()
    texts = [event["text"] for event in ui.see("travel/steps", travel=fork["travel"])["items"]]
    assert "job later becomes pending" in texts and filled.digest() == digest
    assert ui.see("job", travel=fork["travel"], id="later")["job"]["state"] == "pending"


@pytest.mark.parametrize(
    "text, why",
    [
        ("", 'kind must be "open"'),
        ("{}", "trace line 1: kind must be a text, got none"),
        ("nonsense", "trace line 1"),
        ('{"kind":"open","now":0,"req":{},"res":{}}', "trace line 1: req.format must be 'resonate_core-trace/1', got None"),
    ],
)
def test_what_is_no_recording_is_refused(text: str, why: str) -> None:
    answer = client_of(rc.Store(clock=rc.ManualClock(0))).post("travel", text, "application/x-ndjson")
    assert answer.status_code == 400 and why in answer.json()["error"], answer.text


def test_only_the_newest_recordings_stay_open(recorded: tuple[str, list[dict[str, Any]]]) -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock(0)))
    ids = [ui.post("travel", recorded[0], "application/x-ndjson").json()["travel"] for _ in range(9)]
    assert {one["travel"] for one in ui.see("travel")["items"]} == set(ids[1:])


@pytest.mark.parametrize(
    "body",
    [
        {"travel": "absent"},
        {"advanceMs": -1},
        {"advanceMs": "x"},
        {"do": "x"},
        {"do": [1]},
        {"do": [{"kind": "debug.reset"}]},
        {"travel": "store", "do": [{"kind": "x", "data": 1}]},
    ],
)
def test_malformed_forks_are_refused(filled: Any, body: dict[str, Any]) -> None:
    assert client_of(filled).post("travel/fork", body).status_code in (400, 404)
