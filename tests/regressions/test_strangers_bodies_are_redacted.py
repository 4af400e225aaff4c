"""The body and the content type of an action were read, parsed and redacted before the role of its sender was judged.

So a stranger could cause seconds of work with one request. Now the role is judged first: of a request without the role, nothing is read.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.ui.redaction import Redaction
from ui.ui_client import PAGE, client_of

TEXT = "token" * 4000


def answer_of(app: Any, path: str, headers: dict[str, str], query: bytes = b"") -> tuple[int, Any]:
    """Send a POST of which the app must not read the body."""
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("the body was read")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/api/{path}",
        "root_path": "",
        "query_string": query,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


@pytest.mark.parametrize(("role", "path"), [("none", "do"), ("read", "do"), ("none", "travel"), ("none", "travel/fork")])
@pytest.mark.parametrize(
    "headers", [PAGE, {"content-type": "token" * 6000}, {**PAGE, "origin": "http://" + TEXT}, {**PAGE, "x-resonate-name": TEXT}]
)
def test_nothing_of_a_request_without_the_role_is_read(
    role: str, path: str, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    redacted: list[str] = []
    of = Redaction.text
    monkeypatch.setattr(Redaction, "text", lambda self, text: redacted.append(text) or of(self, text))
    ui = client_of(rc.Store(clock=rc.ManualClock()), role, redact_keys=["*token*"])
    assert answer_of(ui.app, path, headers) == (403, {"error": "Forbidden", "status": 403})
    assert sum(map(len, redacted)) < 100


@pytest.mark.parametrize("view", ["jobs", "session", "travel/pytest", "nothing" + TEXT])
def test_no_parameter_of_a_stranger_is_read(view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resonate_core.ui.app.Parameters", lambda query: pytest.fail("the query was read"))
    ui = client_of(rc.Store(clock=rc.ManualClock()), "none", redact_keys=["*token*"])
    answer = ui.get(view, arg=TEXT)
    assert answer.status_code == (200 if view == "session" else 403) and TEXT not in answer.text


def test_errors_are_cut_before_they_are_redacted() -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock()), redact_keys=["*token*"])
    answer = ui.request("POST", "api/do", {}, {**PAGE, "content-type": "a" * 60_000})
    assert answer.status_code == 415 and len(answer.text) < 1000
    answer = ui.get("x" * 50_000)
    assert answer.status_code == 404 and len(answer.text) < 5000


def test_a_refused_action_leaves_a_line_without_its_body() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    ui = client_of(store, "read")
    assert ui.do("job.run", {"id": "j", "tags": {"a": TEXT}}).status_code == 403
    (line,) = ui.see("audit")["items"]
    assert (line["kind"], line["status"], line["target"], line["who"]) == ("do", 403, {}, "tester")
