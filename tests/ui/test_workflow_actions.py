"""A message, a cancellation and a fork of a workflow from the dashboard: tried first, done, judged, redacted, audited."""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from resonate_core.ui.principal import Principal
from ui.ui_client import client_of

SECRET = "s3cret-m4rker"
MINUTE = 60_000
SEND = ("job.send", {"id": "order", "topic": "approval", "valueJson": {"by": "ann", "card": SECRET}, "key": "mail-31"})
FORK = ("job.fork", {"id": "order", "from": "order:3", "newId": "again"})
CANCEL = ("job.cancel", {"id": "order"})
NAME = "resonate:name"


def record(id: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "tags": {NAME: name}, "state": "resolved", **more}


@pytest.fixture
def store(store: rc.Store) -> rc.Store:
    """In each storage: a workflow that waits for a message, a child workflow and a child job, after a step and a child job that has ended."""
    jobs, clock = store.jobs, store.clock
    clock.advance_to(1_000_000)  # type: ignore[attr-defined]
    tags = {"resonate:workflow": "true"}
    jobs.enqueue("order:fulfil", {"card": SECRET}, id="order", queue="shop", lifecycle="workflow", tags=tags)
    (job,) = jobs.claim("shop", worker="ann", lease=MINUTE, start=1)
    parent = {"id": "order", "version": job.version}
    jobs.record("order", job.version, [record("order:1", "charge", value={"card": SECRET}, param={"startedAt": 999_000})])
    jobs.enqueue("card:check", {"n": SECRET}, id="order:2", queue="cards", parent=parent, tags={NAME: "job card:check"})
    (check,) = jobs.claim("cards", worker="bob", lease=MINUTE, start=1)
    jobs.complete("order:2", check.version, {"ok": SECRET})
    jobs.receive("order", job.version, "order:3", "approval", timeout_in=10 * MINUTE)
    jobs.enqueue(
        "order:pack",
        id="order:4",
        queue="packing",
        parent=parent,
        lifecycle="workflow",
        cancel_with_awaiters=True,
        tags={NAME: "job order:pack", **tags},
    )
    (pack,) = jobs.claim("packing", worker="cid", lease=MINUTE, start=1)
    below = {"id": "order:4", "version": pack.version}
    jobs.enqueue("label:print", id="order:4:1", queue="labels", parent=below, cancel_with_awaiters=True)
    jobs.suspend("order:4", pack.version, ["order:4:1"])
    jobs.suspend("order", job.version, ["order:3", "order:4"])
    return store


def texts(changes: list[dict[str, Any]]) -> set[str]:
    return {change["text"] for change in changes}


def test_a_message_is_tried_first(store: rc.Store) -> None:
    ui, digest = client_of(store), store.digest()
    shown = ui.do(*SEND, preview=True, horizonMs=MINUTE).json()
    assert store.digest() == digest and shown["status"] == 200 and shown["scope"]["complete"]
    assert {"promise order:3: pending → resolved", "promise order:@approval:mail-31: added, resolved"} <= texts(shown["changes"]), (
        texts(shown["changes"])
    )
    assert "job order: waiting → pending" in texts(shown["changes"] + shown["laterChanges"])
    done = ui.do(*SEND).json()
    assert done["status"] == 200 and done["data"]["promise"]["id"] == "order:@approval:mail-31"
    assert store.promises.get("order:3").value.json() == {"by": "ann", "card": SECRET}
    assert store.jobs.get("order").state == "pending" and store.check() == []


def test_a_message_that_nobody_waits_for_stays_unread(store: rc.Store) -> None:
    shown = client_of(store).do("job.send", {"id": "order", "topic": "other"}, preview=True, horizonMs=0).json()
    assert texts(shown["changes"]) >= {"promise order:@other:#1: added, resolved"} and shown["error"] is None


