"""A recording wrote Python into the test that the dashboard makes of it, and was a format of its own texts.

The status of a reply went into "story as pytest" as it was: running the test ran it. A step named `{id:>200000000}` went through
`str.format`: 200 MB for each line. Each value is checked as it is read, in one place for all readers, and is written as a literal;
a redacted value is replaced before it is written, since a replacement in code would change the code.
"""

from __future__ import annotations

import ast
import io
import json
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.explain.recordings import KINDS, STEPS
from resonate_core.history import History
from resonate_core.testing import recording_story
from resonate_core.testing.regressions import ScenarioSource, text_of
from resonate_core.ui.recording import Recording
from resonate_core.ui.steps import step_text
from ui.ui_client import Client, client_of

NDJSON = "application/x-ndjson"
HOSTILE = [
    '"""\nimport os\n"""',
    "'''",
    '"); import os; ("',
    "\\",
    '\\"',
    "{0.__class__}",
    "{id:>200000000}",
    "%s%(x)n",
    "a\nb\rc",
    "\u2028\u2029\x85\x1c",
    "\u202e\x00\x1b[31m",
    "[redacted]",
    "𝄞\ufeff",
    "</script><!--",
    "__import__('os').system('id')",
]


def recorded(texts: list[str] | None = None) -> list[str]:
    """The lines of a recording; ids, names and messages are some texts of others."""
    store = rc.Store(clock=rc.ManualClock(1000))
    trace = io.StringIO()
    with store.record(trace):
        for n, text in enumerate(texts or ["a"]):
            plain = text.replace("\0", "")
            store.promises.create(f"p{plain}", timeout=5000, param=text, tags={plain or "x": plain})
            store.jobs.enqueue(
                plain or "x", {"password": text, text: text}, id=f"j{plain}", queue=f"q{n}{plain}", tags={"t": plain}
            )
            (job,) = store.jobs.claim(f"q{n}{plain}", worker=f"w{plain}", lease=1000, start=1)
            store.jobs.fail(job.id, job.version, plain or "E", text)
            store.tasks.create(f"t{plain}", pid=f"w{plain}", ttl=1000, timeout=4000, target="poll://any@g")
        store.schedules.create("s", cron="* * * * * *", promise_id="{{.id}}.{{.timestamp}}", promise_timeout=1000)
        store.clock.advance(2000)
    return [line for line in trace.getvalue().split("\n") if line]


def request(**members: Any) -> dict[str, Any]:
    """The line of a request that was answered with 404."""
    head = {"corrId": "1", "version": "2026-04-01"}
    line = {
        "kind": "promise.get",
        "now": 1000,
        "req": {"kind": "promise.get", "head": head, "data": {"id": "a"}},
        "res": {"head": {"status": 404}, "data": "x"},
    }
    return {**line, **members}


def with_status(status: Any) -> dict[str, Any]:
    return request(res={"head": {"status": status}, "data": "x"})


def step(**members: Any) -> dict[str, Any]:
    return {"kind": "step.promise_timeout", "now": 1000, "req": {"id": "a", "at": 1000}, "res": {}, **members}


