"""The page of a job hides a tag whose value is that of a redacted member of its payload; a preview of `job.rerun` with another payload showed it.

The values that are hidden were those of the new payload alone. Now those that the page of the job hides are hidden beside it.
"""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from ui.ui_client import client_of

SECRET = "hunter3hunter3"
EDITS: list[dict[str, Any]] = [
    {},
    {"payload": {"json": 1}},
    {"payload": {"password": "another"}},
    {"payload": {"password": SECRET}},
    {"payloadText": "a text"},
    {"payload": {"x": 1}, "queue": "other", "tags": {"of": f"from {SECRET}"}},
]


@pytest.mark.parametrize("tried", [True, False], ids=["preview", "done"])
@pytest.mark.parametrize("edit", EDITS, ids=range(len(EDITS)))
def test_the_answer_hides_what_the_page_of_the_job_hides(edit: dict[str, Any], tried: bool) -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue(
        "t", {"password": SECRET}, id="j", group="g", tags={"u": SECRET, "of": f"from {SECRET}", "plain": "ordinary"}
    )
    ui = client_of(store, redact_keys=["password"])
    assert SECRET not in ui.get("job", id="j").text
    answer = ui.do("job.rerun", {"id": "j", "newId": "k", **edit}, preview=tried)
    assert answer.json()["status"] == 200 and SECRET not in answer.text
    if "tags" not in edit:
        assert "ordinary" in answer.text


@pytest.mark.parametrize("payload", [{"x": "hunter2 of ada"}, {"x": "another"}])
def test_a_redacted_type_hides_its_values_too(payload: dict[str, Any]) -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("card", {"number": SECRET}, id="j", tags={"u": SECRET})
    ui = client_of(store, redact_types=["card"])
    data = {"id": "j", "newId": "k", "type": "other", "payload": payload}
    assert SECRET not in ui.do("job.rerun", data, preview=True).text
