"""Every way in which a job leaves its gathering group before the group is ready; and filters by group."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from conformance.job_groups import GROUP, GatheringGroup, batch, gathering_groups, join, join_at, ready_batches
from conformance.job_wire import QUEUE, TYPE, JobClient, assert_states_agree
from conformance.wire import V25, V26, rows_of


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def settings(client: JobClient, **groups: int) -> None:
    client.queue("set", groups=groups)


# For each way: the options of the job, the request or step that makes it leave at 300, and its state after that.
WAYS: dict[str, tuple[dict[str, Any], Callable[[JobClient, str], Any], str]] = {
    "cancel": ({}, lambda d, id: d.administer("cancel", id, now=300).must(), "cancelled"),
    "run": ({}, lambda d, id: d.administer("run", id, now=300).must(), "pending"),
    "archive": ({}, lambda d, id: d.administer("archive", id, now=300).must(), "archived"),
    "delete": ({}, lambda d, id: d.administer("delete", id, now=300).must(), "absent"),
    "resolved": ({}, lambda d, id: d.settle(id, now=300).must(), "completed"),
    "rejected": ({}, lambda d, id: d.settle(id, "rejected", now=300).must(), "failed"),
    "canceled": ({}, lambda d, id: d.settle(id, "rejected_canceled", now=300).must(), "cancelled"),
    "deadline": ({"deadline": 300}, lambda d, id: d.store.clock.advance_to(300), "failed"),
    "good_until": ({"goodUntil": 300}, lambda d, id: d.store.clock.advance_to(300), "expired"),
    "cancelled by a filter": ({"tags": {"a": "b"}}, lambda d, id: d.all_of("cancel", tags={"a": "b"}, now=300), "cancelled"),
    "run by a filter": ({"tags": {"a": "b"}}, lambda d, id: d.all_of("run", state="scheduled", tags={"a": "b"}, now=300), "pending"),
}  # fmt: skip

# The jobs with the instants at which they join, in order; and for each job that leaves, the leader after that.
JOINED = [("m", 0), ("z", 100), ("a", 150), ("k", 200)]
LEADS = {"m": "a", "z": "m", "a": "m", "k": "m"}


@pytest.mark.parametrize("leaver", LEADS)
@pytest.mark.parametrize("way", WAYS)
def test_leaving(client: JobClient, way: str, leaver: str) -> None:
    """The instants of the group stay the same; if the leader leaves, the remaining job with the smallest id leads."""
    options, leave, state = WAYS[way]
    settings(client, grace=1_000, maxDelay=1_150)
    for id, at in JOINED:
        join_at(client, (id, at), **(options if id == leaver else {}))
    left = tuple(sorted(set(LEADS) - {leaver}))
    assert gathering_groups(client.store) == [GatheringGroup("m", batch(1), 0, 200, 1_150, ("a", "k", "m", "z"))]
    leave(client, leaver)
    assert client.state(leaver) == state
    if state != "absent":
        job = client.job(leaver)
        assert job["group"] == GROUP and not {"batch", "gathering"} & set(job)
        assert_states_agree(client, leaver)
    assert gathering_groups(client.store) == [GatheringGroup(LEADS[leaver], batch(1), 0, 200, 1_150, left)]
    assert client.store.check() == []
    (step,) = client.store.clock.advance_to(1_150)
    assert (step.kind, step.id, step.at, step.detail) == ("job_batch", LEADS[leaver], 1_150, {"batch": batch(1)})
    if state == "pending":
        assert client.job(leaver)["enqueuedAt"] == 300
        assert client.claimed(1) == [leaver] and client.claimed(1) == list(left), "by itself"
    else:
        assert ready_batches(client) == [(1_150, " ".join(left))]


@pytest.mark.parametrize("way", WAYS)
def test_the_last_one_that_leaves_ends_it(client: JobClient, way: str) -> None:
    """The next job that joins begins a new group, with another batch."""
    options, leave, _ = WAYS[way]
    settings(client, grace=1_000)
    for id in ("a", "b"):
        join(client, id, 0, **(options if id == "b" else {}))
    client.administer("cancel", "a", now=10).must()
    leave(client, "b")
    assert gathering_groups(client.store) == [] and client.store.next_due() is None
    assert client.store.clock.advance_to(900) == []
    join(client, "c", 900)
    assert gathering_groups(client.store) == [GatheringGroup("c", batch(2), 900, 900, 1_900, ("c",))]
    assert client.store.check() == []


def test_one_leader_after_the_other(client: JobClient) -> None:
    settings(client, grace=1_000)
    join_at(client, *((id, 0) for id in "dbeac"))
    led = []
    for _ in "abcde":
        (flight,) = gathering_groups(client.store)
        led.append(flight.leader)
        assert (flight.batch, flight.ready_at) == (batch(1), 1_000)
        client.administer("cancel", flight.leader).must()
    assert led == list("dabce") and gathering_groups(client.store) == []


def test_size_counts_those_that_are_there(client: JobClient) -> None:
    settings(client, size=3, grace=1_000)
    join_at(client, ("a", 0), ("b", 10))
    client.administer("cancel", "a", now=20).must()
    join(client, "c", 30)
    assert ready_batches(client) == []
    join(client, "d", 40)
    assert ready_batches(client) == [(40, "b c d")]


def test_max_delay_counts_from_the_first_that_came(client: JobClient) -> None:
    """This holds even if that job has left the group since."""
    settings(client, grace=800, maxDelay=1_000)
    join_at(client, ("a", 0), ("b", 500))
    client.administer("cancel", "a", now=600).must()
    join(client, "c", 900)
    client.store.clock.advance_to(5_000)
    assert ready_batches(client) == [(1_000, "b c")]


def test_who_came_back_is_by_itself(client: JobClient) -> None:
    """A job that left its group, by an archive and a run or by a run alone, is claimed by itself."""
    settings(client, grace=1_000)
    join_at(client, ("a", 0), ("b", 0), ("c", 0))
    client.administer("archive", "a", now=10).must()
    client.administer("run", "a", now=20).must()
    client.administer("run", "b", now=30).must()
    assert client.claimed(1, now=40) == ["a"] and client.claimed(1, now=40) == ["b"] and client.claimed(1, now=40) == []
    assert not {"batch", "gathering"} & (set(client.job("a")) | set(client.job("b")))
    assert client.store.check() == []


@pytest.mark.parametrize("process_in", [0, 500])
def test_who_left_gathers_no_more(client: JobClient, process_in: int) -> None:
    """This also holds when the job is snoozed."""
    settings(client, grace=1_000)
    join(client, "a", 0, processIn=process_in)
    client.administer("run", "a", now=10).must()
    client.run_one("a", now=20)
    assert client.snooze("a", delay=5, now=50).must()["job"]["processAt"] == 55
    client.store.clock.advance_to(55)
    assert client.job("a")["state"] == "pending" and gathering_groups(client.store) == []
    assert client.claimed(1) == ["a"] and client.store.check() == []


def test_an_id_that_is_free_again_joins_as_any_other(client: JobClient) -> None:
    settings(client, grace=1_000)
    join_at(client, ("a", 0), ("b", 0))
    client.administer("delete", "a", now=10).must()
    join(client, "a", 20)
    assert gathering_groups(client.store) == [GatheringGroup("b", batch(1), 0, 20, 1_020, ("a", "b"))]


# --- jobs that are dead before their step runs -----------------------------------------------------------------------
@pytest.mark.parametrize(("end", "state"), [({"deadline": 500}, "failed"), ({"goodUntil": 500}, "expired")])
def test_one_that_is_dead_is_shown_as_its_step_will_leave_it(client: JobClient, end: dict[str, int], state: str) -> None:
    settings(client, grace=1_000)
    join(client, "a", 0, **end)
    join(client, "b", 0)
    before = rows_of(client.store)
    shown = client.job("a", now=500)
    assert shown["state"] == state and not {"batch", "gathering"} & set(shown)
    assert client.jobs(now=500, group=GROUP, state=state) == ["a"]
    assert rows_of(client.store) == before, "a look stores nothing"
    assert [step.id for step in client.store.tick(500)] == ["a"]
    assert client.job("a") == shown
    assert gathering_groups(client.store) == [GatheringGroup("b", batch(1), 0, 0, 1_000, ("b",))]


@pytest.mark.parametrize("at", [999, 1_000, 1_001])
def test_good_until_around_the_instant_of_its_group(client: JobClient, at: int) -> None:
    """If good_until is not after the group's instant, the job expires first; otherwise it expires after it became ready."""
    settings(client, grace=1_000)
    join(client, "a", 0, goodUntil=at)
    join(client, "b", 0)
    fired = [(step.kind, step.id, step.at) for step in client.store.tick(5_000)]
    gone, ready = ("job_expiry", "a", at), ("job_batch", "b" if at <= 1_000 else "a", 1_000)
    assert fired == ([gone, ready] if at <= 1_000 else [ready, gone])
    job = client.job("a")
    assert (job["state"], job["expiredAt"]) == ("expired", at)
    assert ("batch" in job) == (at > 1_000), "it keeps whom it was ready with"
    assert ready_batches(client) == [(1_000, "b")] and client.claimed(5) == ["b"]