CODE = "(__import__('os').system('id') or 404)"
BROKEN: list[tuple[str, Any, str]] = [
    ("a status that is code", with_status(CODE), "res.head.status must be an integer"),
    ("a status that is true", with_status(True), "res.head.status must be"),
    ("a status that is a list", with_status([404]), "res.head.status must be"),
    ("a status that does not exist", with_status(99), "res.head.status must be a status of the protocol"),
    ("no status", request(res={"head": {}, "data": "x"}), "res.head.status must be"),
    ("a version that is code", request(req={**request()["req"], "head": {"version": CODE}}), "req.head.version must be"),
    ("a kind that differs", request(kind="promise.create"), "req.kind must be that of the line"),
    ("an unknown kind", request(kind="os.system", req={**request()["req"], "kind": "os.system"}), "kind must be open"),
    ("a debug operation", request(kind="debug.reset", req={**request()["req"], "kind": "debug.reset"}), "kind must be open"),
    ("an id that is a list", request(req={**request()["req"], "data": {"id": [CODE]}}), "req.data.id must be a text"),
    ("data that are a text", request(req={**request()["req"], "data": CODE}), "req.data must be an object"),
    ("a reply that is a list", request(res=[CODE]), "res must be an object"),
    ("tags that hold a number", request(req={**request()["req"], "data": {"id": "a", "tags": {"a": 1}}}), "req.data.tags must be"),
    (
        "data of a value that are an object",
        request(req={**request()["req"], "data": {"id": "a", "param": {"data": {}}}}),
        "req.data.param.data must be a text",
    ),
    ("a worker that is an object", request(req={**request()["req"], "data": {"worker": {}}}), "req.data.worker must be a text"),
    ("a format as a step", {"kind": "step.{id:>200000000}", "now": 1000, "req": {"id": "a"}, "res": {}}, "kind must be open"),
    ("an attribute as a step", {"kind": "step.{id.nosuch}", "now": 1000, "req": {"id": "a"}, "res": {}}, "kind must be open"),
    ("a step without an instant", step(req={"id": "a"}), "req.at must be an instant"),
    ("a step whose id is a number", step(req={"id": 1, "at": 1000}), "req.id must be a text"),
    ("a negative instant", request(now=-1), "now must be an instant from 0"),
    ("an instant before the last", request(now=999), "now must be at least 1000, that of the line before, got 999"),
    ("a late instant", request(now=2**63), "a number must be an integer of 64 bits"),
    ("an instant that is a text", request(now="1000"), "now must be an instant"),
    ("an instant that is true", request(now=True), "now must be an instant"),
    ("an instant that is a fraction", request(now=1000.0), "now must be an instant"),
    (
        "keys that are no texts",
        {"kind": "messages.take", "now": 1000, "req": {"keys": [1]}, "res": {}},
        "req.keys must be a list of texts",
    ),
    ("an instant of a record", request(res={"head": {"status": 200}, "data": {"at": -1}}), "res.data.at must be an instant"),
    ("a snapshot of texts", {"kind": "open", "now": 1, "req": {}, "res": {"snapshot": "x"}}, "res.snapshot must be an object"),
    ("half a surrogate pair", request(res={"head": {"status": 404}, "data": "\ud800"}), "res.data must be valid Unicode"),
    ("half a pair as a name", request(req={**request()["req"], "data": {"id": "a", "\udc00": 1}}), "must be valid Unicode"),
]
UNREADABLE = [
    ("NaN", "NaN", "a number must be finite"),
    ("Infinity", "-Infinity", "a number must be finite"),
    ("a float that is infinite", "1e999", "a number must be finite"),
    ("5,000 digits", "9" * 5000, "a number must be an integer of 64 bits"),
    ("70 levels", "[" * 70 + "]" * 70, "must be nested at most 64 deep"),
    ("100,000 levels", "[" * 100_000 + "]" * 100_000, "must be nested at most 64 deep"),
]
ROWS = [(name, json.dumps(line), why) for name, line, why in BROKEN] + [
    (name, json.dumps(request(extra="@")).replace('"404"', "404").replace('"data": "x"', f'"data": {{"x": {text}}}'), why)
    for name, text, why in UNREADABLE
]


@pytest.mark.parametrize(("line", "why"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_every_reader_refuses_a_line_that_breaks_a_rule(line: str, why: str) -> None:
    lines = [*recorded()[:2], line]
    for read in (Recording, History, rc.display.timeline_data):
        with pytest.raises(rc.Invalid, match="trace line 3: ") as caught:
            read(lines)
        assert why in str(caught.value) and len(str(caught.value)) < 400
    answer = client_of(rc.Store(clock=rc.ManualClock())).post("travel", "\n".join(lines), NDJSON)
    assert answer.status_code == 400 and "trace line 3: " in answer.json()["error"] and why in answer.json()["error"]


def test_a_snapshot_that_breaks_an_invariant_is_refused() -> None:
    lines = recorded()
    first = json.loads(lines[0])
    first["res"]["snapshot"]["promises"] = [{"id": "a"}]
    with pytest.raises(rc.Invalid, match="trace line 1"):
        Recording([json.dumps(first)])


def only_literals_and_known_calls(code: str) -> None:
    """Fails if a generated test has anything but its own functions, called with literals."""
    tree = ast.parse(code)
    (test,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    for node in tree.body:
        if isinstance(node, ast.AnnAssign):
            ast.literal_eval(node.value or ast.Constant(None))
        else:
            assert isinstance(node, (ast.Expr, ast.Import, ast.ImportFrom, ast.FunctionDef))
            assert not isinstance(node, ast.Expr) or isinstance(node.value, ast.Constant)
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    known = {"store", "rc", "START", "OPTIONS", "ask", "len", "one", "rows", "row", "states", "id", "Any"}
    assert names <= known, names - known
    attributes = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    known = {"Store", "ManualClock", "restore", "tick", "acknowledge", "number", "messages", "key", "snapshot", "get", "items"}
    assert attributes <= known, attributes - known
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.JoinedStr, ast.Lambda, ast.Await, ast.Starred))]


