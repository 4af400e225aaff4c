"""A redaction pattern with `*` took time quadratic in a text: one payload of 70 kB stopped every request for 27 s.

The patterns were regular expressions, which hold the interpreter while they search. Now each text is searched a fixed number of times, whatever
the patterns are, and each response has a budget, beyond which texts are redacted. The inputs below took minutes to hours; the guard of a minute
ends a test that hangs, and the work is asserted as numbers of places and characters.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.base.globs import Globs
from resonate_core.ui.options import UiOptions
from resonate_core.ui.redaction import BUDGET, REDACTED, Redaction, RedactionRules
from tiers import every
from ui.ui_client import client_of

KEYS = {"redact_keys": ["password", "*token*", "*auth*token*"]}
SIZE = 400_000
#: Payloads that a client may enqueue, and errors that a worker may report.
PAYLOADS = {
    "words": "token" * (SIZE // 5),
    "names": {"auth" * (SIZE // 4): 1},
    "lines": "token\n" * (SIZE // 6),
    "signs": "token:" * (SIZE // 6),
    "blanks": "token" + " " * SIZE,
    "quotes": 'token="' + '\\"' * (SIZE // 2),
    "brackets": "token=" + "[" * SIZE,
    "slashes": "token=" + "\\" * SIZE + '"',
    "markup": "<token>" * (SIZE // 7),
    "flags": "--token " * (SIZE // 8),
    "base64": "eyJ" + "A" * SIZE,
    "json": json.dumps(json.dumps(json.dumps({"token": "x" * (SIZE // 8)}))),
    "pairs": [["token", i] for i in range(SIZE // 16)],
}


@pytest.mark.parametrize("name", every(3, PAYLOADS))
def test_every_view_of_a_hostile_payload_ends(name: str) -> None:
    program = f"""
from regressions.test_redaction_patterns_hold_every_request import views_of
views_of({name!r})
"""
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *filter(None, sys.path)])}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, timeout=60, check=False, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def views_of(name: str) -> None:
    """Ask the views that show a payload, an error, a traceback and the lines of a report."""
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    payload = PAYLOADS[name]
    text = payload if isinstance(payload, str) else json.dumps(payload)
    store.jobs.enqueue("t", payload, id="j", max_retries=0, tags={"text": text[:1000]})
    (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
    store.jobs.report("j", job.version, lines=[text[:300].replace("\n", " ")])
    store.jobs.fail("j", job.version, "E", text[:30_000], text)
    ui = client_of(store, **KEYS)
    for view, query in (("jobs", {}), ("job", {"id": "j"}), ("why", {"id": "j"}), ("jobs", {"arg": "x"}), ("jobs", {"error": "x"})):
        assert ui.get(view, **query).status_code == 200
    assert ui.do("job.run", {"id": "j"}, preview=True).status_code == 200
    assert ui.do(text[:1000], {"tags": {"a": text}}).status_code == 400


@pytest.mark.parametrize("name", PAYLOADS)
def test_the_work_grows_with_the_text_alone(name: str) -> None:
    def work(size: int) -> int:
        redaction = Redaction(RedactionRules(UiOptions(**KEYS)))
        content = PAYLOADS[name]
        part = content[:size] if isinstance(content, (str, list)) else {key[:size]: one for key, one in content.items()}
        redaction.members(part)
        return BUDGET - redaction.left

    few, many = work(SIZE // 16), work(SIZE // 4)
    assert many <= 4 * few + 1000 or many <= 40 * SIZE // 4


def test_what_is_beyond_the_budget_is_redacted() -> None:
    redaction = Redaction(RedactionRules(UiOptions(redact_keys=["password"])), budget=1000)
    shown = redaction.members({"first": "a" * 500, "second": "b" * 800, "third": "c", "password": "hunter2"})
    assert shown == {"first": "a" * 500, "second": REDACTED, "third": REDACTED, "password": REDACTED}
    assert redaction.members({"a": 1}) == REDACTED and redaction.pairs({"a": "1"}) == {REDACTED: REDACTED}


def test_a_list_beyond_the_budget_is_answered() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    for i in range(7):
        store.jobs.enqueue("t", {"note": f"{i} token " * 200_000, "i": i}, id=f"j{i}")
    ui = client_of(store, **KEYS)
    shown = ui.see("jobs")["items"]
    assert len(shown) == 7 and REDACTED in json.dumps(shown[-1]["payload"])
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:  # a filter that reads payloads reads a part of them for each page, and leaves none out
        page = ui.see("jobs", arg="i=3", **cursor)
        seen += [one["id"] for one in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert seen == ["j3"]


def test_many_redacted_values_are_found_in_one_pass() -> None:
    """600 redacted values took 2.5 s for a text of 20 kB: each was searched alone."""
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    secrets = ["a" * (i + 4) + "b" for i in range(600)]
    store.jobs.enqueue("t", {"password": secrets, "note": "a" * 20_000 + "b", "last": "x" + secrets[3] + "y"}, id="j")
    shown = client_of(store, redact_keys=["password"]).see("job", id="j")["job"]["payload"]["json"]
    assert shown["password"] == REDACTED and shown["last"] == f"x{REDACTED}y" and shown["note"].endswith(REDACTED)


def test_patterns_of_users_have_one_matcher() -> None:
    """Filters of queues, claims of tokens and timelines used three other matchers, two of them quadratic."""
    package = Path(rc.__file__).parent
    for path in package.rglob("*.py"):
        assert "fnmatch" not in path.read_text(), path
    assert Globs(["a*" * 200 + "b"]).match("a" * 100_000) is False
    assert Globs(["[a]?*"]).match("[a]?b") and not Globs(["[a]?"]).match("ab")