def test_one_that_is_dead_counts_until_its_step(client: JobClient) -> None:
    """A request runs before the steps, so a job that is dead by then still counts for the size; no claim returns it."""
    settings(client, size=2, grace=1_000)
    join(client, "a", 0, goodUntil=50)
    assert join(client, "b", 100)["state"] == "pending"
    job = client.job("a")
    assert (job["state"], job["expiredAt"]) == ("expired", 50)
    assert client.claimed(5) == ["b"] and client.store.check() == []


# --- filters --------------------------------------------------------------------------------------------------------
@pytest.fixture
def many(client: JobClient) -> JobClient:
    """Two queues; in each, two groups of two gathering jobs and a pending job, and two jobs without a group."""
    for queue in ("q", "r"):
        client.queue("set", queue, groups={"size": 1})
        for group in ("g", "h"):
            join(client, f"{queue}{group}-ready", 0, queue=queue, group=group)
        client.queue("set", queue, groups={"grace": 1_000})
        for n in range(2):
            for group in ("g", "h"):
                join(client, f"{queue}{group}-{n}", 0, queue=queue, group=group)
        client.enqueue(f"{queue}-later", 0, queue=queue, processAt=900).must()
        client.enqueue(f"{queue}-now", 0, queue=queue).must()
    return client


