"""An action of 2 MB that is refused was searched for redacted values as a whole, for seconds, while other tenants waited for the thread.

Now of a refused body only so much is searched that the reason can be given. If the reason may quote what was not searched, it quotes
nothing.
"""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from resonate_core.ui.assignments import Assignments
from resonate_core.ui.redaction import Redaction, RedactionRules
from ui.ui_client import client_of

SECRET = "hunter2-of-ada-77"
LONG = "- name: password\n" * 110_000
BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "ids": ("bulk", {"kind": "job.cancel", "ids": [f"b.{n}" for n in range(60_000)]}),
    "a text": ("job.cancel", {"id": LONG}),
    "texts": ("bulk", {"kind": "queue.pause", "ids": [LONG[:17_000]] * 110}),
    "an unknown kind": ("x", {"id": LONG}),
    "no text": ("job.cancel", {"id": [LONG]}),
    "secrets": ("job.cancel", {"password": [f"value-{n}" for n in range(60_000)], "id": 1}),
    "tags": ("job.enqueue", {"id": "j", "tags": {f"k{n}": 1 for n in range(60_000)}}),
}


def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of characters that are searched from now on, and 32 for each noted value."""
    sizes: list[int] = []
    hidden, note = Assignments.hidden, Redaction._note

    def counted(self: Assignments, text: str, to: str) -> Any:
        sizes.append(len(text))
        return hidden(self, text, to)

    def noted(self: Redaction, text: str, shortest: int) -> None:
        sizes.append(32)
        note(self, text, shortest)

    monkeypatch.setattr(Assignments, "hidden", counted)
    monkeypatch.setattr(Redaction, "_note", noted)
    return sizes


@pytest.mark.parametrize("tried", [False, True], ids=["done", "preview"])
@pytest.mark.parametrize("name", BODIES)
def test_little_of_a_refused_action_is_searched(name: str, tried: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock()), prefix="b.", redact_keys=["password"])
    kind, data = BODIES[name]
    sizes = searched(monkeypatch)
    answer = ui.do(kind, data, preview=tried)
    assert sum(sizes) < 300_000
    made = answer.json()
    assert (made["status"] in (400, 403)) and made["error"] and len(answer.text) < 100_000
    (line,) = ui.see("audit")["items"]
    assert line["status"] == made["status"] and line["preview"] is tried


def test_names_in_a_list_are_looked_for_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock()), prefix="b.", redact_keys=["password"])
    asked: list[str] = []
    is_key = RedactionRules.is_key
    monkeypatch.setattr(RedactionRules, "is_key", lambda self, text: asked.append(text) or is_key(self, text))
    assert ui.do(*BODIES["ids"]).status_code == 400
    assert len(asked) < 20_000


def test_the_count_of_ids_is_given() -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock()), redact_keys=["password"])
    kind, data = BODIES["ids"]
    error = ui.do(kind, data).json()["error"]
    assert error == "data.ids must be 1 to 500 texts that are not empty, got 60000 of them"
    (line,) = ui.see("audit")["items"]
    assert line["detail"] == error and line["target"]["ids"][-1] == "and 59980 more" and line["target"]["ids"][0] == "b.0"


def test_a_reason_that_quotes_nothing_stays() -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock()), prefix="b.", redact_keys=["password"])
    more = {"x": ["a"] * 50_000}
    assert ui.do("job.cancel", {**more, "id": "a.1"}).json() == {"error": "Forbidden", "status": 403}
    assert ui.do("job.cancel", {**more, "id": "b.1"}).json() == {"error": "job [redacted]", "status": 404}
    assert ui.do("job.cancel", {"id": "b.1"}).json() == {"error": 'job "b.1" does not exist', "status": 404}


@pytest.mark.parametrize("tried", [False, True], ids=["done", "preview"])
@pytest.mark.parametrize("before", [0, 50_000])
def test_a_refusal_quotes_no_value_that_was_not_searched(before: int, tried: bool) -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock()), redact_keys=["password"])
    more = {"x": ["a"] * before, "password": SECRET}
    for kind, data in (
        ("job.cancel", {**more, "id": [SECRET]}),
        ("bulk", {**more, "kind": SECRET, "ids": ["a"]}),
        ("job.enqueue", {**more, "id": "j", "type": "t", "priority": SECRET}),
        ("schedule.create", {**more, "id": "s", "cron": SECRET, "promiseId": "p", "promiseTimeout": 1}),
    ):
        answer = ui.do(kind, data, preview=tried)
        assert answer.json()["status"] == 400 and SECRET not in answer.text, kind
    details = [line["detail"] for line in ui.see("audit")["items"]]
    assert len(details) == 4 and all(detail and SECRET not in detail for detail in details)
