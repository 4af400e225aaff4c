"""What `why`, the tree and the dashboard say about the steps of workflows: names, results, durations, attempts, errors."""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from resonate_core.base.step_lines import raised_line, running_line
from resonate_core.explain.call_tree import CallNode, calls_of, in_order
from resonate_core.explain.store_reader import StoreReader
from ui.ui_client import client_of

MINUTE = 60_000
NAME, TIMER = "resonate:name", "resonate:timer"


def record(id: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "tags": {NAME: name, **more.pop("tags", {})}, **more}


@pytest.fixture
def store() -> rc.Store:
    """A workflow that runs: with an own record, a step that was tried twice, one that failed, one whose attempt failed, a child job."""
    store = rc.Store(clock=rc.ManualClock(1_000_000))
    store.jobs.enqueue(
        "fulfil", {"card": "4242"}, id="order", queue="flows", lifecycle="workflow", tags={"resonate:workflow": "true"}
    )
    (job,) = store.jobs.claim("flows", worker="ann", lease=10 * MINUTE, start=1)
    store.clock.advance(5000)
    retry = {"startedAt": 1_001_000, "code": "ConnectionError", "message": "no route"}
    store.jobs.record(
        "order",
        job.version,
        [
            record("order:1", "uuid4", state="resolved", value="u"),
            record("order:2:1", "retry charge", tags={TIMER: "true"}, timeout_in=10_000, param=retry),
        ],
    )
    store.clock.advance(12_000)
    failed = {"code": "CardDeclined", "message": "no money on 4242"}
    store.jobs.record(
        "order",
        job.version,
        [
            record("order:2", "charge", state="resolved", value={"receipt": 7}, param={"startedAt": 1_015_000, "attempts": 2}),
            record("order:3", "refund", state="rejected", value=failed, param={"startedAt": 1_016_500}),
            record("order:5:3", "retry pack", tags={TIMER: "true"}, timeout_in=MINUTE, param={**retry, "startedAt": 1_016_900}),
        ],
    )
    store.jobs.enqueue(
        "label:print", id="order:4", queue="labels", parent={"id": "order", "version": job.version}, tags={NAME: "job label:print"}
    )
    return store


def report(store: rc.Store, *lines: str) -> None:
    store.jobs.report("order", store.jobs.get("order").version, lines=list(lines))


def tree(store: rc.Store) -> dict[str, CallNode]:
    return {call.id: call for call, _ in in_order(calls_of(StoreReader(store), "order"))}


def test_why_says_which_step_runs_since_when_and_what_it_raised(store: rc.Store) -> None:
    at = store.now
    report(
        store,
        raised_line("pack", "order:5", 1, "OSError: paper jam", 200),
        "half done",
        running_line("pack", "order:5", 2, at - 2000),
    )
    why = rc.why(store, "order")
    assert why.sentence == (
        "Job order is run by ann since 1970-01-01T00:16:40.000Z (17s ago); "
        "attempt 2 of step pack (order:5) runs since 1970-01-01T00:16:55.000Z (2s ago), after OSError: paper jam."
    )
    assert client_of(store).see("why", id="order")["sentence"] == why.sentence
    note = tree(store)["order"].note(store.now)
    assert note.startswith("run by ann; attempt 2 of step pack (order:5) runs since ")


def test_a_step_that_waits_a_moment_for_its_next_attempt(store: rc.Store) -> None:
    report(store, raised_line("pack", "order:5", 1, "OSError: paper jam", 4000))
    why = rc.why(store, "order")
    assert "attempt 2 of step pack (order:5) begins at 1970-01-01T00:17:01.000Z (in 4s), after OSError: paper jam." in why.sentence
    assert why.next is not None and (why.next.what, why.next.at) == ("attempt 2 of step pack begins", store.now + 4000)