def test_search_by_group(many: JobClient) -> None:
    assert many.jobs(group="g") == ["qg-0", "qg-1", "qg-ready", "rg-0", "rg-1", "rg-ready"]
    assert many.jobs(group="g", queue="q", state="scheduled") == ["qg-0", "qg-1"]
    assert many.jobs(group="g", state="pending") == ["qg-ready", "rg-ready"]
    assert many.jobs(group="nobody") == [] == many.jobs(group=batch(1))
    assert many.jobs(group="g", id="r*", type=TYPE, limit=2) == ["rg-0", "rg-1"]


# fmt: off
ALL = [
    ("cancel", {"group": "g"}, ["qg-0", "qg-1", "qg-ready", "rg-0", "rg-1", "rg-ready"], "cancelled"),
    ("cancel", {"group": "g", "queue": "r"}, ["rg-0", "rg-1", "rg-ready"], "cancelled"),
    ("run", {"group": "g", "queue": "q", "state": "scheduled"}, ["qg-0", "qg-1"], "pending"),
    ("archive", {"group": "g", "queue": "q", "state": "scheduled"}, ["qg-0", "qg-1"], "archived"),
    ("archive", {"group": "h", "state": "pending"}, ["qh-ready", "rh-ready"], "archived"),
    ("delete", {"group": "g", "queue": "q", "state": "scheduled"}, ["qg-0", "qg-1"], "absent"),
    ("delete", {"group": "nobody", "state": "scheduled"}, [], "absent"),
]
# fmt: on


@pytest.mark.parametrize(("verb", "filter", "chosen", "state"), ALL)
def test_all_of_a_group(many: JobClient, verb: str, filter: dict[str, Any], chosen: list[str], state: str) -> None:
    """Asynq's inspector offers the same for all aggregating tasks of a group."""
    before = {id: many.job(id) for id in many.jobs()}
    assert many.all_of(verb, **filter) == len(chosen)
    assert {id: many.state(id) for id in chosen} == dict.fromkeys(chosen, state)
    assert {id: many.job(id) for id in before if id not in chosen} == {k: v for k, v in before.items() if k not in chosen}
    assert sorted(id for flight in gathering_groups(many.store) for id in flight.members) == [
        id for id, job in before.items() if "gathering" in job and id not in chosen
    ]
    assert many.store.check() == []


@pytest.mark.not_of_the_model("it has no typed calls")
def test_typed_calls(make_store: Callable[..., Any]) -> None:
    store = make_store()
    made = store.jobs.enqueue_many("t", range(3), ids=["a", "b", "c"], group="g", good_for=timedelta(seconds=90))
    store.jobs.enqueue("t", id="d", group="h", good_for=70_000, process_in=5_000)
    store.jobs.enqueue("t", id="e")
    assert [(job.group, job.batch, job.gathering, job.good_until) for job in made] == [("g", batch(1), True, 90_000)] * 3
    job = store.jobs.get("d")
    assert (job.group, job.batch, job.gathering, job.good_until, job.asynq_state) == ("h", None, False, 75_000, "scheduled")
    assert (store.jobs.get("e").group, store.jobs.get("e").gathering) == (None, False)
    assert [job.id for job in store.jobs.search(group="g")] == ["a", "b", "c"]
    assert store.jobs.run_all("scheduled", group="h") == 1
    assert store.jobs.archive_all("scheduled", group="h") == 0 == store.jobs.delete_all("pending", group="g")
    assert store.jobs.delete_all("pending", group="h") == 1 and store.jobs.cancel_all(group="g") == 3
    assert [(job.id, job.state) for job in store.jobs.search()] == [*((id, "cancelled") for id in "abc"), ("e", "pending")]


def test_a_group_alone_is_no_filter_where_a_state_is_wanted(many: JobClient) -> None:
    for verb in ("run", "archive", "delete"):
        many.send(f"job.{verb}", {"group": "g"}).must(400)
    many.send("job.cancel", {"id": "qg-0", "group": "g"}).must(400)


@pytest.mark.parametrize("verb", ["run", "cancel", "archive", "delete"])
def test_a_thousand_leave_at_once(make_store: Callable[..., Any], verb: str) -> None:
    """Each time the leader leaves, another job becomes the leader."""
    client = JobClient(make_store(check=False))
    jobs = [{"id": f"{n * 7_919 % 1_000:03}", "queue": QUEUE, "type": TYPE, "group": GROUP} for n in range(999)]
    client.send("job.enqueue_many", {"jobs": jobs}, 0).must()
    filter = {"group": GROUP, **({} if verb == "cancel" else {"state": "scheduled"})}
    assert len(gathering_groups(client.store)) == 1
    assert client.all_of(verb, **filter) == 999
    assert gathering_groups(client.store) == [] and client.store.check() == []
    assert join(client, "after", 0)["batch"] == batch(2)
