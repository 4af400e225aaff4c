"""Redaction missed `authorization: Bearer …`, JSON in JSON in JSON, and `{"name": "password", "value": …}`.

Each spelling below has the value of a redacted key. Where a text has no quotes, the value is the rest of its line.
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

S = "hunter2 of ada"
DEEP: Any = {"password": S}
for _ in range(8):
    DEEP = {"body": json.dumps(DEEP)}
ENCODED = base64.b64encode(json.dumps({"password": S}).encode()).decode()

VALUES: list[Any] = [
    {"password": S},
    {"a": [{"PASSWORD ": {"b": [S]}}]},
    {"body": json.dumps({"inner": json.dumps({"password": S})})},
    DEEP,
    json.dumps(json.dumps({"password": S})),
    {"p": {"name": "password", "value": S}},
    {"p": {"value": S, "Key": "password"}},
    {"p": {"k": "password", "v": S}},
    {"p": {"field": "user.password", "content": [S]}},
    {"p": {"x": "password", "y": S}},
    {"headers": [["authorization", S], ["host", "h"]]},
    {"headers": ["authorization", S]},
    {"argv": ["login", "--password", S]},
    {"promise": {"param": {"data": ENCODED}}},
    {"data": base64.b64encode(json.dumps([json.dumps({"password": S})]).encode()).decode()},
    {"body": json.dumps({"pass\u0077ord": S}).replace("password", "pass\\u0077ord")},
]
TEXTS = [
    f"authorization: Bearer {S}",
    f"Authorization: Basic {S}\nhost: x",
    f"password={S}",
    f"password = '{S}'",
    f'password: "{S}"',
    f"password => {S}",
    f"'password': '{S}', 'user': 'ada'",
    f"{{'password': '{S}'}}",
    f"{{'user': 'ada', 'password': ['x', '{S}']}}",
    f'"password" : "a\\"b {S}"',
    f'password = """\n{S}\n"""',
    f"password = 'it''s {S}'",
    f'password = "a" "{S}"',
    f"password = 'a' + '{S}'",
    f"password: |\n  a\n  {S}\nuser: ada",
    f"password:\n  {S}",
    f"password: >-\n    {S}\n    {S}",
    f"password={{\n  a: 1,\n  b: {S}\n}}",
    f"private_key: -----BEGIN KEY-----\n{S}\n-----END KEY-----",
    f"GET /?user=ada&password={S} failed",
    f"data[password]={S}",
    f"data['password'] = {S}",
    f"user.password={S}",
    f"login --password {S}",
    f"login -password '{S}'",
    f"<password>{S}</password>",
    f'<a password="{S}"/>',
    f"('password', '{S}')",
    f'["password", "{S}"]',
    f'bad body {{"name": "password", "value": "{S}"}} of ada',
    f"bad body {{'value': '{S}', 'name': 'password'}}",
    f"- name: password\n  value: {S}\n- name: user\n  value: ada",
    f'{{"a": "{{\\"password\\": \\"{S}\\"}}", broken',
    f'{{"a": "{{\\"b\\": \\"{{\\\\\\"password\\\\\\": \\\\\\"{S}\\\\\\"}}\\"}}", broken',
    f"password   \t =   {S}",
    "password" + " " * 5000 + f"= {S}",
    f"got {ENCODED} from there",
    f"api_password_2: {S}",
    f"password -> {S}",
    f"password?={S}",
    f"“password”: “{S}”",
    f"password：{S}",
    f"/login?x=1&password%3D{S}",
    f"%7B%22password%22%3A%22{S}%22%7D",
    f"password=\\\n{S}",
]
KEYS = ["password", "authorization", "private_key", "*_password_*"]


def shown_by(value: Any) -> str:
    redaction = Redaction(RedactionRules(UiOptions(redact_keys=KEYS)))
    return json.dumps(redaction.document(redaction.members(value)))


@pytest.mark.parametrize("value", [*VALUES, *TEXTS], ids=range(len(VALUES) + len(TEXTS)))
def test_a_spelling_is_redacted(value: Any) -> None:
    assert "hunter2" not in whole(shown_by(value)) and "[redacted]" in whole(shown_by(value))
    assert "hunter2" not in whole(shown_by({"a": [json.dumps([value])]}))


@pytest.mark.parametrize("value", [*VALUES, *TEXTS], ids=range(len(VALUES) + len(TEXTS)))
def test_every_view_redacts_it(value: Any) -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    text = value if isinstance(value, str) else json.dumps(value)
    store.jobs.enqueue("t", value, id="j", max_retries=0, tags={"text": text})
    (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
    store.jobs.report("j", job.version, lines=[text.replace("\n", "\\n") if len(text) < 1000 else "long"])
    store.jobs.fail("j", job.version, "E", text, text)
    store.promises.create("p", timeout=10**9, param=value, tags={"text": text})
    ui = client_of(store, redact_keys=KEYS)
    travel = ui.post("travel/fork", {}).json()["travel"]
    views = [("jobs", {}), ("job", {"id": "j"}), ("promise", {"id": "p"}), ("workflows", {}), ("why", {"id": "j"}), ("stuck", {})]
    for view, query in [*views, ("travel/diff", {"a": 0}), ("travel/state", {}), ("travel/pytest", {})]:
        where = {"travel": travel} if view.startswith("travel") else {}
        assert "hunter2" not in whole(ui.get(view, **query, **where).text), view
    assert "hunter2" not in whole(ui.do("job.run", {"id": "j"}, preview=True).text)


@pytest.mark.parametrize(
    "text",
    [
        "the password is long",
        "passwords: none",
        "my-password: none",
        "mypassword=1",
        "a: b, c = d",
        '{"a": 1}',
        "[WARN] x: y",
        "<a>b</a>",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert json.loads(shown_by(text)) == text and json.loads(shown_by({"a": text})) == {"a": text}


def test_what_stands_beside_a_value_is_shown() -> None:
    assert json.loads(shown_by("user: ada\npassword: x\nhost: h")) == "user: ada\npassword: [redacted]\nhost: h"
    assert json.loads(shown_by("{'password': 'x', 'user': 'ada'}")) == "{'password': [redacted], 'user': 'ada'}"
    assert json.loads(shown_by('password="x" user="ada"')) == 'password=[redacted] user="ada"'
    assert json.loads(shown_by([{"name": "password", "value": 1}, {"name": "user", "value": 2}])) == [
        {"name": "password", "value": "[redacted]"},
        {"name": "user", "value": 2},
    ]


def test_json_in_json_beyond_the_bound_is_redacted() -> None:
    value: Any = {"password": "hunter2"}
    for _ in range(120):
        value = [value]
    assert "hunter2" not in shown_by(value) and "hunter2" not in shown_by(json.dumps(value))


def whole(text: str) -> str:
    """A text, and all base64 in it decoded."""
    made, parts = [text], [text]
    while parts:
        for word in parts.pop().replace("\\", " ").replace('"', " ").replace("'", " ").split():
            try:
                content = base64.b64decode(word, validate=True).decode()
            except ValueError:
                continue
            if len(word) > 8:
                made.append(content)
                parts.append(content)
    return "\n".join(made)
