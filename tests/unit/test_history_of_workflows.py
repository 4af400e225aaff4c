"""The timeline of a workflow: its steps with their attempts, from a store, from records and from a recording alike."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.history import History
from resonate_core.worker import Worker
from resonate_core.workflow import now, receive, run, step

SECOND = 1000


def played() -> tuple[rc.Store, list[str]]:
    """A workflow that two workers run: a step fails twice, a local function, a message, and a step that fails for good."""
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    trace = io.StringIO()
    recording = store.record(trace)
    tries: list[str] = []

    def worker(name: str) -> Any:
        made = Worker(store, name=name)

        @step(retries=3, backoff=timedelta(seconds=20))
        async def charge() -> str:
            tries.append(name)
            clock.advance(4 * SECOND)
            if len(tries) < 3:
                raise ConnectionError("no route")
            return "r-1"

        def label() -> str:
            clock.advance(3 * SECOND)
            return "label"

        @step
        async def ship() -> None:
            clock.advance(SECOND)
            raise ValueError("no address")

        @made.workflow("fulfil")
        async def fulfil() -> None:
            await now()
            await charge()
            await run(label)
            await receive("approval", type=str)
            await ship()

        return made, fulfil

    (one, fulfil), (two, _) = worker("w1"), worker("w2")
    fulfil.using(id="order").delay()
    for each in (one, two, one):
        each.run_until_idle()
        clock.advance(50 * SECOND)
    store.workflows.send("order", "approval", "yes")
    two.run_until_idle()
    recording.close()
    return store, trace.getvalue().splitlines()


def of_records(store: rc.Store) -> History:
    jobs = [job.to_dict() for job in store.jobs.search()]
    promises = [one.to_dict() for one in store.promises.search() if one.id not in {job["id"] for job in jobs}]
    return History.of_records(store.now, promises=promises, jobs=jobs)


@pytest.mark.parametrize("source", ["store", "records", "recording"])
def test_steps_and_their_attempts(source: str) -> None:
    store, trace = played()
    history = {"store": lambda: History(store), "records": lambda: of_records(store), "recording": lambda: History(trace)}[source]()
    rows = {row["id"]: row for row in rc.display.timeline_data(history)["rows"]}
    assert list(rows) == ["order", "order:2", "order:3", "order:4", "order:5", "order:@approval:#1"], (
        "in the order of their beginnings"
    )
    assert {id: (row["kind"], row.get("name")) for id, row in rows.items() if id != "order"} == {
        "order:2": ("step", "charge"),
        "order:3": ("step", "label"),
        "order:4": ("promise", "receive approval"),
        "order:@approval:#1": ("promise", "message approval"),
        "order:5": ("step", "ship"),
    }
    spans = [
        [span.get(name) for name in ("state", "start", "end", "worker", "attempt", "outcome", "code")]
        for span in rows["order:2"]["spans"]
    ]
    assert spans == [
        ["running", 0, 4000, "w1", 1, "failed", "ConnectionError"],
        ["retry", 4000, 24_000, None, None, None, None],
        ["running", 54_000, 58_000, "w2", 2, "failed", "ConnectionError"],
        ["retry", 58_000, 98_000, None, None, None, None],
        ["running", 108_000, 112_000, "w1", 3, "completed", None],
    ]
    assert rows["order:2"]["changes"] == [[0, "pending"], [112_000, "resolved"]]
    assert [
        (span["start"], span["end"], span["worker"], span["outcome"], span.get("code")) for span in rows["order:5"]["spans"]
    ] == [(165_000, 166_000, "w2", "failed", "ValueError")]
    assert rows["order:4"]["changes"][-1] == [165_000, "resolved"], "by the message"
    assert all(settled in rows for _, settled, _ in history.wakes)
    assert source != "recording" or [(at, settled) for at, settled, _ in history.wakes] == [
        (24_000, "order:2"),
        (98_000, "order:2"),
        (165_000, "order:4"),
    ]


def test_a_step_whose_attempts_have_failed_so_far() -> None:
    store = rc.Store(clock=rc.ManualClock(0))
    store.jobs.enqueue("f", id="o", lifecycle="workflow")
    (job,) = store.jobs.claim("default", worker="w", lease=60_000, start=1)
    timer = {"id": "o:1:1", "timeout_in": 10_000, "tags": {"resonate:name": "retry charge", "resonate:timer": "true"}}
    store.jobs.record("o", job.version, [{**timer, "param": {"startedAt": 0, "code": "Boom", "message": ""}}])
    rows = {row["id"]: row for row in rc.display.timeline_data(store)["rows"]}
    assert rows["o:1"]["changes"] == [[0, "pending"]] and rows["o:1"]["spans"][1] == {"state": "retry", "start": 0, "end": None}
    store.jobs.cancel("o")
    rows = {row["id"]: row for row in rc.display.timeline_data(store)["rows"]}
    assert rows["o:1"]["changes"] == [[0, "pending"], [0, "rejected_canceled"]]


def test_a_run_that_was_started_over() -> None:
    store = rc.Store(clock=rc.ManualClock(0))
    trace = io.StringIO()
    with store.record(trace):
        store.jobs.enqueue("f", id="o", lifecycle="workflow")
        for turn in (1, 2):
            (job,) = store.jobs.claim("default", worker="w", lease=60_000, start=1)
            store.clock.advance(SECOND)
            step = {"id": "o:1", "state": "resolved", "value": turn, "tags": {"resonate:name": "poll"}}
            store.jobs.record("o", job.version, [{**step, "param": {"startedAt": store.now - 500}}])
            store.clock.advance(SECOND)
            store.jobs.start_over("o", job.version)
    (row,) = [row for row in rc.display.timeline_data(trace.getvalue().splitlines())["rows"] if row["id"] == "o:1"]
    assert row["changes"] == [[1000, "pending"], [1000, "resolved"], [2500, "pending"], [3000, "resolved"]]


def test_the_figure_names_the_steps() -> None:
    pytest.importorskip("matplotlib")
    store, _ = played()
    axes = rc.display.timeline(store).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "order",
        "charge order:2",
        "label order:3",
        "receive approval order:4",
        "ship order:5",
        "message approval order:@app…al:#1",
    ]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"waits for its retry", "attempt failed", "attempt completed"} <= set(legend)
