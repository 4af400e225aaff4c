"""The dashboard and jobs that wait: their page, their graph, and what an action would do to the branch (JOBS 8)."""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from ui.ui_client import client_of


@pytest.fixture
def store() -> rc.Store:
    """Two parts, a job that waits for both, one that waits for it, and one that runs in any case."""
    store = rc.Store(clock=rc.ManualClock(1_000_000))
    store.jobs.enqueue("parse", id="parse-1", queue="parts")
    store.jobs.enqueue("parse", id="parse-2")
    store.jobs.enqueue("pack", id="pack", after=["parse-1", "parse-2"])
    store.jobs.enqueue("send", id="send", after=["pack"])
    store.jobs.enqueue("tell", id="tell", after=["pack"], after_failed="run")
    (job,) = store.jobs.claim("parts", worker="ann", lease=60_000, start=1)
    store.jobs.complete(job.id, job.version)
    return store


def states(changes: list[dict[str, Any]]) -> dict[str, tuple[Any, Any]]:
    """Returns the states of the changed jobs, before and after."""
    found = {}
    for one in changes:
        for field in one["fields"]:
            if one["kind"] == "job" and field["name"] == "state":
                found[one["id"]] = (field["before"], field["after"])
    return found


def test_the_page_of_a_job_shows_both_sides(store: rc.Store) -> None:
    ui = client_of(store)
    page = ui.see("job", id="pack")
    assert page["waitsFor"] == {
        "items": [
            {"id": "parse-2", "kind": "job", "state": "pending", "func": "parse", "lacks": True},
            {"id": "parse-1", "kind": "job", "state": "completed", "func": "parse", "lacks": False},
        ],
        "lacks": 1,
        "count": 2,
        "by": "after",
        "afterFailed": "cancel",
    }
    assert [(one["id"], one["kind"], one["state"], one["func"]) for one in page["awaitedBy"]] == [
        ("send", "job", "waiting", "send"),
        ("tell", "job", "waiting", "tell"),
    ]
    assert ui.see("job", id="parse-2")["waitsFor"] is None
    assert ui.see("jobs", state="waiting")["items"][0]["awaits"]["count"] == 1
    assert ui.see("queue", name="default")["counts"]["waiting"] == 3
    assert ui.see("overview")["counts"]["waiting"] == 3


def test_a_suspended_job_and_a_task(store: rc.Store) -> None:
    store.jobs.enqueue("flow", id="flow", queue="flows")
    (job,) = store.jobs.claim("flows", worker="ann", lease=60_000, start=1)
    store.promises.create("gate", timeout=10**9)
    store.jobs.suspend("flow", job.version, ["gate", "pack"])
    claim = store.tasks.create("order", pid="bob", ttl=60_000, timeout=10**9, target="poll://any@shop")
    store.tasks.suspend("order", claim.task.version, ["pack"])
    page = client_of(store).see("job", id="flow")
    assert [(one["id"], one["kind"], one["state"]) for one in page["waitsFor"]["items"]] == [
        ("gate", "promise", "pending"),
        ("pack", "job", "waiting"),
    ]
    assert (page["waitsFor"]["by"], page["waitsFor"]["count"]) == ("suspend", 2)
    awaiters = client_of(store).see("job", id="pack")["awaitedBy"]
    assert [(one["id"], one["kind"]) for one in awaiters[2:]] == [("flow", "job"), ("order", "task")]


def test_the_graph(store: rc.Store) -> None:
    found = client_of(store).see("jobs/graph", id="pack")
    assert [node["id"] for node in found["nodes"]] == ["pack", "parse-2", "parse-1", "send", "tell"]
    assert {(edge["awaiter"], edge["awaited"], edge["open"]) for edge in found["edges"]} == {
        ("pack", "parse-1", False),
        ("pack", "parse-2", True),
        ("send", "pack", True),
        ("tell", "pack", True),
    }
    cut = client_of(store).see("jobs/graph", id="pack", most="3")
    assert len(cut["nodes"]) == 3 and not cut["complete"]
    assert client_of(store).see("jobs/graph", id="absent")["nodes"] == []
    assert client_of(store).get("jobs/graph", id="pack", most="1001").status_code == 400


def test_a_principal_sees_its_own_part(store: rc.Store) -> None:
    store.jobs.enqueue("pack", id="us:pack", after=["parse-2"])
    store.jobs.enqueue("send", id="us:send", after=["us:pack", "parse-2"])
    store.jobs.enqueue("spy", id="spy", after=["us:send"])
    ui = client_of(store, prefix="us:")
    page = ui.see("job", id="us:send")
    assert [one["id"] for one in page["waitsFor"]["items"]] == ["us:pack"] and page["waitsFor"]["lacks"] == 2
    assert page["awaitedBy"] == [] and page["job"]["after"] == ["us:pack"] and page["job"]["awaits"]["ids"] == ["us:pack"]
    assert [node["id"] for node in ui.see("jobs/graph", id="us:pack")["nodes"]] == ["us:pack", "us:send"]
    for view in ("job", "jobs/graph", "why"):
        assert "parse-2" not in ui.get(view, id="us:send").text and "spy" not in ui.get(view, id="us:send").text
    assert "parse-2" not in ui.get("jobs").text


