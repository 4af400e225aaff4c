"""Jobs that wait in the middle of their work: `job.suspend` (JOBS 8). The table of job_transitions.py has each request from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_groups import enqueue_batch
from conformance.job_waits import after, awaits, callbacks, complete, end, gates, sound, suspended, task_of
from conformance.job_wire import JobClient
from conformance.wire import V25, V26, held, rows_of, stored
from resonate_core.conformance.reply_form import status_in

HOUR = 3_600_000


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def running(client: JobClient, id: str = "j", now: int = 1, **data: Any) -> int:
    """Enqueues a job and runs it; returns its version."""
    client.enqueue(id, now=now, **data).must()
    return client.run_one(id, now=now)


# --- the record -------------------------------------------------------------------------------------------------------
def test_the_record_of_a_suspended_job(client: JobClient) -> None:
    gates(client, "a", "b")
    version = running(client, now=3, timeout=HOUR)
    client.report("j", version, now=4, progress=0.5, lines=["half"]).must()
    job = client.wait_for("b", "a", "b", id="j", version=version, now=10, until="all").must()["job"]
    assert (job["state"], job["version"], job["retryCount"]) == ("waiting", 1, 0)
    assert job["awaits"] == {"ids": ["b", "a"], "count": 2} and not {"after", "afterFailed"} & set(job)
    assert job["attempts"] == [{"number": 1, "worker": "w1", "startedAt": 3, "finishedAt": 10, "outcome": "suspended"}]
    assert job["report"]["progress"] == 0.5
    gone = {"claimedBy", "leaseUntil", "claimedAt", "startedAt", "enqueuedAt", "error", "failedAt"}
    assert not gone & set(job) and "firstEnqueuedAt" not in job and client.job("j") == job
    row = stored(client.store, "j")["job"]
    assert (row["awaits"], row["until"], row["firstEnqueuedAt"]) == (["b", "a"], "all", 3)
    assert task_of(client) == ("suspended", 1)
    assert client.task("j").must()["task"]["version"] == held(client.version)
    assert [callbacks(client, id) for id in ("a", "b")] == [["j"], ["j"]]
    assert client.store.next_due() in (None, 10**12), "no lease and no timeout"
    sound(client)


def test_the_next_attempt(client: JobClient) -> None:
    """It has a version of its own, and the earlier one is stale."""
    gates(client, "a")
    version = suspended(client, "a")
    client.settle("a", now=10).must()
    job = client.job("j")
    assert (job["state"], job["version"], job["enqueuedAt"]) == ("pending", version, 10) and awaits(client) == []
    assert "until" not in stored(client.store, "j")["job"]
    client.complete("j", version, now=11).must(409)
    assert client.run_one("j", now=12) == version + 1
    client.complete("j", version, now=13).must(409)
    job = client.complete("j", version + 1, now=13).must()["job"]
    assert [(one["number"], one["outcome"]) for one in job["attempts"]] == [(1, "suspended"), (2, "completed")]
    sound(client)


def test_any_is_what_is_meant_by_default(client: JobClient) -> None:
    gates(client, "a", "b")
    for n, more in enumerate(({}, {"until": None}, {"until": "any"})):
        id = f"j{n}"
        version = running(client, id, now=n)
        client.wait_for("a", "b", id=id, version=version, now=n, **more).must()
        assert stored(client.store, id)["job"]["until"] == "any"


# --- when it need not wait --------------------------------------------------------------------------------------------
# The status of a suspension, by `until` and by the states of the two awaited promises.
# fmt: off
AT_ONCE: dict[tuple[str, str, str], int] = {
    ("any", "pending",  "pending"):           200,
    ("any", "resolved", "pending"):           300,
    ("any", "pending",  "rejected"):          300,
    ("any", "resolved", "rejected_canceled"): 300,
    ("any", "pending",  "rejected_timedout"): 300,
    ("all", "pending",  "pending"):           200,
    ("all", "resolved", "pending"):           200,
    ("all", "resolved", "resolved"):          300,
    ("all", "pending",  "rejected"):          300,
    ("all", "pending",  "rejected_canceled"): 300,
    ("all", "pending",  "rejected_timedout"): 300,
    ("all", "resolved", "rejected"):          300,
}
# fmt: on


def settled_gates(client: JobClient, *states: str) -> list[str]:
    ids = [f"g{n}" for n in range(len(states))]
    for id, state in zip(ids, states, strict=True):
        gates(client, id, **({"timeout": 5} if state == "rejected_timedout" else {}))
    for id, state in zip(ids, states, strict=True):
        if state != "pending":
            end(client, id, state, 5)
    return ids


@pytest.mark.parametrize("case", AT_ONCE, ids="-".join)
def test_whether_it_waits(client: JobClient, case: tuple[str, str, str]) -> None:
    until, *states = case
    ids = settled_gates(client, *states)
    version = running(client, now=6)
    before, digest = client.job("j", now=7), rows_of(client.store)
    reply = client.wait_for(*ids, id="j", version=version, now=7, until=until).must(AT_ONCE[case])
    if reply.status == 300:
        assert reply["job"] == before and rows_of(client.store) == digest, "nothing changes, and it goes on running"
        client.complete("j", version, now=8).must()
        return
    missing = [id for id, state in zip(ids, states, strict=True) if state == "pending"]
    assert reply["job"]["awaits"] == {"ids": missing, "count": len(missing)}
    assert [callbacks(client, id) for id in ids] == [["j"] if id in missing else [] for id in ids]
    sound(client)


def test_a_deadline_that_no_step_has_written_yet_counts(client: JobClient) -> None:
    gates(client, "a", timeout=10)
    client.create("timer", 10, tags={"resonate:timer": "true"}, now=0).must()
    for id in ("j", "k", "l"):
        running(client, id)
    wanted = [("j", ["a"], "any"), ("k", ["timer"], "all"), ("l", ["a", "timer"], "all")]
    replies = client.store.apply(
        [
            {
                "kind": "job.suspend",
                "head": {"corrId": "1", "version": client.version},
                "data": {"id": id, "version": 1, "awaits": awaited, "until": until},
            }
            for id, awaited, until in wanted
        ],
        now=10,
    )
    assert [reply["head"]["status"] for reply in replies] == [300] * 3


# --- wake-ups ---------------------------------------------------------------------------------------------------------
# What a job that waits for a, b and c does, by `until` and by how a ends, then b.
# fmt: off
WOKEN: dict[tuple[str, str, str], tuple[str, str]] = {
    ("any", "resolved",          "resolved"): ("pending", "pending"),
    ("any", "rejected",          "resolved"): ("pending", "pending"),
    ("any", "rejected_canceled", "rejected"): ("pending", "pending"),
    ("any", "rejected_timedout", "resolved"): ("pending", "pending"),
    ("all", "resolved",          "resolved"): ("waiting", "waiting"),
    ("all", "resolved",          "rejected"): ("waiting", "pending"),
    ("all", "rejected",          "resolved"): ("pending", "pending"),
    ("all", "rejected_canceled", "resolved"): ("pending", "pending"),
    ("all", "rejected_timedout", "resolved"): ("pending", "pending"),
}
# fmt: on


@pytest.mark.parametrize("case", WOKEN, ids="-".join)
def test_what_wakes_it(client: JobClient, case: tuple[str, str, str]) -> None:
    until, first, second = case
    gates(client, "a", **({"timeout": 10} if first == "rejected_timedout" else {}))
    gates(client, "b", "c")
    suspended(client, "a", "b", "c", until=until)
    enqueued = None
    for now, id, state, expected in ((10, "a", first, WOKEN[case][0]), (20, "b", second, WOKEN[case][1])):
        end(client, id, state, now)
        job = client.job("j")
        if expected == "pending" and enqueued is None:
            enqueued = now
        assert (job["state"], job.get("enqueuedAt")) == (expected, enqueued)
        left = [] if expected == "pending" else ["b", "c"][now == 20 :]
        assert awaits(client) == left and callbacks(client, id) == []
        assert callbacks(client, "c") == (["j"] if left else [])
    assert "error" not in client.job("j") and client.job("j")["retryCount"] == 0
    client.settle("c", now=30).must()
    job = client.job("j")
    assert job["state"] == "pending" and job["enqueuedAt"] == (30 if enqueued is None else enqueued)
    sound(client)


def test_what_it_does_not_lack_any_more_is_forgotten(client: JobClient) -> None:
    """No resumes: whatever ends while it runs again has no effect; the same ids may be awaited again."""
    gates(client, "a", "b", "c")
    version = suspended(client, "a", "b")
    client.settle("a", now=10).must()
    assert callbacks(client, "b") == [], "it takes its callbacks back"
    assert client.run_one("j", now=11) == version + 1
    client.settle("b", "rejected", now=12).must()
    assert client.state("j") == "running"
    client.wait_for("b", id="j", version=version + 1, now=13).must(300)
    client.wait_for("c", id="j", version=version + 1, now=14).must()
    assert awaits(client) == ["c"] and stored(client.store, "j")["task"]["resumes"] == []
    sound(client)


def test_it_waits_for_the_same_again(client: JobClient) -> None:
    gates(client, "a", "b")
    version = suspended(client, "a", "b")
    client.settle("a", now=10).must()
    client.run_one("j", now=11)
    client.wait_for("b", id="j", version=version + 1, now=12).must()
    assert callbacks(client, "b") == ["j"]
    client.settle("b", now=13).must()
    assert client.state("j") == "pending"
    sound(client)


def test_nothing_wakes_it_past_its_deadline(client: JobClient) -> None:
    gates(client, "a")
    suspended(client, "a", deadline=50)
    client.settle("a", now=50).must()
    job = client.job("j")
    assert (job["state"], job["failedAt"], job["attempts"][-1]["outcome"]) == ("failed", 50, "suspended")
    sound(client)


def test_goodUntil_does_not_apply(client: JobClient) -> None:
    gates(client, "a")
    suspended(client, "a", goodUntil=50)
    assert client.store.tick(60) == [] and client.state("j") == "waiting"
    client.settle("a", now=70).must()
    assert client.state("j") == "pending"


def test_processAt_does_not_apply(client: JobClient) -> None:
    """It counted before the first start; a snooze of an earlier attempt does not count either."""
    gates(client, "a")
    client.enqueue("j", now=0, processAt=1_000).must()
    client.administer("run", "j", now=1).must()
    version = client.run_one("j", now=2)
    client.wait_for("a", id="j", version=version, now=3).must()
    client.settle("a", now=4).must()
    assert client.state("j") == "pending"


def test_timeout_counts_for_each_attempt(client: JobClient) -> None:
    gates(client, "a")
    version = suspended(client, "a", timeout=100)
    assert client.store.tick(5_000) == []
    client.settle("a", now=6_000).must()
    assert client.run_one("j", now=6_001) == version + 1
    (step,) = client.store.tick(6_101)
    assert (step.kind, client.job("j")["attempts"][-1]["outcome"]) == ("job_timeout", "timed_out")


# --- refusals ---------------------------------------------------------------------------------------------------------
# fmt: off
REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "no ids": ({"awaits": []}, 400),
    "no list": ({"awaits": "a"}, 400),
    "null": ({"awaits": None}, 400),
    "an empty id": ({"awaits": [""]}, 400),
    "no text": ({"awaits": [5]}, 400),
    "too many": ({"awaits": [f"g{n}" for n in range(10_001)]}, 400),
    "its own id": ({"awaits": ["a", "j"]}, 400),
    "another until": ({"until": "some"}, 400),
    "until of another type": ({"until": 1}, 400),
    "no version": ({"version": None}, 400),
    "a negative version": ({"version": -1}, 400),
    "its own id, of no job": ({"id": "nobody", "awaits": ["nobody"]}, 400),
    "no job": ({"id": "nobody"}, 404),
    "no job, and an id that does not exist": ({"id": "nobody", "awaits": ["none"]}, 404),
    "a promise": ({"id": "ended"}, 404),
    "a stale version": ({"version": 2}, 409),
    "a stale version, and an id that does not exist": ({"version": 2, "awaits": ["none"]}, 409),
    "a job that does not run": ({"id": "idle", "version": 0}, 409),
    "a claimed job": ({"id": "claimed"}, 409),
    "a job of a batch": ({"id": "batched"}, 400),
    "a job of a batch, and an id that does not exist": ({"id": "batched", "awaits": ["none"]}, 400),
    "a job of a batch, and a stale version": ({"id": "batched", "version": 7}, 409),
    "an id that does not exist": ({"awaits": ["a", "none"]}, 422),
    "an id that does not exist, beside one that has ended": ({"awaits": ["ended", "none"]}, 422),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_suspension_changes_nothing(client: JobClient, name: str) -> None:
    data, status = REFUSED[name]
    gates(client, "a", "b", "ended")
    client.settle("ended", now=0).must()
    running(client)
    enqueue_batch(client, "batched", "beside", now=1)
    for job in client.claim(now=1).must()["jobs"]:
        client.start(job["id"], job["version"], now=1).must()
    client.enqueue("claimed", now=1).must()
    client.claim(now=1).must()
    client.enqueue("idle", now=1).must()
    before = rows_of(client.store)
    whole = {"id": "j", "version": 1, "awaits": ["a", "b"], **data}
    reply = client.send("job.suspend", {member: value for member, value in whole.items() if value is not None}, 2)
    assert reply.status == status_in(client.version, status) and reply.data
    assert rows_of(client.store) == before
    client.wait_for("a", id="j", now=3).must()


def test_a_strict_store_refuses_internal_promises(make_store: Callable[..., Any]) -> None:
    client = JobClient(make_store(rules="strict"))
    client.create("internal", now=0).must()
    gates(client, "a", "ended")
    client.settle("ended", now=0).must()
    version = running(client)
    for ids in (("a", "internal"), ("ended", "internal")):
        client.wait_for(*ids, id="j", version=version, now=2).must(422)
    old = JobClient(client.store, V25)
    old.wait_for("a", "internal", id="j", version=version, now=3).must()
    assert stored(client.store, "internal")["external"] is True, "that rule is of the newer dialect"


def test_tasks_of_jobs_are_not_suspended(client: JobClient) -> None:
    gates(client, "a")
    running(client)
    client.suspend("j", held(client.version), "a", now=2).must(409)


# --- the place in the queue -------------------------------------------------------------------------------------------
def test_it_keeps_the_place_of_its_first_suspended_attempt(client: JobClient) -> None:
    gates(client, "a", "b")
    version = suspended(client, "a", now=5)
    for n, at in enumerate((3, 7)):  # the first arrived before it in a retry, the second after it
        client.enqueue(f"other{n}", now=max(at, 5), sentAt=at).must()
    client.settle("a", now=100).must()
    assert client.job("j")["enqueuedAt"] == 100
    assert [client.claimed(now=101)[0] for _ in range(3)] == ["j", "other0", "other1"]
    client.start("j", version + 1, now=102).must()
    client.wait_for("b", id="j", version=version + 1, now=103).must()
    assert stored(client.store, "j")["job"]["firstEnqueuedAt"] == 5, "that of the first"
    client.enqueue("last", now=104).must()
    client.settle("b", now=200).must()
    assert client.claimed(2, now=201) == ["j", "last"]
    sound(client)


def test_its_place_outlives_a_retry(client: JobClient) -> None:
    gates(client, "a")
    version = suspended(client, "a", now=5, retryPolicy={"kind": "fixed", "intervals": [10]})
    client.settle("a", now=6).must()
    client.fail("j", client.run_one("j", now=7), now=8).must()
    client.enqueue("other", now=9).must()
    client.store.clock.advance_to(18)
    assert client.job("j")["enqueuedAt"] == 18
    assert client.claimed(2, now=19) == ["j", "other"] and client.job("j")["version"] == version + 2


def test_priority_decides_before_the_place(client: JobClient) -> None:
    gates(client, "a")
    suspended(client, "a", now=5)
    client.enqueue("urgent", now=6, priority=1).must()
    client.settle("a", now=10).must()
    assert client.claimed(2, now=11) == ["urgent", "j"]


def test_a_job_that_was_never_suspended_has_the_place_of_its_last_enqueue(client: JobClient) -> None:
    gates(client, "a")
    after(client, "a", now=1)
    client.enqueue("other", now=2).must()
    client.settle("a", now=10).must()
    assert "firstEnqueuedAt" not in stored(client.store, "j")["job"]
    assert client.claimed(2, now=11) == ["other", "j"]


# --- while it waits ---------------------------------------------------------------------------------------------------
def test_it_leaves_its_slot(client: JobClient) -> None:
    gates(client, "a")
    client.queue("set", now=0, concurrency=1)
    suspended(client, "a", uniqueKey="k")
    client.enqueue("twin", now=2, uniqueKey="k").must(409)
    client.enqueue("other", now=2).must()
    stats = client.stats()
    assert (stats["counts"]["waiting"], stats["counts"]["pending"], stats["active"]) == (1, 1, 0)
    assert stats["days"] == [], "a suspended attempt is neither processed nor failed"
    assert client.claimed(5, now=3) == ["other"]
    client.settle("a", now=4).must()
    assert client.claimed(5, now=5) == [], "it waits for a slot as any other"


def test_its_worker_has_lost_it(client: JobClient) -> None:
    gates(client, "a")
    version = suspended(client, "a")
    assert client.beat(("j", version), now=2) == ([], ["j"])
    for reply in (
        client.complete("j", version, now=3),
        client.fail("j", version, now=3),
        client.snooze("j", version, now=3),
        client.report("j", version, now=3, progress=1),
        client.wait_for("a", id="j", version=version, now=3),
    ):
        assert reply.status == 409
    client.administer("cancel", "j", now=4).must()
    assert client.beat(("j", version), now=5) == (["j"], [])


def test_it_uses_no_retry(client: JobClient) -> None:
    client.enqueue("j", now=0, maxRetries=0).must()
    for n in range(3):
        gates(client, f"g{n}", now=10 * n)
        version = client.run_one("j", now=10 * n)
        client.wait_for(f"g{n}", id="j", version=version, now=10 * n + 1).must()
        client.settle(f"g{n}", "rejected", now=10 * n + 2).must()
    job = client.job("j")
    assert (job["state"], job["retryCount"], job["version"]) == ("pending", 0, 3)
    assert [one["outcome"] for one in job["attempts"]] == ["suspended"] * 3
    complete(client, "j", 100)
    sound(client)


@pytest.mark.parametrize("verb", ["run", "archive", "cancel", "delete"])
def test_an_operator_does_not_wait(client: JobClient, verb: str) -> None:
    gates(client, "a")
    version = suspended(client, "a")
    client.administer(verb, "j", now=5).must()
    state = {"run": "pending", "archive": "archived", "cancel": "cancelled", "delete": "absent"}[verb]
    assert client.state("j") == state
    client.settle("a", now=6).must()
    assert client.state("j") == state and callbacks(client, "a") == []
    if verb == "run":
        assert client.job("j")["enqueuedAt"] == 5 and client.run_one("j", now=7) == version + 1
    if verb == "cancel":
        assert [one["outcome"] for one in client.job("j")["attempts"]] == ["suspended"]
    sound(client)


def test_a_job_with_after_suspends(client: JobClient) -> None:
    gates(client, "a", "b")
    after(client, "a")
    client.settle("a", now=2).must()
    version = client.run_one("j", now=3)
    client.wait_for("b", id="j", version=version, now=4).must()
    client.settle("b", "rejected", now=5).must()
    job = client.job("j")
    assert (job["state"], job["after"], job["afterFailed"]) == ("pending", ["a"], "cancel"), "afterFailed is about `after` only"


def test_a_circle_is_not_refused(client: JobClient) -> None:
    """Jobs that wait for each other wait until an operator runs one of them, or one ends."""
    for id in ("j", "k"):
        running(client, id)
    client.wait_for("k", id="j", now=2).must()
    client.wait_for("j", id="k", now=3).must()
    client.store.tick(HOUR)
    assert [client.state(id) for id in "jk"] == ["waiting", "waiting"]
    client.administer("delete", "j", now=HOUR).must(409)
    client.administer("run", "j", now=HOUR).must()
    complete(client, "j", HOUR + 1)
    assert client.state("k") == "pending"
    sound(client)