def test_a_fork_is_tried_first(store: rc.Store) -> None:
    ui, digest = client_of(store), store.digest()
    shown = ui.do(*FORK, preview=True, horizonMs=0).json()
    assert store.digest() == digest and shown["scope"]["complete"]
    added = {change["id"]: change["after"]["state"] for change in shown["changes"] if change["change"] == "added"}
    assert added["again"] == "pending" and added["again:1"] == added["again:2"] == "resolved", added
    done = ui.do(*FORK).json()
    assert done["data"]["job"]["id"] == "again" and [step.id for step in store.workflows.history("again")] == ["again:1", "again:2"]
    assert store.jobs.get("order").state == "waiting" and store.check() == []


def test_a_cancellation_reaches_the_jobs_below(store: rc.Store) -> None:
    ui, digest = client_of(store), store.digest()
    shown = ui.do(*CANCEL, preview=True, horizonMs=0).json()
    expected = {
        "job order: waiting → cancelled",
        "job order:4: waiting → cancelled",
        "job order:4:1: pending → cancelled",
    }
    assert expected <= texts(shown["changes"] + shown["laterChanges"]), texts(shown["changes"] + shown["laterChanges"])
    assert store.digest() == digest
    ui.do(*CANCEL)
    store.tick(store.now)
    assert {store.jobs.get(id).state for id in ("order", "order:4", "order:4:1")} == {"cancelled"} and store.check() == []


@pytest.mark.parametrize(("kind", "data"), [SEND, FORK, CANCEL])
def test_a_preview_shows_what_then_happens(store: rc.Store, kind: str, data: dict[str, Any]) -> None:
    ui, before = client_of(store), store.snapshot()
    shown = ui.do(kind, data, preview=True, horizonMs=0).json()
    ui.do(kind, data)
    store.tick(store.now)
    really = {change.text for change in rc.diff(before, store) if change.kind != "queue"}
    assert texts(shown["changes"]) | texts(shown["laterChanges"]) == really


@pytest.mark.parametrize(
    ("kind", "data", "status"),
    [
        ("job.send", {"id": "order", "topic": "a:b"}, 400),
        ("job.send", {"id": "absent", "topic": "a"}, 404),
        ("job.send", {"id": "order:2", "topic": "a"}, 409),
        ("job.fork", {"id": "order", "from": "order:4", "newId": "x"}, 422),
        ("job.fork", {"id": "order", "from": "absent", "newId": "x"}, 422),
        ("job.fork", {"id": "order", "from": "order:2", "newId": "order"}, 409),
        ("job.fork", {"id": "absent", "from": "order:2", "newId": "x"}, 404),
        ("job.fork", {"from": "order:2", "newId": "x"}, 400),
    ],
)
def test_refusals_are_the_same_when_tried(store: rc.Store, kind: str, data: dict[str, Any], status: int) -> None:
    ui, digest = client_of(store), store.digest()
    tried, done = ui.do(kind, data, preview=True), ui.do(kind, data)
    assert done.status_code == status, done.text
    assert (tried.json()["status"], tried.json()["error"]) == (status, done.json()["error"])
    assert store.digest() == digest


@pytest.mark.parametrize(("kind", "data"), [SEND, FORK, CANCEL])
def test_roles_and_the_audit(store: rc.Store, kind: str, data: dict[str, Any]) -> None:
    digest = store.digest()
    for role in ("none", "read"):
        for tried in (True, False):
            assert client_of(store, role).do(kind, data, preview=tried).status_code == 403
    assert store.digest() == digest
    ui = client_of(store)
    ui.do(kind, data, preview=True)
    ui.do(kind, data)
    done, tried = ui.app.dashboard.audit.newest(Principal("read"))
    assert (done["kind"], done["status"], done["preview"], tried["preview"]) == (kind, 200, False, True)
    assert done["target"] == {name: value for name, value in data.items() if name != "valueJson"}
    assert SECRET not in str(done)


def test_a_principal_acts_on_its_own(store: rc.Store) -> None:
    ui = client_of(store, prefix="ord")
    assert ui.do("job.send", {"id": "order", "topic": "t"}).status_code == 200
    assert ui.do("job.fork", {"id": "order", "from": "order:2", "newId": "other"}).status_code == 403
    assert ui.do("job.fork", {"id": "order", "from": "order:2", "newId": "order-2"}).status_code == 200
    assert client_of(store, prefix="us").do("job.send", {"id": "order", "topic": "t"}).status_code == 403


