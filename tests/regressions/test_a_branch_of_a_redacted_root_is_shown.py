"""A promise that named a redacted workflow only by `resonate:branch`, or by another tag of lineage than its parent and its origin, was shown."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import resonate_core as rc
from ui.ui_client import client_of

PAN = "4111111111111111"
HIDDEN = {"redact_types": ["card:*"]}
LINKS = ["resonate:branch", "resonate:root", "resonate:prefix", "resonate:parent", "resonate:origin"]


def _func(name: str) -> rc.Value:
    return rc.Value(data=base64.b64encode(json.dumps({"func": name, "args": []}).encode()).decode())


@pytest.fixture
def store() -> Any:
    made = rc.Store(clock=rc.ManualClock())
    made.promises.create("root", timeout=10**6, param=_func("card:charge"), tags={"resonate:origin": "root"})
    made.promises.create("other", timeout=10**6, param=_func("mail"), tags={"resonate:origin": "other"})
    return made


@pytest.mark.parametrize("link", LINKS)
def test_it_is_hidden(store: Any, link: str) -> None:
    store.promises.create("leaf", timeout=10**6, param={"pan": PAN}, tags={link: "root"})
    store.promises.create("below", timeout=10**6, param={"pan": PAN}, tags={link: "leaf"})
    store.jobs.enqueue("plain", {"pan": PAN}, id="job", tags={link: "root"})
    ui = client_of(store, **HIDDEN)
    views: list[tuple[str, dict[str, Any]]] = [
        (view, {"id": id, "full": 1}) for view in ("promise", "workflow", "why", "tasks") for id in ("leaf", "below", "root")
    ]
    views += [("job", {"id": "job", "full": 1}), ("jobs", {}), ("workflows", {}), ("find", {"q": "leaf"}), ("stuck", {})]
    for view, query in views:
        assert PAN not in ui.get(view, **query).text, (view, query)
    assert ui.see("promise", id="leaf")["promise"]["param"] == {"kind": "redacted"}
    assert PAN not in ui.do("job.rerun", {"id": "job", "newId": "again"}, preview=True).text


@pytest.mark.parametrize("link", LINKS)
def test_one_of_another_workflow_is_shown(store: Any, link: str) -> None:
    store.promises.create("leaf", timeout=10**6, param={"pan": PAN}, tags={link: "other"})
    assert client_of(store, **HIDDEN).see("promise", id="leaf")["promise"]["param"]["json"] == {"pan": PAN}
