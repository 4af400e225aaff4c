"""A stored NaN made a list of the dashboard invalid JSON; deep JSON made it a 500; half a surrogate pair could not be enqueued again.

A program may store any payload, and Python writes JSON that browsers refuse. One such payload must not prevent its list, or any other
view, from being shown.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from command_line import run_command
from ui.ui_client import PAGE, client_of

FAR = 4_000_000_000_000
PAYLOADS = {
    "nan": "NaN",
    "infinity": '{"a": [1e400, -Infinity]}',
    "surrogate": '"\\ud800"',
    "surrogate-key": '{"\\udfff": 1}',
    "deep-900": "[" * 900 + "]" * 900,
    "deep-5000": '{"a":' * 5000 + "1" + "}" * 5000,
    "deep-100000": "[" * 100_000 + "]" * 100_000,
    "long-number": "1" + "0" * 5000,
    "no-json": "{",
}
VIEWS = ["jobs", "workflows", "jobs?arg=a", "jobs?arg=" + "[" * 900, "jobs?error=x", "overview", "audit"]


def poisoned() -> rc.Store[Any]:
    store = rc.Store(clock=rc.ManualClock(start=1_000))
    for name, text in PAYLOADS.items():
        value = rc.Value(data=base64.b64encode(text.encode()).decode())
        store.jobs.enqueue("send", value, id=f"job-{name}", max_retries=0)
        store.promises.create(f"promise-{name}", FAR, param=value)
    return store


def as_a_browser_reads(text: str) -> Any:
    """Parses JSON, but not the numbers that only Python accepts."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("options", [{}, {"redact_keys": ["secret"]}, {"redact_types": ["send"]}], ids=str)
def test_every_view_is_json_for_browsers(options: dict[str, Any]) -> None:
    ui = client_of(poisoned(), **options)
    of_each = [
        view
        for name in PAYLOADS
        for view in (f"job?id=job-{name}&full=1", f"workflow?id=promise-{name}", f"promise?id=promise-{name}", f"why?id=job-{name}")
    ]
    views = VIEWS + of_each
    answers = ui.requests([("GET", f"api/{view}", None, {}) for view in views])
    for view, answer in zip(views, answers, strict=True):
        assert answer.status_code == 200, (view[:60], answer.text)
        as_a_browser_reads(answer.text)


def test_what_is_no_json_for_browsers_is_shown_as_text() -> None:
    ui = client_of(poisoned())
    assert ui.see("job", id="job-nan")["job"]["payload"] == {"kind": "text", "text": "NaN"}
    assert ui.see("job", id="job-surrogate")["job"]["payload"] == {"kind": "json", "json": "\ud800"}


@pytest.mark.parametrize("name", PAYLOADS)
def test_each_runs_again_with_the_payload_that_it_has(name: str) -> None:
    store = poisoned()
    answer = client_of(store).do("job.rerun", {"id": f"job-{name}", "newId": "again"})
    assert answer.status_code == 200, answer.text
    assert store.jobs.get("again").payload == store.jobs.get(f"job-{name}").payload


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ('{"kind": "bulk", "data": {"kind": {}, "ids": ["a"]}}', "data.kind must be one of"),
        ('{"kind": "job.rerun", "data": {"id": "job-nan", "payloadText": "\\ud800"}}', "data.payloadText must be valid Unicode"),
        ('{"kind": "job.enqueue", "data": {"type": "t", "payloadJson": NaN}}', "the body must be JSON"),
        ('{"kind": "job.enqueue", "data": {"type": "t", "payloadJson": 1e400}}', "the body must be JSON"),
        ('{"kind": "job.enqueue", "data": {"type": "t", "payloadJson": %s}}' % ("[" * 900 + "]" * 900), "at most 100 deep"),
        ('{"kind": "job.rerun", "data": {"id": "job-nan", "payload": %s}}' % ("[" * 101 + "]" * 101), "at most 100 deep"),
    ],
)
def test_a_bad_action_is_refused(body: str, seen: str) -> None:
    answer = client_of(poisoned()).request("POST", "api/do", body, PAGE)
    assert (answer.status_code, seen in answer.json()["error"]) == (400, True), answer.text


def test_a_payload_of_the_deepest_nesting_is_taken() -> None:
    store = poisoned()
    deepest = json.loads("[" * 100 + "]" * 100)
    assert client_of(store).do("job.enqueue", {"type": "t", "id": "deep", "payloadJson": deepest}).status_code == 200
    assert client_of(store).see("job", id="deep")["job"]["payload"]["json"] == deepest


def test_half_a_surrogate_pair_is_enqueued_as_json_escapes_it() -> None:
    store = poisoned()
    answer = client_of(store).request(
        "POST", "api/do", '{"kind": "job.enqueue", "data": {"type": "t", "id": "half", "payloadJson": "\\ud800"}}', PAGE
    )
    assert answer.status_code == 200, answer.text
    assert base64.b64decode(store.jobs.get("half").payload.data) == b'"\\ud800"'


def test_the_command_line_shows_deep_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with rc.Store(tmp_path / "deep.db") as store:
        value = rc.Value(data=base64.b64encode(PAYLOADS["deep-100000"].encode()).decode())
        store.promises.create("deep", FAR, param=value)
        store.jobs.enqueue("send", value, id="deep-job")
    for command in (["promises", "get", "deep"], ["tree", "deep"], ["jobs", "show", "deep-job"], ["jobs", "list"]):
        done = run_command(capsys, *command, "--db", tmp_path / "deep.db")
        assert done.code == 0, (command, done.err[-300:])