def story_of(ui: Client, lines: list[str], name: str = "recording") -> str:
    opened = ui.request(
        "POST", "api/travel", "\n".join(lines), {"content-type": NDJSON, "x-resonate-ui": "1", "x-resonate-name": name}
    )
    assert opened.status_code == 200, opened.text
    answer = ui.get("travel/pytest", travel=opened.json()["travel"])
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize("keys", [[], ["password"]])
def test_a_story_of_hostile_texts_has_only_literals(keys: list[str]) -> None:
    ui = client_of(rc.Store(clock=rc.ManualClock()), redact_keys=keys)
    code = story_of(ui, recorded(HOSTILE))
    only_literals_and_known_calls(code)
    if not keys:
        names: dict[str, Any] = {}
        exec(compile(code, "test_story.py", "exec"), names)
        names["test_recording"]()


@pytest.mark.parametrize(
    "name", ["%22%22%22%0Aimport os", "%00", "%ED%A0%80", "%5C", "%E2%80%A8", "%C2%B2", "%D9%A3", "%7Bname%7D", "a%0Db", "x" * 500]
)
def test_the_name_of_a_recording_is_a_text(name: str) -> None:
    code = story_of(client_of(rc.Store(clock=rc.ManualClock())), recorded(), name)
    only_literals_and_known_calls(code)


@pytest.mark.parametrize("secret", ["assert ask(store, ", "', 'data': ", "restore", "1000, 'job", "\\n", "import", "    ", "store"])
def test_a_hidden_value_that_looks_like_code_changes_no_code(secret: str) -> None:
    store, trace = rc.Store(clock=rc.ManualClock(1000)), io.StringIO()
    with store.record(trace):
        store.jobs.enqueue("t", {"password": secret}, id="j", tags={"note": f"before {secret} after"})
    ui = client_of(rc.Store(clock=rc.ManualClock()), redact_keys=["password"])
    code = story_of(ui, trace.getvalue().split("\n"))
    only_literals_and_known_calls(code)
    assert f"before {secret} after" not in code


@pytest.mark.parametrize("text", HOSTILE)
def test_the_file_of_a_failure_has_only_its_own_code(text: str) -> None:
    source = ScenarioSource("tests.test_shop", "test_order", ("shop",))
    code = text_of(source, text, "rct_abc", [text, f"500 ms  {text}"])
    tree = ast.parse(code)
    kinds = [type(node).__name__ for node in tree.body]
    assert kinds == ["Expr", "ImportFrom", "ImportFrom", "Assign", "Assign"]
    assert all(char.isprintable() or char == "\n" for char in code)


@pytest.mark.parametrize("name", ["a b", "os; import x", "x\n", "", "a()"])
def test_names_in_the_file_of_a_failure_are_names(name: str) -> None:
    for source in (ScenarioSource(name, "f"), ScenarioSource("m", name), ScenarioSource("m", "f", (name,))):
        with pytest.raises(ValueError, match="must be names of Python"):
            text_of(source, "s", "rct_abc", [])


def test_a_text_is_no_format() -> None:
    for text in HOSTILE:
        assert step_text(text, text, {"id": text, text: text}) == f"{text.replace('_', ' ')} of {text}"
        assert recording_story.step_sentence(text, text) == f"{text.replace('_', ' ')} {text}"
    for kind in STEPS:
        assert step_text(kind, "{0}", dict.fromkeys(("address", "awaiter", "job", "promise_id"), "{1:>9}")).count("{0}") == 1
        assert "{0}" in recording_story.step_sentence(kind, "{0}")


def test_the_known_steps_and_requests_are_those_of_the_engine() -> None:
    assert set(recording_story._STEPS) == STEPS
    assert {kind.partition(".")[0] for kind in KINDS} == {"promise", "task", "schedule", "job", "queue"}


def test_a_line_separator_in_a_text_ends_no_line() -> None:
    lines = "\n".join(recorded(["a\u2028b\x85c"]))
    assert any("\u2028" in id for id in History(io.StringIO(lines)).lives)
    opened = client_of(rc.Store(clock=rc.ManualClock())).post("travel", lines, NDJSON)
    assert opened.status_code == 200, opened.text
