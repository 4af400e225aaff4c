"""PROTOCOL 6: a snapshot that was edited to break an invariant is reported under the name of that invariant.

Some broken states have no form in the snapshot's format, such as the same callback twice or an execute of no task. `restore`
refuses them with and without `check`; their cases have `by_format`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, LISTENER, DialectClient

pytestmark = pytest.mark.not_of_the_model("it names no invariants and judges no snapshots")

Rows = dict[str, dict[str, Any]]
NOW = 5_000


@dataclass(frozen=True)
class Break:
    """One way of breaking one invariant.

    Attributes:
        name: The invariant.
        id: The id that the violation names.
        breaks: Edits the snapshot, given it, its promises by id and their tasks by id.
        rules: The rule set under which this is a violation.
        by_format: Whether the snapshot's format refuses it.
    """

    name: str
    id: str
    breaks: Callable[[dict[str, Any], Rows, Rows], Any]
    rules: str = "compatible"
    by_format: bool = False


def message(kind: str, id: str, address: str = ADDRESS, **more: Any) -> dict[str, Any]:
    """A message of the snapshot."""
    return {"kind": kind, "id": id, "address": address, "attempts": 0, "queuedAt": 10, **more}


# fmt: off
BREAKS = [
    # the invariants of the formal model
    Break("orphan_tasks", "plain", lambda s, p, t: p["plain"].update(task=None), by_format=True),
    Break("orphan_tasks", "plain", lambda s, p, t: s["messages"].append(message("execute", "plain", version=0)), by_format=True),
    Break("pending_task_no_ttimeout", "idle", lambda s, p, t: t["idle"].pop("retryAt")),
    Break("acquired_task_no_lease", "held", lambda s, p, t: t["held"].pop("expiresAt")),
    Break("suspended_no_callback", "parked", lambda s, p, t: p["open"].update(callbacks=[])),
    Break("suspended_no_callback", "parked", lambda s, p, t: p["open"].update(callbacks=["held"])),
    Break("suspended_with_consumed_callbacks", "parked", lambda s, p, t: t["parked"].update(resumes=["settled"])),
    Break("suspended_task_has_ttimeout", "parked", lambda s, p, t: t["parked"].update(retryAt=9_000)),
    Break("suspended_task_has_ttimeout", "parked", lambda s, p, t: t["parked"].update(expiresAt=9_000)),
    Break("fulfilled_task_has_ttimeout", "done", lambda s, p, t: t["done"].update(retryAt=9_000)),
    Break("fulfilled_task_has_ttimeout", "done", lambda s, p, t: t["done"].update(expiresAt=9_000)),
    # promises
    Break("promise_created_after_timeout", "open", lambda s, p, t: p["open"].update(timeoutAt=99)),
    Break("promise_created_after_timeout", "open", lambda s, p, t: p["open"].update(timeoutAt=p["open"]["createdAt"])),
    Break("promise_created_after_timeout", "settled", lambda s, p, t: p["settled"].update(createdAt=FAR + 1)),
    Break("promise_settled_outside_life", "settled", lambda s, p, t: p["settled"].update(settledAt=99)),
    Break("promise_settled_outside_life", "settled", lambda s, p, t: p["settled"].update(timeoutAt=4_000, settledAt=4_500)),
    Break("promise_settled_at_mismatch", "open", lambda s, p, t: p["open"].update(settledAt=4_000)),
    Break("promise_settled_at_mismatch", "settled", lambda s, p, t: p["settled"].pop("settledAt")),
    Break("pending_promise_has_value", "open", lambda s, p, t: p["open"].update(value={"data": "eA=="})),
    Break("timeout_verdict_mismatch", "dead", lambda s, p, t: p["dead"].update(state="resolved")),
    Break("timeout_verdict_mismatch", "dead", lambda s, p, t: p["dead"].update(value={"data": "eA=="})),
    Break("timeout_verdict_mismatch", "dead", lambda s, p, t: p["dead"].update(tags={"resonate:timer": "true"})),
    Break("timeout_verdict_mismatch", "dead", lambda s, p, t: p["dead"].update(settledAt=2_999)),
    Break("timer_has_target", "idle", lambda s, p, t: p["idle"]["tags"].update({"resonate:timer": "true"}), rules="strict"),
    Break("duplicate_callback", "open", lambda s, p, t: p["open"]["callbacks"].append("parked"), by_format=True),
    Break("duplicate_listener", "open", lambda s, p, t: p["open"]["listeners"].append(p["open"]["listeners"][0]), by_format=True),
    Break("edges_on_internal_promise", "open", lambda s, p, t: p["open"].update(external=False)),
    Break("edges_on_internal_promise", "open", lambda s, p, t: p["open"].update(external=False, listeners=[])),
    Break("self_callback", "idle", lambda s, p, t: p["idle"]["callbacks"].append("idle")),
    Break("promise_in_future", "open", lambda s, p, t: p["open"].update(createdAt=NOW + 1)),
    Break("promise_in_future", "settled", lambda s, p, t: p["settled"].update(settledAt=NOW + 1)),
    # tasks
    Break("lease_fields_mismatch", "held", lambda s, p, t: t["held"].pop("expiresAt")),
    Break("lease_fields_mismatch", "held", lambda s, p, t: (t["held"].pop("ttl"), t["held"].pop("lastTtl"))),
    Break("lease_fields_mismatch", "held", lambda s, p, t: t["held"].pop("pid"), by_format=True),
    Break("lease_fields_mismatch", "idle", lambda s, p, t: t["idle"].update(pid="w")),
    Break("lease_fields_mismatch", "idle", lambda s, p, t: t["idle"].update(expiresAt=9_000)),
    Break("lease_fields_mismatch", "parked", lambda s, p, t: t["parked"].update(pid="w")),
    Break("retry_mismatch", "idle", lambda s, p, t: t["idle"].pop("retryAt")),
    Break("retry_mismatch", "held", lambda s, p, t: t["held"].update(retryAt=9_000)),
    Break("idle_task_has_timer", "halted", lambda s, p, t: t["halted"].update(retryAt=9_000)),
    Break("idle_task_has_timer", "halted", lambda s, p, t: t["halted"].update(expiresAt=9_000)),
    Break("resumes_not_empty", "done", lambda s, p, t: t["done"].update(resumes=["settled"])),
    Break("duplicate_resume", "idle", lambda s, p, t: t["idle"].update(resumes=["settled", "dead", "settled"])),
    Break("acquired_never_counted", "held", lambda s, p, t: t["held"].update(acquisitions=0)),
    Break("settlement_mismatch", "done", lambda s, p, t: t["done"].update(state="halted")),
    Break("settlement_mismatch", "halted", lambda s, p, t: (t["halted"].update(state="fulfilled"), t["halted"].pop("lastTtl"))),
    # outbox
    Break("duplicate_message_key", "idle", lambda s, p, t: s["messages"].append(message("execute", "idle", version=0)), by_format=True),
    Break("duplicate_message_key", "settled", lambda s, p, t: s["messages"].append(message("unblock", "settled", LISTENER)),
          by_format=True),
    Break("stray_execute", "idle", lambda s, p, t: s["messages"][0].update(version=1)),
    Break("stray_execute", "idle", lambda s, p, t: s["messages"][0].update(address="poll://any@elsewhere")),
    Break("stray_execute", "nobody", lambda s, p, t: s["messages"].append(message("execute", "nobody", version=0)), by_format=True),
    Break("stray_unblock", "open", lambda s, p, t: s["messages"].append(message("unblock", "open"))),
    Break("stray_unblock", "nobody", lambda s, p, t: s["messages"].append(message("unblock", "nobody")), by_format=True),
    # schedules
    Break("schedule_order", "daily", lambda s, p, t: s["schedules"][0].update(lastRunAt=99)),
    Break("schedule_order", "daily", lambda s, p, t: s["schedules"][0].update(lastRunAt=s["schedules"][0]["nextRunAt"])),
    Break("schedule_order", "daily", lambda s, p, t: s["schedules"][0].update(nextRunAt=50)),
    Break("schedule_cron_invalid", "daily", lambda s, p, t: s["schedules"][0].update(cron="bad")),
    Break("schedule_template_invalid", "daily", lambda s, p, t: s["schedules"][0].update(promiseTimeout=-1)),
]
# fmt: on
# fmt: off
NAMES = {
    "orphan_tasks", "pending_task_no_ttimeout", "acquired_task_no_lease", "suspended_no_callback",
    "suspended_with_consumed_callbacks", "suspended_task_has_ttimeout", "fulfilled_task_has_ttimeout",
    "promise_created_after_timeout", "promise_settled_outside_life", "promise_settled_at_mismatch", "pending_promise_has_value",
    "timeout_verdict_mismatch", "timer_has_target", "duplicate_callback", "duplicate_listener", "edges_on_internal_promise",
    "self_callback", "promise_in_future", "lease_fields_mismatch", "retry_mismatch", "idle_task_has_timer", "resumes_not_empty",
    "duplicate_resume", "acquired_never_counted", "settlement_mismatch", "duplicate_message_key", "stray_execute",
    "stray_unblock", "schedule_order",
    "schedule_cron_invalid", "schedule_template_invalid",
}
# fmt: on


def build(store: Any) -> dict[str, Any]:
    """Fills a store with promises and tasks in every state; returns its snapshot."""
    client = DialectClient(store)
    client.schedule("daily", "@daily", now=100).must()
    client.create("idle", target=ADDRESS, now=100).must()
    for id in ("open", "settled"):
        client.create(id, tags={"resonate:external": "true"}, now=100).must()
        client.listen(id, now=100).must()
    client.create("plain", now=100).must()
    client.create("dead", timeout=3_000, tags={"resonate:external": "true"}, now=100).must()
    for id in ("held", "parked", "halted", "done"):
        client.task_create(id, ttl=50_000, now=100).must()
    client.suspend("parked", 1, "open", now=200).must()
    client.halt("halted", now=200).must()
    client.fulfill("done", 1, now=200).must()
    client.settle("settled", now=200).must()
    store.tick(now=NOW)
    snapshot = store.snapshot()
    assert snapshot["messages"][0]["kind"] == "execute"
    assert [m["kind"] for m in snapshot["messages"]].count("unblock") == 1
    return snapshot


@pytest.mark.parametrize("broken", BREAKS, ids=lambda b: f"{b.name}-{b.id}")
def test_s6_a_broken_property_reports_its_own_name(make_store: Callable[..., Any], refused: Any, broken: Break) -> None:
    snapshot = build(make_store(rules=broken.rules))
    whole = copy.deepcopy(snapshot)
    promises = {p["id"]: p for p in snapshot["promises"]}
    tasks = {id: p["task"] for id, p in promises.items() if "task" in p}
    broken.breaks(snapshot, promises, tasks)
    assert snapshot != whole
    store = make_store(rules=broken.rules, check=False)
    before = store.snapshot()
    with pytest.raises(refused):
        store.restore(copy.deepcopy(snapshot))
    assert store.snapshot() == before, "a refused snapshot changes nothing"
    if broken.by_format:
        with pytest.raises(refused):
            store.restore(snapshot, check=False)
        return
    store.restore(snapshot, check=False)
    found = [(v.name, v.id) for v in store.check()]
    assert (broken.name, broken.id) in found
    assert all(v.detail for v in store.check())
    assert store.snapshot() == snapshot, "a broken state is shown as it is stored"


def test_s6_every_name_has_its_case() -> None:
    assert {b.name for b in BREAKS} == NAMES


@pytest.mark.parametrize("rules", ["compatible", "strict"])
def test_s6_a_whole_state_reports_nothing(make_store: Callable[..., Any], rules: str) -> None:
    store = make_store(rules=rules)
    snapshot = build(store)
    assert store.check() == []
    other = make_store(rules=rules)
    other.restore(snapshot)
    assert other.check() == []


def test_s6_a_timer_with_target_breaks_no_compatible_rule(make_store: Callable[..., Any]) -> None:
    store = make_store()
    DialectClient(store).create("p", timeout=FAR, target=ADDRESS, tags={"resonate:timer": "true"}).must()
    assert store.check() == []


def test_s6_a_suspended_task_past_its_own_deadline_needs_no_callback(make_store: Callable[..., Any]) -> None:
    """Its last awaited promise may be settled after the task's deadline, before its timeout step; that step ends the task."""
    store = make_store()
    client = DialectClient(store)
    client.create("x", now=0).must()
    client.task_create("t", timeout=100, now=0).must()
    client.suspend("t", 1, "x", now=0).must()
    snapshot = store.snapshot()
    next(p for p in snapshot["promises"] if p["id"] == "x")["callbacks"] = []
    other = make_store(check=False)
    other.restore({**snapshot, "now": 100})
    assert other.check() == []
    other.restore(snapshot, check=False)
    assert [v.name for v in other.check()] == ["suspended_no_callback"]