def test_the_timer_tells_what_was_raised_last_if_no_line_does(store: rc.Store) -> None:
    report(store, running_line("pack", "order:5", 4, store.now - 1000))
    assert "attempt 4 of step pack (order:5) runs since" in rc.why(store, "order").sentence
    assert rc.why(store, "order").sentence.endswith("after ConnectionError: no route.")


def test_what_has_ended_or_was_of_an_earlier_attempt_does_not_run(store: rc.Store) -> None:
    report(store, running_line("charge", "order:2", 2, 1_015_000), running_line("ship", "order:9", 1, 1_015_000))
    assert "step ship (order:9) runs" in rc.why(store, "order").sentence and "charge" not in rc.why(store, "order").sentence
    version = store.jobs.get("order").version
    store.jobs.suspend("order", version, ["order:4"])
    assert "ship" not in rc.why(store, "order").sentence
    store.jobs.run("order")
    store.jobs.claim("flows", worker="bob", lease=MINUTE, start=1)
    assert rc.why(store, "order").sentence.startswith("Job order is run by bob since")
    assert "ship" not in rc.why(store, "order").sentence


def test_several_steps_run(store: rc.Store) -> None:
    report(store, *(running_line("pick", f"order:6:{branch}:1", 1, 1_016_000) for branch in range(5)))
    sentence = rc.why(store, "order").sentence
    assert sentence.count("step pick (order:6:") == 3 and sentence.endswith("; 2 other steps run.")


def test_a_waiting_workflow_names_what_it_waits_for(store: rc.Store) -> None:
    store.jobs.suspend("order", store.jobs.get("order").version, ["order:5:3", "order:4"])
    why = rc.why(store, "order")
    assert "order:5:3 (attempt 4 of step pack at 1970-01-01T00:17:57.000Z (in 1m), after ConnectionError: no route)" in why.sentence
    assert "order:4 (job label:print: pending)" in why.sentence
    assert tree(store)["order"].note(store.now) == "waits for order:5:3 (retry pack), order:4 (job label:print)"


@pytest.mark.parametrize(
    ("id", "sentence"),
    [
        (
            "order:2",
            "Step charge (order:2) of job order succeeded at 1970-01-01T00:16:57.000Z (now), in attempt 2, which took 2s.",
        ),
        (
            "order:3",
            "Step refund (order:3) of job order failed at 1970-01-01T00:16:57.000Z (now), which took 500ms: "
            "CardDeclined: no money on 4242.",
        ),
        (
            "order:2:1",
            "Attempt 2 of step charge (order:2) of job order was due at 1970-01-01T00:16:55.000Z (2s ago), "
            "after ConnectionError: no route.",
        ),
        (
            "order:5:3",
            "Attempt 4 of step pack (order:5) of job order begins at 1970-01-01T00:17:57.000Z (in 1m), "
            "after ConnectionError: no route.",
        ),
        ("order:1", "Call uuid4 (order:1) of job order was recorded at 1970-01-01T00:16:45.000Z (12s ago)."),
    ],
)
def test_why_of_a_record(store: rc.Store, id: str, sentence: str) -> None:
    assert rc.why(store, id).sentence == sentence
    assert client_of(store).see("promise", id=id)["why"]["sentence"] == sentence


def test_a_step_that_runs_at_most_once_is_run_by_its_job(store: rc.Store) -> None:
    store.jobs.record("order", store.jobs.get("order").version, [record("order:8", "wire")])
    why = rc.why(store, "order:8")
    assert why.sentence == "Step wire (order:8) is run by job order." and [id for id, _ in why.chain] == ["order"]


