"""A preview of `job.cancel` by a redacted tag had changes if the guess of its value was right, and none if it was wrong.

A redacted name is refused in filters and actions, and what a filter finds is judged by what is shown: no result, status, count or cursor
depends on a redacted value.
"""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest

import resonate_core as rc
from ui.ui_client import PAGE, client_of

RIGHT, WRONG = "tagtagtag", "gatgatgat"


@pytest.fixture
def store() -> Any:
    made = rc.Store(clock=rc.ManualClock())
    payload = {"password": RIGHT, "note": f"say {RIGHT}", "copy": [RIGHT]}
    made.jobs.enqueue("t", payload, id="k", tags={"password": RIGHT, "copy": RIGHT}, unique_key=f"u-{RIGHT}", max_retries=0)
    made.queues.set("g", groups={"size": 3, "grace": 60_000, "maxDelay": 600_000})
    made.jobs.enqueue("t", payload, id="g", queue="g", group=f"g-{RIGHT}")
    (job,) = made.jobs.claim("default", worker="w", lease=1000, start=1)
    made.jobs.fail("k", job.version, "E", f"no user with {RIGHT}", RIGHT)
    made.promises.create("p", timeout=10**9, param=payload, tags={"password": RIGHT, "copy": RIGHT})
    return made


@pytest.mark.parametrize("preview", [True, False])
@pytest.mark.parametrize("key", ["password", "PassWord", " password"])
@pytest.mark.parametrize("kind", ["job.run", "job.cancel", "job.archive", "job.delete"])
def test_actions_by_a_redacted_tag(store: Any, kind: str, key: str, preview: bool) -> None:
    ui, before = client_of(store, redact_keys=["password"]), store.digest()
    answers = [ui.do(kind, {"tags": {key: guess}}, preview=preview) for guess in (RIGHT, WRONG)]
    assert [answer.status_code for answer in answers] == [400, 400] and answers[0].text == answers[1].text
    assert repr(key) in answers[0].json()["error"] and store.digest() == before
    assert RIGHT not in ui.get("audit").text
    fork = ui.post("travel/fork", {"do": [{"kind": kind, "data": {"tags": {key: RIGHT}}}]})
    assert fork.status_code == 400 and RIGHT not in fork.text


FILTERS = [
    ("jobs", "tag", "copy={}"),
    ("jobs", "arg", "{}"),
    ("jobs", "arg", "say {}"),
    ("jobs", "arg", "note=say {}"),
    ("jobs", "arg", "copy.0={}"),
    ("jobs", "error", "{}"),
    ("jobs", "error", "user with {}"),
    ("jobs", "uniqueKey", "u-{}"),
    ("jobs", "group", "g-{}"),
    ("workflows", "tag", "copy={}"),
]


@pytest.mark.parametrize(("view", "name", "value"), FILTERS)
@pytest.mark.parametrize("limit", [1, 50])
def test_filters_are_judged_by_what_is_shown(store: Any, view: str, name: str, value: str, limit: int) -> None:
    ui = client_of(store, redact_keys=["password"])
    right, wrong = (ui.see(view, limit=limit, **{name: value.format(guess)}) for guess in (RIGHT, WRONG))
    assert right == wrong and right["items"] == []
    assert client_of(store).see(view, **{name: value.format(RIGHT)})["items"]


@pytest.mark.parametrize(("view", "name"), [("jobs", "tag"), ("jobs", "arg"), ("workflows", "tag"), ("jobs/count", "tag")])
def test_redacted_names_are_no_filters(store: Any, view: str, name: str) -> None:
    ui = client_of(store, redact_keys=["password"])
    for guess in (RIGHT, WRONG):
        answer = ui.get(view, **{name: f"password={guess}"})
        assert answer.status_code == 400 and "'password'" in answer.json()["error"]


@pytest.mark.parametrize("preview", [True, False])
@pytest.mark.parametrize("hidden", [{"redact_keys": ["password"]}, {"redact_types": ["t"]}])
def test_enqueueing_on_an_id_compares_no_redacted_payload(store: Any, hidden: dict[str, Any], preview: bool) -> None:
    """The engine answers the same job with 200 and any other with 409."""
    ui = client_of(store, **hidden)
    answers = []
    for guess in (RIGHT, WRONG):
        payload = {"password": guess, "note": f"say {guess}", "copy": [guess]}
        answers.append(ui.do("job.enqueue", {"id": "k", "type": "t", "payloadJson": payload}, preview=preview))
    assert [(answer.status_code, answer.text) for answer in answers] == [(409, answers[0].text)] * 2
    again = ui.do("job.rerun", {"id": "g", "newId": "k"}, preview=preview)
    assert again.status_code == 409


def test_sentences_hide_what_the_record_hides(store: Any) -> None:
    ui = client_of(store, redact_keys=["password"])
    for view, query in (("why", {"id": "k"}), ("stuck", {}), ("find", {"q": "k"}), ("overview", {})):
        assert RIGHT not in ui.get(view, **query).text, view
    assert f"user with {RIGHT}" in client_of(store).get("why", id="k").text