def test_s6_the_check_option_stops_a_broken_store(make_store: Callable[..., Any], refused: Any) -> None:
    """A store that checks its steps reports the violation by name and does not take the step."""
    store = make_store()
    snapshot = build(store)
    task = next(p for p in snapshot["promises"] if p["id"] == "idle")["task"]
    task["resumes"] = ["settled", "settled"]
    other = make_store(check=True)
    other.restore(snapshot, check=False)
    with pytest.raises(refused, match="duplicate_resume"):
        DialectClient(other).halt("idle")


# fmt: off
MALFORMED: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("format", lambda s: s.update(format="resonate_core/0")), ("no format", lambda s: s.pop("format")),
    ("no now", lambda s: s.pop("now")), ("now text", lambda s: s.update(now="5")), ("promises null", lambda s: s.update(promises=None)),
    ("promise no object", lambda s: s["promises"].append(5)), ("id twice", lambda s: s["promises"].append(s["promises"][0])),
    ("state", lambda s: s["promises"][0].update(state="lost")), ("task state", lambda s: s["promises"][1]["task"].update(state="lost")),
    ("dialect", lambda s: s["promises"][0].update(dialect="1999-01-01")), ("tags", lambda s: s["promises"][0].update(tags={"a": 1})),
    ("timeoutAt real", lambda s: s["promises"][0].update(timeoutAt=1.5)), ("no timeoutAt", lambda s: s["promises"][0].pop("timeoutAt")),
    ("message kind", lambda s: s["messages"][0].update(kind="shout")), ("no messages", lambda s: s.pop("messages")),
    ("schedule twice", lambda s: s["schedules"].append(s["schedules"][0])),
    ("external text", lambda s: s["promises"][0].update(external="yes")),
]
# fmt: on


@pytest.mark.parametrize("breaks", [m[1] for m in MALFORMED], ids=[m[0] for m in MALFORMED])
@pytest.mark.parametrize("check", [True, False])
def test_s6_what_is_no_snapshot_is_refused(
    make_store: Callable[..., Any], refused: Any, check: bool, breaks: Callable[..., Any]
) -> None:
    store = make_store()
    snapshot = build(store)
    before = store.digest()
    breaks(snapshot)
    with pytest.raises(refused):
        store.restore(snapshot, check=check)
    assert store.digest() == before