def test_the_tree(store: rc.Store) -> None:
    calls = tree(store)
    assert [(call.id, call.kind, call.func) for call in calls.values()] == [
        ("order", None, "fulfil"),
        ("order:1", "own", "uuid4"),
        ("order:2", "step", "charge"),
        ("order:2:1", "retry", "retry charge"),
        ("order:3", "step", "refund"),
        ("order:5:3", "retry", "retry pack"),
        ("order:4", "job", "label:print"),
    ]
    assert [child.id for child in calls["order:2"].children] == ["order:2:1"], "a timer is below its step"
    notes = {id: call.note(store.now) for id, call in calls.items()}
    assert notes["order:2"] == "in attempt 2" and notes["order:2:1"] == "after ConnectionError: no route"
    assert notes["order:3"] == "CardDeclined: no money on 4242" and notes["order:1"] == ""
    assert notes["order:5:3"].startswith("attempt 4 begins at 1970-01-01T00:17:57.000Z (in 1m), after ConnectionError")
    assert {id: call.took(store.now) for id, call in calls.items() if call.kind == "step"} == {"order:2": 2000, "order:3": 500}


def test_a_later_attempt_of_a_step_that_runs_at_most_once(store: rc.Store) -> None:
    version = store.jobs.get("order").version
    store.jobs.record("order", version, [record("order:8", "wire"), record("order:8:b2", "begun wire", state="resolved")])
    calls = tree(store)
    assert calls["order:8:b2"].kind == "own" and [child.id for child in calls["order:8"].children] == ["order:8:b2"]
    assert not {"order:8:b2"} & {row["id"] for row in rc.display.timeline_data(store)["rows"]}


def test_the_copies_of_a_fork_took_no_time(store: rc.Store) -> None:
    store.clock.advance(100 * MINUTE)
    store.jobs.fork("order", "order:3", "again")
    calls = {call.id: call for call, _ in in_order(calls_of(StoreReader(store), "again"))}
    assert calls["again:2"].took(store.now) == 0 and calls["again:2"].func == "charge"


def test_a_record_of_a_program_keeps_its_function(store: rc.Store) -> None:
    store.promises.create("free", timeout=1000, param={"func": "rpc", "args": []})
    assert calls_of(StoreReader(store), "free").func == "rpc" and calls_of(StoreReader(store), "free").step is None


def test_the_dashboard(store: rc.Store) -> None:
    report(store, running_line("pack", "order:5", 4, store.now - 1000))
    page = client_of(store).see("workflow", id="order")
    nodes: dict[str, Any] = {}

    def add(node: dict[str, Any]) -> None:
        nodes[node["id"]] = node
        for child in node["children"]:
            add(child)

    add(page["tree"])
    charge = nodes["order:2"]
    assert (charge["func"], charge["kind"], charge["attempts"], charge["tookMs"]) == ("charge", "step", 2, 2000)
    assert charge["promise"]["value"]["json"] == {"receipt": 7} and charge["startedAt"] == 1_015_000
    assert nodes["order:3"]["error"] == "CardDeclined: no money on 4242" and nodes["order:1"]["kind"] == "own"
    assert "attempt 4 of step pack (order:5) runs since" in page["tree"]["note"]
    rows = {row["id"]: row for row in page["timeline"]["rows"]}
    assert [(span["state"], span.get("worker"), span.get("outcome")) for span in rows["order:2"]["spans"]] == [
        ("running", "ann", "failed"),
        ("retry", None, None),
        ("running", "ann", "completed"),
    ]
    assert rows["order:5"]["kind"] == "step" and rows["order:5"]["name"] == "pack"
    assert not {"order:1", "order:2:1", "order:5:3"} & rows.keys()


@pytest.mark.parametrize("rules", [{"redact_types": ["fulfil"]}, {"redact_keys": ["card"]}])
def test_redaction(store: rc.Store, rules: dict[str, Any]) -> None:
    report(
        store, raised_line("pack", "order:5", 3, "OSError: card 4242 is worn", 200), running_line("pack", "order:5", 4, 1_016_000)
    )
    ui = client_of(store, **rules)
    for view, id in [("workflow", "order"), ("why", "order"), ("why", "order:3"), ("promise", "order:3"), ("job", "order")]:
        text = ui.get(view, id=id).text
        assert "4242" not in text, (view, id, text)
    assert "after OSError" in ui.see("why", id="order")["sentence"]