@pytest.mark.parametrize(
    "payload",
    [
        {"nick": "[redacted]"},
        {"note": "say [redacted]", "copy": "[redacted]"},
        {"note": "say [redacted]"},
        {"copy": ["[redacted]"]},
        {"password": {"a": "[redacted]"}},
        {"[redacted]": 1},
    ],
)
def test_an_edited_payload_moves_no_redacted_value(store: Any, payload: dict[str, Any]) -> None:
    """The page sends placeholders back, and the values are put in their places: only where they are redacted again."""
    ui = client_of(store, redact_keys=["password"])
    for preview in (True, False):
        answer = ui.do("job.rerun", {"id": "k", "newId": "n", "payload": payload}, preview=preview)
        assert answer.status_code == 400 and RIGHT not in answer.text, answer.text


def test_a_renamed_pair_moves_no_redacted_value() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("t", {"p": {"name": "password", "value": RIGHT}, "q": [["password", WRONG]], "n": 1}, id="k")
    ui = client_of(store, redact_keys=["password"])
    shown = ui.see("job", id="k")["job"]["payload"]["json"]
    for payload in ({**shown, "p": {"name": "nick", "value": "[redacted]"}}, {**shown, "q": [["nick", "[redacted]"]]}):
        answer = ui.do("job.rerun", {"id": "k", "newId": "n", "payload": payload})
        assert answer.status_code == 400 and RIGHT not in answer.text and WRONG not in answer.text
    assert ui.do("job.rerun", {"id": "k", "newId": "n", "payload": {**shown, "n": 2}}).status_code == 200
    assert store.jobs.get("n").payload.json() == {"p": {"name": "password", "value": RIGHT}, "q": [["password", WRONG]], "n": 2}


def test_a_number_is_redacted_wherever_it_stands() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("t", {"password": 123456789, "copies": [123456789, "a 123456789", 12345678], "b": True}, id="k")
    ui = client_of(store, redact_keys=["password"])
    copies = ui.see("job", id="k")["job"]["payload"]["json"]["copies"]
    assert copies == ["[redacted]", "a [redacted]", 12345678]
    right, wrong = (ui.see("jobs", arg=f"copies.0={guess}") for guess in (123456789, 123456788))
    assert right == wrong and right["items"] == []


def test_values_beyond_the_room_for_them_hide_all_texts() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    values = [f"{RIGHT}-{i}-" + "z" * 90 for i in range(12_000)]
    store.jobs.enqueue("t", {"password": values, "note": values[-1]}, id="k", max_retries=0)
    (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
    store.jobs.fail("k", job.version, "E", values[-2])
    ui = client_of(store, redact_keys=["password"])
    for view, query in (("jobs", {}), ("job", {"id": "k"}), ("why", {"id": "k"})):
        answer = ui.get(view, **query)
        assert answer.status_code == 200 and RIGHT not in answer.text
    assert [(one["id"], one["state"]) for one in ui.see("jobs")["items"]] == [("k", "archived")]


def test_member_names_of_the_product_are_never_replaced() -> None:
    """A redacted value that is a name of the views would have broken every page with its record."""
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("t", {"password": ["payload", "items", "state"], "items": "a"}, id="k")
    shown = client_of(store, redact_keys=["password"]).see("jobs")["items"][0]
    assert shown["payload"]["json"] == {"password": "[redacted]", "[redacted]": "a"} and "state" in shown


def test_a_text_that_is_cut_shows_no_beginning_of_a_redacted_value() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("t", {"password": RIGHT * 10}, id="k", max_retries=0)
    (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
    store.jobs.fail("k", job.version, "E", "m", "x" * 2040 + RIGHT * 10)
    store.jobs.enqueue("t", {"password": RIGHT * 10, "text": "x" * 990 + RIGHT * 10}, id="l")
    assert RIGHT[:6] not in client_of(store, redact_keys=["password"]).get("jobs").text


def test_a_story_has_no_binary_payload_of_which_keys_are_unknown() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    data = base64.b64encode(b"\xff password=" + RIGHT.encode()).decode()
    store.jobs.enqueue("t", rc.Value(data=data), id="k")
    ui = client_of(store, redact_keys=["password"])
    travel = ui.post("travel/fork", {}).json()["travel"]
    assert data not in ui.get("travel/pytest", travel=travel).text
    open_ui = client_of(store)
    travel = open_ui.post("travel/fork", {}).json()["travel"]
    assert data in open_ui.get("travel/pytest", travel=travel).text


def test_a_recording_is_uploaded_and_read_without_values() -> None:
    trace = io.StringIO()
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    with store.record(trace):
        store.jobs.enqueue("t", {"password": RIGHT}, id="k", tags={"password": RIGHT})
        head = {"corrId": "1", "version": "2026-04-01"}
        store.apply({"kind": "job.cancel", "head": head, "data": {"tags": {"password": RIGHT}}})
    ui = client_of(rc.Store(clock=rc.ManualClock()), redact_keys=["password"])
    opened = ui.request("POST", "api/travel", trace.getvalue(), {**PAGE, "content-type": "application/x-ndjson"}).json()
    for view in ("steps", "state", "diff", "pytest"):
        assert RIGHT not in ui.get(f"travel/{view}", travel=opened["travel"]).text, view
