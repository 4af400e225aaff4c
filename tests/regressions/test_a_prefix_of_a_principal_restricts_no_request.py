"""A `Principal` with a prefix, which the function of a mounted app returned, read and changed every id: only lists were restricted."""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from resonate_core.ui import create_ui
from resonate_core.ui.principal import Principal
from ui.ui_client import Client


@pytest.fixture
def store() -> rc.Store:
    made = rc.Store(clock=rc.ManualClock(0))
    for prefix in ("a.", "b."):
        made.queues.set(f"{prefix}queue")
        made.jobs.enqueue("t", {"pin": 4711}, id=f"{prefix}job")
        made.jobs.enqueue("t", id=f"{prefix}own", queue=f"{prefix}queue")
        made.promises.create(f"{prefix}promise", timeout=10**9, tags={"resonate:target": "poll://any@g"})
        made.schedules.create(f"{prefix}schedule", "@hourly", promise_id=f"{prefix}x", promise_timeout=1000)
    return made


def mounted(store: Any, prefix: str = "b.") -> Client:
    return Client(create_ui(store, role=lambda scope: Principal("operate", "ann", prefix=prefix)))


ACTIONS: list[tuple[str, dict[str, Any]]] = [
    ("job.cancel", {"id": "a.job"}),
    ("job.delete", {"id": "a.job"}),
    ("job.rerun", {"id": "a.job", "newId": "b.copy"}),
    ("job.rerun", {"id": "b.job", "newId": "a.copy"}),
    ("job.enqueue", {"id": "a.new", "type": "t"}),
    ("job.enqueue", {"id": "b.new", "type": "t", "queue": "a.queue"}),
    ("job.enqueue", {"id": "b.new", "type": "t", "queue": "mail"}),
    ("job.cancel", {"queue": "a.queue"}),
    ("queue.pause", {"queue": "a.queue"}),
    ("queue.pause", {"queue": "default"}),
    ("promise.settle", {"id": "a.promise", "state": "resolved"}),
    ("task.halt", {"id": "a.promise"}),
    ("schedule.run", {"id": "a.schedule"}),
    ("schedule.delete", {"id": "a.schedule"}),
]


def test_ids_of_others_are_neither_read_nor_changed(store: rc.Store) -> None:
    ui, before = mounted(store), store.digest()
    for view in ("job", "promise", "workflow", "why"):
        for id in ("a.job", "a.promise"):
            assert "4711" not in ui.get(view, id=id).text and ui.get(view, id=id).status_code in (200, 403, 404)
    assert ui.get("job", id="a.job").status_code == 404 and ui.see("why", id="a.job")["kind"] == "unknown"
    for view in ("overview", "queues", "jobs", "tasks", "schedules", "stuck", "workflows", "messages", "due"):
        assert "a." not in ui.get(view).text.replace('"a.m."', ""), view
    assert ui.see("find", q="a.")["items"] == []
    for kind, data in ACTIONS:
        for preview in (True, False):
            answer = ui.do(kind, data, preview=preview)
            status = answer.json().get("status") if preview else answer.status_code
            assert status in (403, 404), (kind, data, preview, answer.text)
    bulk = ui.do("bulk", {"kind": "job.cancel", "ids": ["a.job", "a.own"]}).json()
    assert [one["status"] for one in bulk["results"]] == [403, 403]
    assert store.digest() == before


def test_own_ids_are(store: rc.Store) -> None:
    ui = mounted(store)
    assert ui.do("job.enqueue", {"id": "b.new", "type": "t"}).status_code == 200
    assert ui.do("job.enqueue", {"id": "b.newer", "type": "t", "queue": "b.queue"}).status_code == 200
    assert ui.do("queue.pause", {"queue": "b.queue"}).status_code == 200
    assert ui.do("job.cancel", {"type": "t"}).json()["data"]["count"] == 4  # not those of others
    assert store.jobs.get("a.job").state == "pending"
    assert mounted(store, "").do("job.cancel", {"id": "a.job"}).status_code == 200
