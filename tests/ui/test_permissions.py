"""Roles, pages of other origins, redaction and the audit, tried with every view and every action."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.ui.principal import Principal
from ui.ui_client import ACTIONS, MARKER, MARKUP, PAGE, VIEWS, Client, client_of, scene


@pytest.fixture
def store() -> Any:
    made = rc.Store(clock=rc.ManualClock(0))
    scene(made, MARKER)
    return made


def recording_of(secret: str, tagged: bool = True) -> str:
    trace = io.StringIO()
    store = rc.Store(clock=rc.ManualClock(0))
    with store.record(trace):
        scene(store, secret, tagged)
        store.clock.advance(4_000_000)
    return trace.getvalue()


# --- roles --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preview", [False, True])
@pytest.mark.parametrize("role", ["none", "read"])
def test_no_action_without_the_role(store: Any, role: str, preview: bool) -> None:
    before, ui = store.digest(), client_of(store, role)
    for kind, data in ACTIONS:
        answer = ui.do(kind, data, preview=preview)
        assert answer.status_code == 403 and answer.json() == {"error": "Forbidden", "status": 403}, (kind, answer.text)
    assert store.digest() == before
    lines = ui.app.dashboard.audit.newest(Principal("read"))
    assert len(lines) == len(ACTIONS) and {line["status"] for line in lines} == {403}


def test_no_view_without_the_role(store: Any) -> None:
    ui = client_of(store, "none")
    for view, query in VIEWS:
        assert ui.get(view, **query).status_code == (200 if view == "session" else 403), view
    for view in ("events", "travel/steps", "travel/state", "travel/diff", "travel/pytest"):
        assert ui.get(view).status_code == 403, view
    assert ui.post("travel", recording_of("x"), "application/x-ndjson").status_code == 403
    assert ui.post("travel/fork", {}).status_code == 403
    assert ui.see("session")["place"]["name"] is None


def test_a_store_that_is_opened_for_reading_takes_no_action(store: Any) -> None:
    ui = client_of(store)
    ui.app.dashboard.read_only = True
    answer = ui.do("queue.pause", {"queue": "mail"})
    assert answer.status_code == 403 and "--operate" in answer.json()["error"] and ui.see("session")["role"] == "read"


def test_the_role_to_operate_does_every_action(store: Any) -> None:
    ui = client_of(store)
    for kind, data in ACTIONS:
        tried = ui.do(kind, data, preview=True)
        done = ui.do(kind, data)
        assert done.status_code == 200, (kind, data, done.text)
        assert tried.status_code == 200 and tried.json()["status"] == done.json()["status"] == 200, (kind, tried.text)
        assert "<" not in done.text + tried.text
    assert store.check() == []


# --- pages of others ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 415),
        ({"content-type": "text/plain", "x-resonate-ui": "1"}, 415),
        ({"content-type": "application/json"}, 403),
        ({**PAGE, "x-resonate-ui": "2"}, 403),
        ({**PAGE, "origin": "https://evil.example"}, 403),
        ({**PAGE, "origin": "null"}, 403),
        ({**PAGE, "sec-fetch-site": "cross-site"}, 403),
        ({**PAGE, "sec-fetch-site": "same-site"}, 403),
        ({**PAGE, "sec-fetch-site": "same-origin", "origin": "http://localhost"}, 200),
        (PAGE, 200),
    ],
)
def test_a_page_of_another_origin_does_nothing(store: Any, headers: dict[str, str], status: int) -> None:
    ui, before = client_of(store), store.digest()
    answer = ui.request("POST", "api/do", {"kind": "queue.pause", "data": {"queue": "mail"}}, headers)
    assert answer.status_code == status, answer.text
    assert (store.digest() == before) == (status != 200)


def test_a_page_of_another_origin_reads_nothing(store: Any) -> None:
    for site in ("cross-site", "same-site"):
        assert client_of(store).request("GET", "api/jobs", headers={"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b'{"kind": 1}',
        b'{"kind": "job.run", "data": []}',
        b'{"kind": "job.run", "preview": 1}',
        b'{"kind": "debug.reset", "data": {}}',
        b'{"kind": "promise.get", "data": {"id": "a"}}',
        b'{"kind": "bulk", "data": {"kind": "queue.pause", "ids": ["a"]}}',
        b'{"kind": "bulk", "data": {"kind": "job.run", "ids": []}}',
        b'{"kind": "job.run", "data": {"id": "done"}, "horizonMs": -1, "preview": true}',
        b"[" * 100_000,
    ],
)
def test_malformed_actions_are_refused(store: Any, body: bytes) -> None:
    ui, before = client_of(store), store.digest()
    answer = ui.request("POST", "api/do", body, PAGE)
    assert answer.status_code == 400 and answer.json()["error"], answer.text
    assert store.digest() == before


def test_a_long_body_is_refused(store: Any) -> None:
    answer = client_of(store).request("POST", "api/do", b'{"kind": "' + b"x" * 3_000_000 + b'"}', PAGE)
    assert answer.status_code == 413


# --- redaction ----------------------------------------------------------------------------------------------------------------


BY_KEY = {"redact_keys": ["PASSWORD", "*token*"]}
BY_TYPE = {"redact_types": ["send", "thumb", "order", "<*"]}


@pytest.mark.parametrize("options", [BY_KEY, BY_TYPE, BY_KEY | BY_TYPE], ids=["key", "type", "both"])
def test_a_redacted_value_is_in_no_response(options: dict[str, Any]) -> None:
    seen: list[str] = []
    tagged = "redact_keys" in options  # a tag is no payload
    store = rc.Store(clock=rc.ManualClock(0))
    scene(store, MARKER, tagged)

    def note(answer: Any) -> Any:
        assert MARKER not in answer.text, answer.request.url
        seen.append(answer.text)
        return answer

    ui = client_of(store, **options)
    for view, query in VIEWS:
        note(ui.get(view, **query))
    for kind, data in ACTIONS:
        note(ui.do(kind, data, preview=True))
        note(ui.do(kind, data))
    if "redact_keys" in options:
        note(ui.get("jobs", arg=f"password={MARKER}"))
        note(ui.do("job.cancel", {"id": "absent", "password": MARKER, "tags": {"password": MARKER}}))
    for view, query in [*VIEWS, ("audit", {})]:
        note(ui.get(view, **query))
    opened = note(ui.post("travel", recording_of(MARKER, tagged), "application/x-ndjson")).json()
    fork = note(
        ui.post(
            "travel/fork", {"travel": opened["travel"], "do": [{"kind": "job.run", "data": {"id": "later"}}], "advanceMs": 10_000}
        )
    ).json()
    for n in range(opened["steps"]):
        state = note(ui.get("travel/state", travel=opened["travel"], n=n))
        assert state.status_code == 200
    for view, query in VIEWS:
        note(ui.get(view, **query, travel=opened["travel"], n=opened["steps"] - 1))
    note(ui.get("travel/steps", travel=opened["travel"]))
    note(ui.get("travel/diff", travel=opened["travel"], a=0))
    note(ui.get("travel/diff", travel=opened["travel"], other=fork["travel"]))
    note(ui.get("travel/pytest", travel=opened["travel"]))
    assert any("[redacted]" in text or '"redacted"' in text for text in seen)


def test_what_redaction_leaves(store: Any) -> None:
    shown = client_of(store, **BY_KEY).see("job", id="archived")["job"]
    assert shown["payload"]["json"] == {
        "to": "ada",
        "password": "[redacted]",
        "nested": [{"api_token": "[redacted]"}],
        "html": MARKUP,
    }
    assert shown["error"]["code"] == "Boom" and "[redacted]" in shown["error"]["message"] and "[redacted]" in shown["error"]["data"]
    hidden = client_of(store, **BY_TYPE).see("job", id="archived")["job"]
    assert hidden["payload"] == {"kind": "redacted"} and hidden["error"] == {
        "code": "Boom",
        "message": "[redacted]",
        "data": "[redacted]",
    }
    assert hidden["report"]["lines"][0]["text"] == "[redacted]"
    assert [line["text"] for line in shown["report"]["lines"]] == ["card 4 of 9, password=[redacted]"]
    root = client_of(store, **BY_TYPE).see("promise", id="flow")["promise"]
    assert root["param"] == {"kind": "redacted"}


def test_filters_do_not_tell_what_is_redacted(store: Any) -> None:
    ui = client_of(store, **BY_KEY)
    answer = ui.get("jobs", arg=f"nested.0.api_token={MARKER}")
    assert answer.status_code == 400 and "must not name a redacted member" in answer.json()["error"]
    assert ui.see("jobs", arg=MARKER)["items"] == [] and ui.see("jobs", error=MARKER)["items"] == []
    assert ui.get("jobs", tag=f"password={MARKER}").status_code == 400
    assert ui.see("jobs", arg="to=ada")["items"]
    hidden = client_of(store, **BY_TYPE)
    assert hidden.see("jobs", arg=MARKER)["items"] == [] and hidden.see("jobs", arg="to=ada")["items"] == []
    assert hidden.see("jobs", error="Boom")["items"] and hidden.see("jobs", error="no such")["items"] == []


def test_an_edited_payload_keeps_what_was_redacted(store: Any) -> None:
    ui = client_of(store, **BY_KEY)
    shown = ui.see("job", id="archived")["job"]["payload"]["json"]
    answer = ui.do("job.rerun", {"id": "archived", "payload": {**shown, "to": "eve"}, "newId": "again"})
    assert answer.status_code == 200 and MARKER not in answer.text
    assert store.jobs.get("again").payload.json() == {
        "to": "eve",
        "password": MARKER,
        "nested": [{"api_token": MARKER}],
        "html": MARKUP,
    }
    assert (
        store.jobs.get("again").tags["rerun_of"] == "archived" and ui.see("job", id="again")["related"]["retriedFrom"] == "archived"
    )
    refused = ui.do("job.rerun", {"id": "archived", "payload": {"other": "[redacted]"}})
    assert refused.status_code == 400 and store.jobs.get("archived").state == "archived"


# --- audit --------------------------------------------------------------------------------------------------------------------


def test_each_action_leaves_a_line(store: Any, caplog: pytest.LogCaptureFixture) -> None:
    ui = client_of(store)
    with caplog.at_level(logging.INFO, "resonate_core.audit"):
        assert ui.do("job.run", {"id": "archived"}).json()["audit"] == 1
        ui.do("job.run", {"id": "absent"})
        ui.do("queue.pause", {"queue": "mail"}, preview=True)
        ui.do("bulk", {"kind": "job.cancel", "ids": ["waiting", "absent"]})
    lines = ui.see("audit")["items"]
    assert [(line["kind"], line["status"], line["preview"]) for line in lines] == [
        ("bulk", 200, False),
        ("queue.pause", 200, True),
        ("job.run", 404, False),
        ("job.run", 200, False),
    ]
    assert lines[3] == {
        "number": 1,
        "prefix": "",
        "at": store.now,
        "who": "tester",
        "role": "operate",
        "from": "127.0.0.1",
        "kind": "job.run",
        "target": {"id": "archived"},
        "preview": False,
        "status": 200,
        "detail": None,
    }
    assert lines[0]["detail"] == "1 of 2 done" and lines[0]["target"]["ids"] == ["waiting", "absent"]
    told = [record.levelname for record in caplog.records if record.name == "resonate_core.audit"]
    assert told == ["INFO"] * 4
    assert "did job.run by tester from 127.0.0.1: 200" in caplog.text
    first = ui.see("audit", limit=1)
    assert [line["number"] for line in ui.see("audit", limit=1, cursor=first["next"])["items"]] == [3]


def test_the_audit_keeps_the_newest(store: Any) -> None:
    ui = client_of(store, audit_kept=2)
    for _ in range(3):
        ui.do("queue.pause", {"queue": "mail"})
    assert [line["number"] for line in ui.see("audit")["items"]] == [3, 2]


def test_stored_markup_is_json_only(store: Any) -> None:
    ui = client_of(store)
    shown = ui.get("job", id=MARKUP)
    assert shown.headers["content-type"] == "application/json" and MARKUP not in shown.text
    assert json.loads(shown.text)["job"]["id"] == MARKUP
    refused = ui.get("job", id=f"{MARKUP}?")
    assert refused.status_code == 404 and "<" not in refused.text and MARKUP in refused.json()["error"]


def test_a_client_without_an_app() -> None:
    with pytest.raises(NotImplementedError):
        Client(
            lambda scope, receive, send: client_of(rc.Store(clock=rc.ManualClock())).app(
                {**scope, "type": "websocket"}, receive, send
            )
        ).get("jobs")
