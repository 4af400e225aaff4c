"""A job that was rerun under another type showed what its type hides: in a fork, in a preview, and after it was done.

The lines of reports stood in generated tests, because a request of a worker names its job and not its type. Records that descend from a redacted
one are redacted now, in every view, by one function (`StoreAccess.hides`).
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from ui.ui_client import Client, client_of

PAN = "4111111111111111"
HIDDEN = {"redact_types": ["card:*"]}
RERUN = {"id": "j1", "type": "x", "newId": "leak"}


@pytest.fixture
def store() -> Any:
    made = rc.Store(clock=rc.ManualClock())
    made.jobs.enqueue("card:charge", {"pan": PAN}, id="j1")
    return made


def forked(ui: Client, *actions: tuple[str, dict[str, Any]], **more: Any) -> str:
    answer = ui.post("travel/fork", {"do": [{"kind": kind, "data": data} for kind, data in actions], **more})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["travel"])


def every_text(ui: Client, id: str, **where: Any) -> str:
    views = [
        ("job", {"id": id, "full": 1}),
        ("promise", {"id": id, "full": 1}),
        ("jobs", {}),
        ("why", {"id": id}),
        ("workflow", {"id": id}),
    ]
    texts = [ui.get(view, **query, **where).text for view, query in views]
    if where:
        texts += [ui.get(f"travel/{view}", **where).text for view in ("steps", "state", "diff", "pytest")]
        texts.append(ui.get("travel/diff", a=0, **where).text)
    return "\n".join([*texts, ui.get("audit").text])


@pytest.mark.parametrize(
    "actions",
    [
        [("job.rerun", RERUN)],
        [("job.rerun", {**RERUN, "tags": {}})],
        [("job.rerun", {**RERUN, "tags": {"rerun_of": "other", "rerun_types": "[]"}})],
        [("job.rerun", {**RERUN, "payload": "[redacted]"})],
        [("job.rerun", {**RERUN, "newId": "b"}), ("job.rerun", {"id": "b", "type": "y", "newId": "leak"})],
        [("job.rerun", RERUN), ("job.delete", {"id": "j1"})],
        [("job.rerun", {**RERUN, "newId": "b"}), ("job.rerun", {"id": "b", "newId": "leak"}), ("job.delete", {"id": "j1"})],
        [("job.rerun", RERUN), ("job.delete", {"id": "j1"}), ("job.enqueue", {"id": "j1", "type": "x"})],
    ],
)
@pytest.mark.parametrize("role", ["read", "operate"])
def test_a_rerun_of_a_redacted_type(store: Any, role: str, actions: list[tuple[str, dict[str, Any]]]) -> None:
    ui = client_of(store, role, **HIDDEN)
    travel = forked(ui, *actions)
    shown = ui.see("job", id="leak", travel=travel)
    assert shown["job"]["payload"] == {"kind": "redacted"} and shown["promise"]["param"] == {"kind": "redacted"}
    assert PAN not in every_text(ui, "leak", travel=travel)
    if role == "operate":
        for kind, data in actions:
            assert PAN not in ui.do(kind, data, preview=True).text
            done = ui.do(kind, data)
            assert done.status_code == 200 and PAN not in done.text
        assert PAN not in every_text(ui, "leak") and store.jobs.get("leak").payload.json() == {"pan": PAN}


def test_what_a_rerun_does_is_redacted_too(store: Any) -> None:
    ui = client_of(store, **HIDDEN)
    assert ui.do("job.rerun", RERUN).status_code == 200
    for id in ("j1", "leak"):
        (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
        store.jobs.report(job.id, job.version, lines=[f"charging pan {PAN}"])
        store.jobs.fail(job.id, job.version, "E", f"no {PAN}", f"trace {PAN}")
        assert PAN not in every_text(ui, id) and PAN not in ui.get("stuck").text
    assert client_of(store).see("job", id="leak")["job"]["payload"]["json"] == {"pan": PAN}


def test_an_edited_rerun_of_a_redacted_type_tells_nothing_of_its_members(store: Any) -> None:
    ui = client_of(store, **HIDDEN)
    for payload in ({"pan": "[redacted]"}, {"none": "[redacted]"}, [{"pan": "[redacted]"}]):
        answer = ui.do("job.rerun", {**RERUN, "payload": payload}, preview=True)
        assert (answer.status_code, PAN in answer.text) == (400, False), answer.text
    assert ui.do("job.rerun", {**RERUN, "payload": {"pan": "1"}}).status_code == 200


def test_a_chain_of_which_every_link_is_deleted(store: Any) -> None:
    """The links were made by clients, which add no types."""
    store.jobs.enqueue("x", {"pan": PAN}, id="b", tags={"rerun_of": "j1"})
    store.jobs.enqueue("x", {"pan": PAN}, id="c", tags={"rerun_of": "b"})
    deleted = [("job.delete", {"id": id}) for id in ("j1", "b", "c")]
    ui = client_of(store, **HIDDEN)
    assert PAN not in every_text(ui, "leak", travel=forked(ui, ("job.rerun", {**RERUN, "id": "c"}), *deleted))
    # A dashboard that redacts nothing notes the types, too.
    assert client_of(store).do("job.rerun", {**RERUN, "id": "c"}).status_code == 200
    for id in ("j1", "b", "c"):
        store.jobs.delete(id)
    assert PAN not in every_text(client_of(store, **HIDDEN), "leak")


def test_members_of_a_rerun_of_a_wrong_type(store: Any) -> None:
    ui = client_of(store, **HIDDEN)
    for name, value in (("type", ["x"]), ("type", None), ("tags", ["a"]), ("tags", 5), ("newId", {})):
        answer = ui.do("job.rerun", {**RERUN, name: value}, preview=True)
        assert answer.status_code in (200, 400) and PAN not in answer.text, answer.text


def test_calls_of_a_redacted_workflow_are_redacted() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.promises.create("flow", timeout=10**9, param={"func": "card:flow", "args": [PAN]})
    tags = {"resonate:origin": "flow", "resonate:parent": "flow"}
    store.promises.create("flow.1", timeout=10**9, param={"func": "charge", "args": [PAN]}, tags=tags)
    store.promises.create("flow.1.1", timeout=10**9, param=PAN, tags={"resonate:parent": "flow.1"})
    store.jobs.enqueue("mail", {"pan": PAN}, id="flow.2", tags=tags)
    ui = client_of(store, **HIDDEN)
    for id in ("flow", "flow.1", "flow.1.1", "flow.2"):
        assert PAN not in every_text(ui, id), id
    assert PAN not in every_text(ui, "flow.2", travel=forked(ui))


def test_an_adopted_promise_of_a_redacted_function() -> None:
    """A job that is enqueued on the id of a pending promise has its param as payload."""
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.promises.create("p", timeout=10**9, param={"func": "card:charge", "args": [PAN]}, tags={"resonate:external": "true"})
    ui = client_of(store, **HIDDEN)
    travel = forked(ui, ("job.enqueue", {"id": "p", "type": "x"}))
    assert PAN not in every_text(ui, "p", travel=travel)


def test_report_lines_are_in_no_story() -> None:
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("card:x", {"n": 1}, id="j")
    (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
    secrets = ["charging pan 4222222222222222", "password=hunter2hunter2"]
    store.jobs.report("j", job.version, lines=secrets)
    store.jobs.enqueue("mail", {"password": "hunter3hunter3", "note": "use hunter3hunter3"}, id="k")
    ui = client_of(store, **HIDDEN, redact_keys=["password"])
    text = every_text(ui, "j", travel=forked(ui)) + every_text(ui, "k", travel=forked(ui))
    for secret in ("4222222222222222", "hunter2", "hunter3"):
        assert secret not in decoded(text), secret


def test_requests_of_workers_in_a_story() -> None:
    """Requests that name a job only: its type is that of another line of the recording."""
    trace = io.StringIO()
    store: rc.Store[Any] = rc.Store(clock=rc.ManualClock())
    with store.record(trace):
        for id in ("a", "b"):
            store.jobs.enqueue("card:x", {"n": 1}, id=id, retention=0)
            (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
            store.jobs.report(id, job.version, lines=[f"line {PAN}"])
            if id == "a":
                store.jobs.complete(id, job.version, {"pan": PAN})
            else:
                store.jobs.fail(id, job.version, "E", f"message {PAN}", f"data {PAN}")
        store.promises.create("p", timeout=10**9, param={"func": "card:f"})
        store.promises.resolve("p", {"pan": PAN})
    ui = client_of(rc.Store(clock=rc.ManualClock()), **HIDDEN)
    travel = ui.post("travel", trace.getvalue(), "application/x-ndjson").json()["travel"]
    assert PAN not in decoded(ui.get("travel/pytest", travel=travel).text)


def decoded(text: str) -> str:
    """A text, and every base64 in it decoded."""
    made = [text]
    for found in re.findall(r"[\w+/]{8,}={0,2}", text):
        try:
            made.append(base64.b64decode(found, validate=True).decode("latin-1"))
        except binascii.Error:
            continue
    return "\n".join(made)


def test_one_function_decides() -> None:
    folder = Path(rc.__file__).parent / "ui"
    asking = {path.name for path in folder.glob("*.py") if ".hides_type(" in path.read_text()}
    assert asking == {"access.py", "redaction.py"}
