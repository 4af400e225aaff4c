"""`resonate-core jobs` with jobs that wait: enqueue, list, show, graph, tail, stats (JOBS 8)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs_in_states import opened, running
from protocol_server import Run

import resonate_core as rc
from resonate_core.cli.jobs_graph import mermaid
from resonate_core.explain.job_graph import JobGraph, graph_of
from resonate_core.explain.store_reader import StoreReader


@pytest.fixture(params=["db", "url"])
def queued(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    with opened(request.param, request, tmp_path) as (store, flags):
        for id in ("parse-1", "parse-2"):
            store.jobs.enqueue("parse", id=id)
        yield store, flags


def lines(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def fill_graph(store: rc.Store) -> None:
    """Adds a job that waits for two parsed parts, of which one is completed, and two that wait for it."""
    store.jobs.enqueue("parse", id="parse-0", queue="first")
    store.jobs.enqueue("pack", id="pack", after=["parse-0", "parse-1"])
    store.jobs.enqueue("send", id="send", after=["pack"])
    store.jobs.enqueue("bill", id="bill", after=["pack", "parse-1"])
    (job,) = store.jobs.claim("first", worker="w1", lease=60_000, start=1)
    store.jobs.complete(job.id, job.version)


def test_enqueue_after_others(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, flags = queued
    given = ("--after", "parse-1", "--after", "parse-2", "--after-failed", "run")
    made = run("jobs", "enqueue", "pack", "--id", "pack", *given, *flags, "--json").json["job"]
    assert (made["state"], made["after"], made["afterFailed"]) == ("waiting", ["parse-1", "parse-2"], "run")
    assert store.jobs.get("pack").to_dict() == made
    refused = run("jobs", "enqueue", "pack", "--after", "nobody", *flags)
    assert refused.code != 0 and "nobody" in refused.err
    wrong = run("jobs", "enqueue", "pack", "--after", "parse-1", "--after-failed", "maybe", *flags)
    assert (wrong.code, wrong.err) == (2, "--after-failed must be cancel or run, got 'maybe'\n")


def test_list_show_and_stats(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, flags = queued
    fill_graph(store)
    assert [row[0] for row in lines(run("jobs", "list", "--state", "waiting", *flags).out)] == ["bill", "pack", "send"]
    shown = lines(run("jobs", "show", "pack", *flags).out)
    record = {row[0]: row[1] for row in shown if row[0] != "awaits" or len(row) == 2}
    assert (record["state"], record["after"], record["afterFailed"], record["awaits"]) == (
        "waiting",
        "parse-0, parse-1",
        "cancel",
        "parse-1",
    )
    assert [row[1:] for row in shown if row[0] == "awaits" and len(row) > 2] == [
        ["parse-1", "pending", "missing"],
        ["parse-0", "completed", ""],
    ]
    counts = next(row for row in lines(run("jobs", "stats", "--queue", "default", *flags).out) if row[0] == "queue")
    assert counts[3:6] == ["0", "3", "2"]
    assert run("jobs", "run", "pack", *flags, "--json").json["job"]["state"] == "pending"
    assert run("jobs", "run", "--all", "--state", "waiting", "--queue", "default", "--yes", *flags).out == "2 jobs pending again\n"


def test_what_a_job_waited_for_may_be_a_promise_or_gone(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, flags = queued
    store.promises.create("approved", timeout=60_000_000)
    store.jobs.enqueue("parse", id="brief", queue="brief", retention=0)
    store.jobs.enqueue("pack", id="pack", after=["approved", "brief"])
    (job,) = store.jobs.claim("brief", worker="w1", lease=60_000, start=1)
    store.jobs.complete(job.id, job.version)
    shown = lines(run("jobs", "show", "pack", *flags).out)
    assert [row[1:] for row in shown if row[0] == "awaits" and len(row) > 2] == [
        ["approved", "pending", "missing"],
        ["brief", "completed", ""],
    ]
    store.jobs.run("pack")
    (job,) = store.jobs.claim("default", worker="w1", lease=60_000, start=1)
    for _ in range(2):
        store.jobs.claim("default", worker="w1", lease=60_000)
    store.jobs.cancel("pack")
    store.jobs.delete("brief")
    store.tick()
    shown = lines(run("jobs", "show", "pack", *flags).out)
    assert ["awaits", "brief", "", ""] in shown


def test_tail_shows_waits_in_the_middle(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, flags = queued
    job = running(store, "flow")
    store.jobs.suspend("flow", job.version, ["parse-1"])
    events = [row[4] for row in lines(run("jobs", "tail", "--once", "--id", "flow", *flags).out)]
    assert events == ["enqueued", "started", "suspended"]


def test_the_graph_as_a_tree(run: Run, tmp_path: Path) -> None:
    with rc.Store(tmp_path / "app.db") as store:
        store.jobs.enqueue("parse", id="parse-1")
        fill_graph(store)
        assert run("jobs", "graph", "pack", "--db", tmp_path / "app.db").out == (
            "pack  waiting  pack  waits for 1 of 2\n"
            "├── waits for\n"
            "│   ├── parse-0  completed  parse\n"
            "│   └── parse-1  pending  parse\n"
            "└── is awaited by\n"
            "    ├── send  waiting  send  waits for 1 of 1\n"
            "    └── bill  waiting  bill  waits for 2 of 2\n"
        )
        assert run("jobs", "graph", "parse-1", "--db", tmp_path / "app.db").out == (
            "parse-1  pending  parse\n"
            "└── is awaited by\n"
            "    ├── pack  waiting  pack  waits for 1 of 2\n"
            "    │   ├── bill  waiting  bill  waits for 2 of 2\n"
            "    │   └── send  waiting  send  waits for 1 of 1\n"
            "    └── bill  waiting  bill  waits for 2 of 2\n"
        )
        cut = run("jobs", "graph", "pack", "--limit", 2, "--db", tmp_path / "app.db")
        assert cut.err == "there are more than 2 jobs and promises: give --limit, up to 1000\n"
        absent = run("jobs", "graph", "nobody", "--db", tmp_path / "app.db")
        assert (absent.code, absent.err) == (4, "promise 'nobody' does not exist\n")
        both = run("jobs", "graph", "pack", "--json", "--mermaid", "--db", tmp_path / "app.db")
        assert both.code == 2


def graph(store: rc.Store, id: str, most: int = 200) -> JobGraph:
    found = graph_of(StoreReader(store), id, most)
    assert found is not None
    return found


def edges(found: JobGraph) -> set[tuple[str, str, str, bool]]:
    return {(edge.awaiter, edge.awaited, edge.by, edge.open) for edge in found.edges}


@pytest.fixture
def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock(start=0), check=True)


def test_the_edges_of_a_graph(store: rc.Store) -> None:
    store.jobs.enqueue("parse", id="parse-1")
    fill_graph(store)
    found = graph(store, "pack")
    assert edges(found) == {
        ("pack", "parse-0", "after", False),
        ("pack", "parse-1", "after", True),
        ("send", "pack", "after", True),
        ("bill", "pack", "after", True),
        ("bill", "parse-1", "after", True),
    }
    assert {id: node.state for id, node in found.nodes.items()}["parse-0"] == "completed"
    assert JobGraph.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert "bill" not in graph(store, "send").nodes  # it does not wait for send, and send does not wait for it
    assert set(graph(store, "parse-0").nodes) == {"parse-0", "pack", "send", "bill"}  # by its keeper


def test_suspended_jobs_and_tasks_are_edges_too(store: rc.Store) -> None:
    job = running(store, "flow")
    store.jobs.enqueue("parse", id="a")
    store.jobs.enqueue("parse", id="b")
    store.jobs.suspend("flow", job.version, ["a", "b"])
    claim = store.tasks.create("order", pid="p", ttl=1000, timeout=10_000, target="poll://any@w")
    store.tasks.suspend("order", claim.task.version, ["a"])
    found = graph(store, "a")
    assert edges(found) == {("flow", "a", "suspend", True), ("order", "a", "task", True)}
    assert (found.nodes["order"].kind, found.nodes["order"].state) == ("task", "suspended")
    store.jobs.cancel("a")
    store.tick()
    assert edges(graph(store, "b")) == set()  # flow was woken by a, and waits for b no more


def test_a_wide_and_a_long_graph_are_cut(store: rc.Store) -> None:
    store.jobs.enqueue("parse", id="j000")
    for number in range(1, 300):
        store.jobs.enqueue("pack", id=f"j{number:03}", after=[f"j{number - 1:03}"])
    found = graph(store, "j150")
    assert (len(found.nodes), found.complete) == (200, False)
    found = graph(store, "j150", 1000)
    assert (len(found.nodes), found.complete, len(found.edges)) == (300, True, 299)


def test_a_circle_ends(store: rc.Store) -> None:
    for id in ("a", "b"):
        store.jobs.enqueue("flow", id=id, queue=id)
    held = {id: store.jobs.claim(id, worker="w", lease=1000, start=1)[0] for id in ("a", "b")}
    store.jobs.suspend("a", held["a"].version, ["b"])
    store.jobs.suspend("b", held["b"].version, ["a"])
    assert edges(graph(store, "a")) == {("a", "b", "suspend", True), ("b", "a", "suspend", True)}


def test_what_a_reader_does_not_see_is_left_out(store: rc.Store) -> None:
    store.jobs.enqueue("parse", id="them:a")
    store.jobs.enqueue("pack", id="us:b", after=["them:a"])
    store.jobs.enqueue("pack", id="them:c", after=["us:b"])
    reader = StoreReader(store)
    reader.prefix = "us:"
    found = graph_of(reader, "us:b", 200)
    assert found is not None and (list(found.nodes), found.edges) == (["us:b"], [])
    assert graph_of(reader, "them:a", 200) is None


def test_foreign_texts_stay_texts_in_a_flowchart(store: rc.Store) -> None:
    store.jobs.enqueue('a"]; click n0 "javascript:x"', id="x<b>\n")
    said = mermaid(graph(store, "x<b>\n"))
    assert said.count("\n") == 2 and '"javascript' not in said and "<b>" not in said
    assert said.splitlines()[1].startswith('  n0["x#60;b#62;')


def test_the_graph_of_a_server(run: Run, tmp_path: Path, store: rc.Store) -> None:
    from resonate_core.asgi import ServerSettings, create_app
    from server.live_server import live

    store.jobs.enqueue("parse", id="parse-1")
    fill_graph(store)
    with rc.Store(tmp_path / "app.db") as copy:
        copy.restore(store.snapshot())
    here: Any = ("jobs", "graph", "pack", "--db", tmp_path / "app.db")
    with live(create_app(store, server=ServerSettings(ui=True))) as served:
        there: Any = ("jobs", "graph", "pack", "--url", f"http://127.0.0.1:{served.port}")
        for form in ((), ("--json",), ("--mermaid",)):
            assert run(*there, *form).out == run(*here, *form).out != ""
        absent = run("jobs", "graph", "nobody", "--url", f"http://127.0.0.1:{served.port}")
        assert (absent.code, absent.err) == (4, "promise 'nobody' does not exist\n")
    with live(create_app(store, server=ServerSettings(ui=False))) as served:
        without = run("jobs", "graph", "pack", "--url", f"http://127.0.0.1:{served.port}")
        assert without.code == 3 and "has no dashboard: start it with --ui" in without.err
