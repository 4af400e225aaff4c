"""The invariants of jobs: a snapshot that was edited to break one is reported under its name, and is not restored."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_scenes import populate
from conformance.job_wire import JobClient

pytestmark = pytest.mark.not_of_the_model("it names no invariants")

Rows = dict[str, dict[str, Any]]
Break = Callable[[dict[str, Any], Rows, Rows, Rows], Any]


def queue(snapshot: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in snapshot["queues"] if row["name"] == name)


# The invariant, the id that the violation names, and the edit: it gets the snapshot, and its promises, tasks and jobs by id.
# fmt: off
BREAKS: list[tuple[str, str, Break]] = [
    ("job_states_disagree", "completed", lambda s, p, t, j: p["completed"].update(state="rejected")),
    ("job_states_disagree", "archived", lambda s, p, t, j: t["archived"].update(state="pending", retryAt=5_000)),
    ("job_states_disagree", "limited-1", lambda s, p, t, j: j["limited-1"].update(state="pending")),
    ("job_states_disagree", "cancelled", lambda s, p, t, j: j["cancelled"].update(state="failed")),
    ("job_timestamps_out_of_order", "completed", lambda s, p, t, j: j["completed"].update(claimedAt=6)),
    ("job_timestamps_out_of_order", "completed", lambda s, p, t, j: j["completed"].update(completedAt=6)),
    ("job_timestamps_out_of_order", "everything", lambda s, p, t, j: j["everything"].update(sentAt=51)),
    ("job_timestamps_mismatch", "limited-2", lambda s, p, t, j: j["limited-2"].pop("enqueuedAt")),
    ("job_timestamps_mismatch", "limited-1", lambda s, p, t, j: j["limited-1"].pop("claimedAt")),
    ("job_timestamps_mismatch", "limited-2", lambda s, p, t, j: j["limited-2"].update(startedAt=50)),
    ("job_timestamps_mismatch", "limited-0", lambda s, p, t, j: j["limited-0"].update(nextRetryAt=17_006)),
    ("job_timestamps_mismatch", "limited-0", lambda s, p, t, j: j["limited-0"].pop("nextRetryAt")),
    ("job_timestamps_mismatch", "completed", lambda s, p, t, j: j["completed"].pop("completedAt")),
    ("job_timestamps_mismatch", "cancelled", lambda s, p, t, j: j["cancelled"].update(expiredAt=9)),
    ("job_attempt_without_start", "limited-0", lambda s, p, t, j: j["limited-0"]["attempts"][0].pop("finishedAt")),
    ("job_attempt_without_start", "limited-0", lambda s, p, t, j: j["limited-0"]["attempts"][0].update(number=2)),
    ("job_attempt_without_start", "limited-0", lambda s, p, t, j: j["limited-0"]["attempts"][0].update(finishedAt=3)),
    ("job_attempt_without_start", "limited-0", lambda s, p, t, j: j["limited-0"].update(attemptCount=0)),
    ("job_attempt_without_start", "running", lambda s, p, t, j: j["running"].update(attempts=[], attemptCount=0)),
    ("job_attempts_beyond_claims", "limited-0", lambda s, p, t, j: t["limited-0"].update(acquisitions=0)),
    ("job_retries_beyond_limit", "limited-0", lambda s, p, t, j: j["limited-0"].update(retryCount=26)),
    ("job_reclaimed_before_end", "limited-2", lambda s, p, t, j: j["limited-2"].update(reclaimAt=50)),
    ("job_not_external", "limited-2", lambda s, p, t, j: p["limited-2"].update(external=False)),
    ("job_group_mismatch", "together-6", lambda s, p, t, j: t["together-6"].update(retryAt=39)),
    ("job_group_mismatch", "together-6", lambda s, p, t, j: j["together-6"]["flight"].update(firstAt=41)),
    ("job_group_mismatch", "together-6", lambda s, p, t, j: j["together-6"]["flight"].update(count=0)),
    ("job_group_mismatch", "together-7", lambda s, p, t, j: t["together-7"].update(retryAt=540)),
    ("job_flight_count", "g", lambda s, p, t, j: j["together-6"]["flight"].update(count=3)),
    ("job_flight_count", "g", lambda s, p, t, j: j["together-7"].update(batch="batch:00000000000000ff")),
    ("job_flight_count", "g", lambda s, p, t, j: j["together-7"].update(group="h")),
    ("job_flight_count", "h", lambda s, p, t, j: (j["together-short"].pop("flight"), t["together-short"].update(retryAt=2**63 - 1))),
    ("job_unique_twice", "limited-3", lambda s, p, t, j: [j[f"limited-{n}"].update(uniqueKey="k") for n in (1, 3)]),
    ("job_unique_twice", "limited-3", lambda s, p, t, j: [j[f"limited-{n}"].update(uniqueKey="k", uniqueFor=10**9) for n in (0, 3)]),
    ("job_end_mismatch", "completed", lambda s, p, t, j: j["completed"].update(completedAt=50)),
    ("job_end_mismatch", "cancelled", lambda s, p, t, j: p["cancelled"].update(settledAt=50)),
    ("job_end_mismatch", "expired", lambda s, p, t, j: j["expired"].update(expiredAt=21)),
    ("job_waits_for_nothing", "graph-woken", lambda s, p, t, j: j["graph-woken"].update(until="any")),
    ("job_await_lost", "graph-after", lambda s, p, t, j: p["graph-gate"]["callbacks"].remove("graph-after")),
    ("job_await_lost", "graph-suspended", lambda s, p, t, j: s["promises"].remove(p["graph-open"])),
    ("job_await_lost", "graph-after", lambda s, p, t, j: j["graph-after"].update(awaits=["graph-gate", "nobody"])),
    ("step_count_mismatch", "flow", lambda s, p, t, j: s["promises"].remove(p["flow:a"])),
    ("step_count_mismatch", "flow-over", lambda s, p, t, j: j["flow-over"].update(steps=3)),
    ("unread_count_mismatch", "flow", lambda s, p, t, j: p["flow:@other:#1"]["child"].pop("unread")),
    ("child_without_parent", "flow-fork:a", lambda s, p, t, j: p["flow-fork:a"]["child"].update(parent="nobody")),
    ("message_not_delivered", "flow:@news:#3", lambda s, p, t, j: (p["flow:@news:#3"]["child"].update(unread=True), p["flow:open"].update(state="pending", value={}), p["flow:open"].pop("settledAt"))),
    ("queue_count_mismatch", "limited", lambda s, p, t, j: queue(s, "limited")["counts"].update(claimed=0)),
    ("queue_count_mismatch", "mail", lambda s, p, t, j: queue(s, "mail")["counts"].update(failed=1)),
    ("queue_count_mismatch", "paused", lambda s, p, t, j: s["promises"].remove(p["in-paused"])),
]
# Edits after which the snapshot cannot be read at all, since the members of a gathering group, or those of a job that waits, disagree:
# the job, the text of the refusal, and the edit.
UNREADABLE: list[tuple[str, str, Break]] = [
    ("together-6", "gather", lambda s, p, t, j: j["together-6"].pop("batch")),
    ("together-6", "gather", lambda s, p, t, j: j["together-6"].pop("group")),
    ("together-6", "gather", lambda s, p, t, j: j["together-6"].pop("gathering")),
    ("together-3", "gather", lambda s, p, t, j: j["together-3"].update(gathering=True)),
    ("together-0", "gather", lambda s, p, t, j: j["together-0"].update(flight={"firstAt": 1, "lastAt": 1, "count": 1})),
    ("graph-after", "awaits", lambda s, p, t, j: j["graph-after"].pop("awaits")),
    ("graph-after", "awaits", lambda s, p, t, j: j["graph-after"].update(awaits=[])),
    ("graph-woken", "awaits", lambda s, p, t, j: j["graph-woken"].update(awaits=["graph-open"])),
    ("graph-after", "afterFailed", lambda s, p, t, j: j["graph-after"].pop("afterFailed")),
    ("graph-after", "afterFailed", lambda s, p, t, j: j["graph-after"].pop("after")),
]
# fmt: on


def scene(store: Any) -> dict[str, Any]:
    client = JobClient(store)
    populate(client)
    client.enqueue("running", queue="work", now=100).must()
    client.run_one("running", queues=["work"], now=100)
    assert store.check() == []
    snapshot: dict[str, Any] = store.snapshot()
    return snapshot


def opened(snapshot: dict[str, Any]) -> tuple[Rows, Rows, Rows]:
    promises = {p["id"]: p for p in snapshot["promises"]}
    return promises, *({id: p[part] for id, p in promises.items() if part in p} for part in ("task", "job"))  # type: ignore[return-value]


@pytest.mark.parametrize(("name", "id", "breaks"), BREAKS, ids=[f"{name}-{id}" for name, id, _ in BREAKS])
def test_a_broken_property_reports_its_own_name(
    make_store: Callable[..., Any], refused: Any, name: str, id: str, breaks: Break
) -> None:
    snapshot = scene(make_store())
    whole = copy.deepcopy(snapshot)
    breaks(snapshot, *opened(snapshot))
    assert snapshot != whole
    store = make_store(check=False)
    before = store.snapshot()
    with pytest.raises(refused) as raised:
        store.restore(copy.deepcopy(snapshot))
    assert (name, id) in [(v.name, v.id) for v in raised.value.violations]
    assert store.snapshot() == before, "a refused snapshot changes nothing"
    store.restore(copy.deepcopy(snapshot), check=False)
    found = store.check()
    assert (name, id) in [(v.name, v.id) for v in found] and all(v.detail for v in found)
    store.restore(whole)
    assert store.check() == []


@pytest.mark.parametrize(("text", "breaks"), [one[1:] for one in UNREADABLE], ids=[f"{id}-{text}" for id, text, _ in UNREADABLE])
def test_members_that_disagree_are_no_job(make_store: Callable[..., Any], refused: Any, text: str, breaks: Break) -> None:
    """The snapshot is refused with and without `check`."""
    snapshot = scene(make_store())
    breaks(snapshot, *opened(snapshot))
    store = make_store(check=False)
    before = store.snapshot()
    for check in (True, False):
        with pytest.raises(refused, match=text):
            store.restore(copy.deepcopy(snapshot), check=check)
        assert store.snapshot() == before