def test_a_wide_fan_shows_the_first_and_counts_the_others(store: rc.Store) -> None:
    ids = [f"w{number:04}" for number in range(1100)]
    store.jobs.enqueue_many("t", range(1100), ids=ids, after=["parse-2"])
    claim = store.tasks.create("order", pid="bob", ttl=60_000, timeout=10**9, target="poll://any@shop")
    store.tasks.suspend("order", claim.task.version, ["parse-2"])  # the last to wait for it
    ui = client_of(store)
    page = ui.see("job", id="parse-2")
    assert [one["id"] for one in page["awaitedBy"]] == ["pack", *ids[:49]]
    assert page["awaitedByMore"] == 1 + 1100 + 1 - 50
    assert ui.see("job", id="w0007")["awaitedByMore"] == 0
    assert "order is suspended: it waits for parse-2" in rc.why(store, "order").sentence
    graph = ui.see("jobs/graph", id="parse-2", most="1000")
    assert len(graph["nodes"]) == 1000 and not graph["complete"]
    shown = ui.do("job.cancel", {"id": "parse-2"}, preview=True, horizonMs=0).json()
    assert shown["status"] == 200 and not shown["scope"]["complete"]
    store.promises.resolve("parse-2", 1)
    next = rc.why(store, "parse-2").next
    assert next is not None and next.what == "1038 awaiters are notified now"  # the request itself has notified 64
    assert store.check() == []


def test_a_principal_does_not_learn_how_many_others_wait(store: rc.Store) -> None:
    store.jobs.enqueue("t", id="us:one")
    store.jobs.enqueue_many("t", range(1100), ids=[f"w{number:04}" for number in range(1100)], after=["us:one"])
    page = client_of(store, prefix="us:").see("job", id="us:one")
    assert page["awaitedBy"] == [] and page["awaitedByMore"] is None


def test_cancelling_shows_the_branch_first(store: rc.Store) -> None:
    before = store.digest()
    shown = client_of(store).do("job.cancel", {"id": "parse-2"}, preview=True, horizonMs=0).json()
    assert states(shown["changes"]) == {
        "parse-2": ("pending", "cancelled"),
        "pack": ("waiting", "cancelled"),
        "send": ("waiting", "cancelled"),
        "tell": ("waiting", "pending"),
    }
    assert store.digest() == before and shown["scope"]["complete"]
    client_of(store).do("job.cancel", {"id": "parse-2"})
    assert {id: store.jobs.get(id).state for id in ("pack", "send", "tell")} == {
        "pack": "cancelled",
        "send": "cancelled",
        "tell": "pending",
    }


def test_a_long_branch_is_shown_to_its_end(store: rc.Store) -> None:
    last = "send"
    for number in range(30):
        store.jobs.enqueue("next", id=f"next-{number}", after=[last])
        last = f"next-{number}"
    shown = client_of(store).do("job.cancel", {"id": "pack"}, preview=True, horizonMs=0).json()
    assert states(shown["changes"])["next-29"] == ("waiting", "cancelled") and shown["scope"]["complete"]


def test_running_anyway_is_tried_first(store: rc.Store) -> None:
    shown = client_of(store).do("job.run", {"id": "pack"}, preview=True, horizonMs=0).json()
    assert states(shown["changes"]) == {"pack": ("waiting", "pending")} and shown["status"] == 200
    assert client_of(store).do("job.run", {"id": "pack"}).json()["status"] == 200
    assert store.jobs.get("pack").state == "pending"


def test_the_preview_of_one_that_waits_for_very_many(store: rc.Store) -> None:
    ids = [f"part-{number}" for number in range(3000)]
    for id in ids:
        store.promises.create(id, timeout=10**9)
    store.jobs.enqueue("pack", id="wide", after=ids)
    for kind in ("job.run", "job.cancel", "job.archive"):
        shown = client_of(store).do(kind, {"id": "wide"}, preview=True, horizonMs=0).json()
        assert shown["status"] == 200 and not shown["scope"]["complete"], shown
    shown = client_of(store).do("promise.settle", {"id": "part-7", "state": "rejected"}, preview=True, horizonMs=0).json()
    assert states(shown["changes"]) == {"wide": ("waiting", "cancelled")}
