"""Random documents with secrets planted at any depth, in any spelling: no view, action, fork or story has one of them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import resonate_core as rc
from ui.ui_client import PAGE, client_of

KEYS = ["password", "*token*", "Authorization"]
NAMES = st.sampled_from(["password", "PASSWORD", "api_token", "tokens", "authorization", "my-token-2"])
PLAIN = st.sampled_from(["user", "note", "id", "kind", "a", "payload"])


@st.composite
def secrets(draw: st.DrawFn) -> str:
    body = draw(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\x00"), min_size=0, max_size=12))
    return f"s3c{draw(st.integers(10**6, 10**7))}{body}"


@st.composite
def planted(draw: st.DrawFn) -> Any:
    """A value with a secret under a redacted name."""
    name, secret = draw(NAMES), draw(secrets())
    spelling = draw(st.integers(0, 9))
    if spelling == 0:
        return {name: secret}
    if spelling == 1:
        return {name: [{"x": secret}, 1]}
    if spelling == 2:
        return {draw(st.sampled_from(["name", "key", "k", "field"])): name, "value": secret}
    if spelling == 3:
        return [name, secret]
    if spelling == 4:
        return f"a {name}: {secret}"
    if spelling == 5:
        return f"{name}={secret!r}, user='ada'"
    if spelling == 6:
        return "line\n" + json.dumps({name: secret}, indent=draw(st.sampled_from([None, 2]))) + " trailing"
    if spelling == 7:
        return {"data": base64.b64encode(json.dumps({name: secret}).encode()).decode()}
    if spelling == 8:
        return f"failed with { ({'user': 'ada', name: secret})!r}"
    return {name: secret, "quoted": f"user said {secret} twice: {json.dumps(secret)}"}


documents = st.recursive(
    st.one_of(planted(), st.integers(), st.text(max_size=8), planted()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(PLAIN, inner, max_size=3),
        inner.map(json.dumps),
        inner.map(lambda value: {"body": json.dumps(value, ensure_ascii=False)}),
    ),
    max_leaves=6,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    document=documents,
    text=documents.map(lambda value: (value if isinstance(value, str) and "\n" not in value else repr(value))[:900] or "-"),
)
def test_no_view_has_a_planted_secret(document: Any, text: str) -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("t", document, id="j", max_retries=0)
    (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
    store.jobs.report("j", job.version, lines=[text])
    store.jobs.fail("j", job.version, "E", text, json.dumps(document))
    store.promises.create("p", timeout=10**9, param=document)
    ui = client_of(store, redact_keys=KEYS)
    travel = ui.post("travel/fork", {"do": [{"kind": "job.rerun", "data": {"id": "j", "newId": "n"}}]}).json()["travel"]
    views = [
        *("jobs", "job?id=j&full=1", "promise?id=p", "workflows", "why?id=j", "stuck", f"job?id=n&travel={travel}"),
        *(f"travel/{view}?travel={travel}&a=0" for view in ("state", "diff", "pytest")),
    ]
    actions: list[dict[str, Any]] = [
        {"kind": "job.run", "data": {"id": "j"}, "preview": True},
        {"kind": "job.enqueue", "data": {"id": "m", "type": "t", "payloadJson": document}},
    ]
    requests: list[Any] = [("GET", f"api/{view}", None, {}) for view in views]
    requests += [("POST", "api/do", body, PAGE) for body in actions]
    bodies = [answer.text for answer in ui.requests([*requests, ("GET", "api/audit", None, {})])]
    for body in bodies:
        assert "s3c" not in body and base64_of("s3c") not in body, body


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_secrets_are_seen_without_redaction() -> None:
    """The judge above is not blind."""
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("t", {"password": "s3c1234567"}, id="j")
    assert "s3c1234567" in client_of(store).get("jobs").text
    with pytest.raises(AssertionError):
        assert "s3c" not in client_of(store).get("job", id="j").text