# -- redaction -----------------------------------------------------------------------------------------------------------------------

VIEWS = [
    ("workflow", "order"),
    ("workflow", "again"),
    ("workflows", None),
    ("job", "order"),
    ("job", "again"),
    ("promise", "order:1"),
    ("promise", "again:1"),
    ("promise", "order:@approval:mail-31"),
]


@pytest.mark.parametrize("rules", [{"redact_types": ["order:fulfil"]}, {"redact_keys": ["card", "n", "ok"]}])
def test_nothing_redacted_is_shown(store: rc.Store, rules: dict[str, Any]) -> None:
    ui = client_of(store, **rules)
    answers = [ui.do(*action, preview=tried) for action in (SEND, FORK) for tried in (True, False)]
    answers += [ui.get(view) if id is None else ui.get(view, id=id) for view, id in VIEWS]
    for answer in answers:
        assert answer.status_code == 200 and SECRET not in answer.text, answer.text


def test_the_copy_of_a_child_job_is_redacted_by_the_type_of_the_job(store: rc.Store) -> None:
    """In the fork it is a promise, without a type of its own."""
    store.jobs.fork("order", "order:3", "again")
    hidden = client_of(store, redact_types=["card:*"])
    assert client_of(store).see("promise", id="again:2")["promise"]["value"]["json"] == {"ok": SECRET}
    for view, id in [("promise", "again:2"), ("promise", "order:2")]:
        assert hidden.see(view, id=id)["promise"]["value"] == {"kind": "redacted"}
    answer = hidden.do("job.fork", {"id": "order", "from": "order:3", "newId": "third"}, preview=True)
    (copied,) = [change for change in answer.json()["changes"] if change["id"] == "third:2" and change["kind"] == "promise"]
    assert copied["after"]["value"] == {"kind": "redacted"}


@pytest.mark.parametrize("name", ["charge", "retry charge", "transaction charge", "rpc charge", "job charge"])
def test_a_step_is_redacted_by_its_name(store: rc.Store, name: str) -> None:
    job = store.jobs.enqueue("other", id="o", queue="others", lifecycle="workflow")
    (job,) = store.jobs.claim("others", worker="w", lease=MINUTE, start=1)
    failed = {"code": "Boom", "message": f"no {SECRET}"}
    store.jobs.record("o", job.version, [{**record("o:1", name, value=failed), "state": "rejected"}])
    ui = client_of(store, redact_types=["charge"])
    for view in ("promise", "why"):
        assert SECRET not in ui.get(view, id="o:1").text
    assert SECRET not in ui.get("workflow", id="o").text and "Boom" in ui.get("workflow", id="o").text
    assert SECRET in client_of(store, redact_types=["other-*"]).get("workflow", id="o").text


def test_the_copied_outcome_of_a_redacted_job_is_redacted(store: rc.Store) -> None:
    store.jobs.enqueue("other", id="o", queue="others", lifecycle="workflow")
    (job,) = store.jobs.claim("others", worker="w", lease=MINUTE, start=1)
    store.jobs.record("o", job.version, [record("o:1", "result order:2", value={"ok": SECRET})])
    assert SECRET not in client_of(store, redact_types=["card:check"]).get("promise", id="o:1").text
    assert SECRET in client_of(store).get("promise", id="o:1").text


def test_a_workflow_that_is_redacted_because_of_another_is_not_forked(store: rc.Store) -> None:
    """Its fork belongs to nothing, and would be shown."""
    ui, digest = client_of(store, redact_types=["order:fulfil"]), store.digest()
    data = {"id": "order:4", "from": "order:4:1", "newId": "shown"}
    for tried in (True, False):
        answer = ui.do("job.fork", data, preview=tried)
        assert answer.status_code == 409 and "belongs to" in answer.json()["error"], answer.text
    assert store.digest() == digest
    assert client_of(store).do("job.fork", data).status_code == 200
