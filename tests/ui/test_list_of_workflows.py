"""The list of workflows: those of SDKs and those of workers, newest first, whatever else is in the store."""

from __future__ import annotations

import random
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.base.step_lines import running_line
from resonate_core.ui import workflow_list
from ui.ui_client import Client, client_of

TAGS = {"resonate:workflow": "true"}
MINUTE = 60_000


def pages(ui: Client, **query: Any) -> list[list[dict[str, Any]]]:
    """Returns the items of all pages."""
    found, cursor = [], None
    while True:
        page = ui.see("workflows", **query, **({} if cursor is None else {"cursor": cursor}))
        found.append(page["items"])
        cursor = page["next"]
        if cursor is None:
            return found
        assert len(found) < 200


def ids(items: list[dict[str, Any]]) -> list[str]:
    return [item["promise"]["id"] for item in items]


def fill(store: rc.Store, seed: int) -> list[str]:
    """Fills a store with roots, workflow jobs, their children and other jobs; returns the ids of the workflows, newest first."""
    chance = random.Random(seed)
    made = []
    for number in range(120):
        store.clock.advance(1000)  # type: ignore[attr-defined]
        kind = chance.choice(["root", "flow", "job", "child"])
        id = f"{kind}-{number}"
        if kind == "root":
            store.promises.create(id, timeout=10**9, param={"func": "f", "args": []}, tags={"resonate:target": "poll://any@w"})
        elif kind == "flow":
            store.jobs.enqueue("fulfil", id=id, queue="flows", lifecycle="workflow", tags=TAGS)
        elif kind == "child":
            store.jobs.enqueue("fulfil", id=id, tags={**TAGS, "resonate:parent": "other", "resonate:origin": "other"})
        else:
            store.jobs.enqueue("mail", id=id)
        if kind in ("root", "flow"):
            made.append(id)
    return made[::-1]


@pytest.mark.parametrize("limit", [1, 7, 50, 200])
def test_both_kinds_newest_first_each_once(store: rc.Store, limit: int) -> None:
    expected = fill(store, limit)
    found = pages(client_of(store), limit=limit)
    assert [id for page in found for id in ids(page)] == expected
    assert all(len(page) == limit for page in found[:-1])


def test_a_slice_that_is_too_short_goes_on(store: rc.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow_list, "_FIRST_SLICE", 5)
    monkeypatch.setattr(workflow_list, "SLICE", 9)
    expected = fill(store, 3)
    found = pages(client_of(store), limit=10)
    flat = [id for page in found for id in ids(page)]
    assert sorted(flat) == sorted(expected), "each once"
    assert [id for id in flat if id.startswith("flow")] == [id for id in expected if id.startswith("flow")]
    first = client_of(store).see("workflows", limit=10)
    assert first["scan"]["complete"] is False and first["next"] is not None


def test_what_each_does_now(store: rc.Store) -> None:
    jobs, clock = store.jobs, store.clock
    clock.advance_to(1_000_000)  # type: ignore[attr-defined]
    for number, id in enumerate(("runs", "waits", "ended", "failed")):
        clock.advance(1000)  # type: ignore[attr-defined]
        jobs.enqueue("fulfil", {"n": number}, id=id, queue=id, lifecycle="workflow", tags=TAGS)
    claimed = {id: jobs.claim(id, worker="ann", lease=MINUTE, start=1)[0] for id in ("runs", "waits", "ended", "failed")}
    jobs.report("runs", claimed["runs"].version, lines=running_line("charge", "runs:1", 2, store.now))
    for number in range(1, 4):
        jobs.receive("waits", claimed["waits"].version, f"waits:{number}", f"topic-{number}")
    jobs.suspend("waits", claimed["waits"].version, [f"waits:{number}" for number in range(1, 4)])
    jobs.complete("ended", claimed["ended"].version, {"parcel": 1})
    jobs.fail("failed", claimed["failed"].version, "NoStock", "sold out", retryable=False)
    items = {item["promise"]["id"]: item for item in client_of(store).see("workflows")["items"]}
    assert list(items) == ["failed", "ended", "waits", "runs"]
    assert {id: (item["job"]["state"], item["func"]) for id, item in items.items()} == {
        "failed": ("failed", "fulfil"),
        "ended": ("completed", "fulfil"),
        "waits": ("waiting", "fulfil"),
        "runs": ("running", "fulfil"),
    }
    assert items["runs"]["note"].startswith("run by ann; attempt 2 of step charge (runs:1) runs since")
    assert items["waits"]["note"] == "waits for waits:1 (receive topic-1), waits:2 (receive topic-2), waits:3 (receive topic-3)"
    assert items["waits"]["job"]["steps"] == 3 and items["ended"]["note"] == ""
    states = {state: ids(client_of(store).see("workflows", state=state)["items"]) for state in ("pending", "resolved", "rejected")}
    assert states == {"pending": ["waits", "runs"], "resolved": ["ended"], "rejected": ["failed"]}
    assert client_of(store).see("workflows", state="rejected_timedout")["items"] == []
    assert ids(client_of(store).see("workflows", id="wai*")["items"]) == ["waits"]


def test_filters_prefixes_and_redaction(store: rc.Store) -> None:
    fill(store, 5)
    store.jobs.enqueue("fulfil", {"card": "4242"}, id="us-1", lifecycle="workflow", tags={**TAGS, "tenant": "us"})
    store.promises.create("us-2", timeout=10**9, tags={"tenant": "us"})
    assert sorted(ids(client_of(store).see("workflows", tag="tenant=us")["items"])) == ["us-1", "us-2"]
    assert sorted(ids(client_of(store, prefix="us-").see("workflows")["items"])) == ["us-1", "us-2"]
    assert "4242" in client_of(store).get("workflows").text
    assert "4242" not in client_of(store, redact_types=["fulfil"]).get("workflows").text


def test_a_cursor_of_another_view_is_refused(store: rc.Store) -> None:
    fill(store, 1)
    ui = client_of(store)
    cursor = ui.see("jobs", limit=3)["next"]
    assert ui.get("workflows", limit=3, cursor=cursor).status_code == 400
    assert ui.get("workflows", limit=3, cursor="[1,2]").status_code == 400


def test_the_page_of_one_that_has_ended(store: rc.Store) -> None:
    store.jobs.enqueue("fulfil", id="o", lifecycle="workflow", tags=TAGS)
    (job,) = store.jobs.claim("default", worker="w", lease=MINUTE, start=1)
    store.jobs.complete("o", job.version)
    page = client_of(store).see("workflow", id="o")
    assert page["tree"]["job"]["state"] == "completed" and page["tree"]["func"] == "fulfil"
