"""Text that other readers take for JSON, and Python's does not, was searched as a text that is no JSON, in which escaped keys are unknown.

Such text has an integer of more than 4,300 digits, a byte order mark, or a control character in a string. Elements of XML with the
prefix of a namespace were shown, too.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.ui.options import UiOptions
from resonate_core.ui.redaction import Redaction, RedactionRules
from ui.ui_client import client_of

SECRET = "hunter2-of-ada"
MEMBER = f'"pass\\u0077ord":"{SECRET}"'
LONG = "9" * 5000
TEXTS = {
    "a long integer": f'{{"n":{LONG},{MEMBER}}}',
    "a long negative integer": f"[-{LONG},{{{MEMBER}}}]",
    "a byte order mark": f"\ufeff{{{MEMBER}}}",
    "white space and a byte order mark": f" \ufeff\n[{{{MEMBER}}}]",
    "a mark and a long integer": f'\ufeff{{{MEMBER},"n":{LONG}}}',
    "a control character": f'{{"a":"x\ty",{MEMBER}}}',
    "a namespace": f"<ns:password>{SECRET}</ns:password>",
    "a namespace and attributes": f'<a:b><ns:Password xmlns:ns="urn:x" a="b">{SECRET}</ns:Password></a:b>',
    "an element of a path": f"<user.password>{SECRET}</user.password>",
}


def spellings(text: str) -> list[str]:
    encoded = base64.b64encode(text.encode()).decode()
    return [text, json.dumps({"body": text}), json.dumps([json.dumps({"body": text})])] + (
        [f"got {encoded} there"] if not text.lstrip().startswith(("<", "\ufeff\n")) else []
    )


def visible(text: str) -> str:
    """A text and what is in the base64 of it."""
    parts = [text]
    for word in text.replace('"', " ").replace("\\", " ").split():
        try:
            parts.append(base64.b64decode(word, validate=True).decode())
        except ValueError:
            continue
    return "\n".join(parts)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_redacted(name: str) -> None:
    for text in spellings(TEXTS[name]):
        for value in (text, {"a": [text]}):
            redaction = Redaction(RedactionRules(UiOptions(redact_keys=["password"])))
            shown = json.dumps(redaction.document(redaction.members(value)), ensure_ascii=False)
            assert SECRET not in visible(shown) and redaction.count, text[:50]


@pytest.mark.parametrize("name", TEXTS)
def test_no_view_shows_it(name: str) -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    data = base64.b64encode(TEXTS[name].encode()).decode()
    job = {
        "id": "j",
        "type": "t",
        "payload": {"data": data},
        "tags": {"x": TEXTS[name][:40] if LONG in TEXTS[name] else TEXTS[name]},
    }
    for kind, given in (("job.enqueue", job), ("promise.create", {"id": "p", "timeoutAt": 9, "param": {"data": data}, "tags": {}})):
        status, _ = asked(store, kind, given)
        assert status == 200
    ui = client_of(store, redact_keys=["password"])
    for view, query in (("job", {"id": "j"}), ("jobs", {}), ("promise", {"id": "p"}), ("why", {"id": "j"})):
        answer = ui.get(view, **query)
        assert answer.status_code == 200 and SECRET not in answer.text, view


def asked(store: Any, kind: str, data: dict[str, Any]) -> tuple[int, Any]:
    reply = store.apply({"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data})
    return reply["head"]["status"], reply["data"]


def test_a_redacted_type_hides_the_texts_in_such_json() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    data = base64.b64encode(f'{{"n":{LONG},"a":"{SECRET}"}}'.encode()).decode()
    status, _ = asked(store, "job.enqueue", {"id": "j", "type": "card", "payload": {"data": data}, "tags": {"u": SECRET}})
    assert status == 200
    assert SECRET not in client_of(store, redact_types=["card"]).get("job", id="j").text


def test_ordinary_numbers_stay() -> None:
    redaction = Redaction(RedactionRules(UiOptions(redact_keys=["password"])))
    assert redaction.text('{"n":12345678901234567890,"m":1.5,"password":1}') == (
        '{"n": 12345678901234567890, "m": 1.5, "password": "[redacted]"}'
    )
