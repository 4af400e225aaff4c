"""Jobs that gather: the instant at which a group is ready (grace, size, maxDelay), to the millisecond, and its members."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_groups import GROUP, GatheringGroup, batch, gathering_groups, join, join_at, ready_batches
from conformance.job_wire import JOB, QUEUE, TYPE, JobClient, assert_states_agree, assert_typed
from conformance.wire import FAR, V25, V26, executes, rows_of

X, Y = {"data": "eA=="}, {"data": "eQ=="}


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def settings(client: JobClient, **groups: int) -> None:
    client.queue("set", groups=groups)


# --- the exact instants ---------------------------------------------------------------------------------------------
# The settings of the queue, the jobs with the instants at which they join, and the batches with the instants of their readiness.
# fmt: off
INSTANTS: dict[str, tuple[dict[str, int], list[tuple[str, int]], list[tuple[int, str]]]] = {
    "alone": ({"grace": 1_000}, [("a", 7)], [(1_007, "a")]),
    "each puts it off": ({"grace": 1_000}, [("a", 0), ("b", 600), ("c", 1_599)], [(2_599, "a b c")]),
    "within the grace": ({"grace": 1_000}, [("a", 0), ("b", 999)], [(1_999, "a b")]),
    "as the grace ends": ({"grace": 1_000}, [("a", 0), ("b", 1_000)], [(1_000, "a"), (2_000, "b")]),
    "at one instant": ({"grace": 1_000}, [("a", 5), ("b", 5), ("c", 5)], [(1_005, "a b c")]),
    "no grace": ({"grace": 0}, [("a", 5), ("b", 9)], [(5, "a"), (9, "b")]),
    "maxDelay": ({"grace": 1_000, "maxDelay": 1_500}, [("a", 0), ("b", 900), ("c", 1_400)], [(1_500, "a b c")]),
    "maxDelay is not reached": ({"grace": 1_000, "maxDelay": 1_500}, [("a", 0), ("b", 499)], [(1_499, "a b")]),
    "maxDelay is when the grace ends": ({"grace": 1_000, "maxDelay": 1_500}, [("a", 0), ("b", 500)], [(1_500, "a b")]),
    "maxDelay below the grace": ({"grace": 1_000, "maxDelay": 300}, [("a", 0), ("b", 299), ("c", 300)],
                                 [(300, "a b"), (600, "c")]),
    "maxDelay of 1": ({"grace": 1_000, "maxDelay": 1}, [("a", 0), ("b", 0), ("c", 1)], [(1, "a b"), (2, "c")]),
    "maxDelay of the next": ({"grace": 100, "maxDelay": 150}, [("a", 0), ("b", 90), ("c", 200), ("d", 290)],
                             [(150, "a b"), (350, "c d")]),
    "size": ({"size": 3}, [("a", 0), ("b", 10), ("c", 20)], [(20, "a b c")]),
    "size of 1": ({"size": 1}, [("a", 0), ("b", 0), ("c", 20)], [(0, "a"), (0, "b"), (20, "c")]),
    "size, again and again": ({"size": 2, "grace": 500}, [("a", 0), ("b", 1), ("c", 1), ("d", 2), ("e", 3)],
                              [(1, "a b"), (2, "c d"), (503, "e")]),
    "grace before size": ({"size": 3, "grace": 10}, [("a", 0), ("b", 9), ("c", 19), ("d", 20)], [(19, "a b"), (30, "c d")]),
    "maxDelay before size": ({"size": 3, "grace": 10, "maxDelay": 12}, [("a", 0), ("b", 9), ("c", 11), ("d", 12)],
                             [(11, "a b c"), (22, "d")]),
    "asynq's defaults": ({}, [("a", 0), ("b", 59_999)], [(119_999, "a b")]),
}
# fmt: on


@pytest.mark.parametrize("name", INSTANTS)
def test_when_a_group_is_ready(client: JobClient, name: str) -> None:
    """The group is not ready a millisecond earlier; the clock stops at every instant on the way."""
    given, joins, ready = INSTANTS[name]
    if given:
        settings(client, **given)
    clock = client.store.clock
    last = ready[-1][0]
    for id, at in joins:
        clock.advance_to(at)
        join(client, id)
    if last > clock.now:
        assert ready_batches(client) == ready[:-1]
        assert client.store.next_due() == last
        (flight,) = gathering_groups(client.store)
        assert clock.advance_to(last - 1) == [] and ready_batches(client) == ready[:-1]
        (step,) = clock.advance_to(last)
        assert (step.kind, step.id, step.at, step.now, step.detail) == (
            "job_batch",
            flight.leader,
            last,
            last,
            {"batch": flight.batch},
        )
    elif last == clock.now:
        clock.advance_to(last)
    assert ready_batches(client) == ready
    assert gathering_groups(client.store) == [] and client.store.next_due() is None
    assert client.store.check() == []


def test_what_becomes_of_one_that_gathers(client: JobClient) -> None:
    """It is scheduled, without a processAt, and shows its batch; once it is ready, it is a pending job like others."""
    settings(client, grace=1_000)
    job = join(client, JOB, 5, payload=X)
    assert (job["state"], job["group"], job["batch"], job["gathering"]) == ("scheduled", GROUP, batch(1), True)
    assert not {"processAt", "enqueuedAt"} & set(job)
    assert client.job() == job
    assert_states_agree(client)
    assert client.claimed(5) == [] and client.stats()["counts"]["scheduled"] == 1
    assert_typed(client, JOB, asynq_state="aggregating", horsies_state="PENDING", group=GROUP, batch=batch(1), gathering=True)
    client.store.clock.advance_to(1_005)
    after = client.job()
    assert after == {**{k: v for k, v in job.items() if k != "gathering"}, "state": "pending", "enqueuedAt": 1_005}
    assert_typed(client, JOB, asynq_state="pending")
    assert_states_agree(client)
    assert client.claimed(5) == [JOB]
    client.start().must()
    done = client.complete().must()["job"]
    assert (done["batch"], done["completedAt"] >= 1_005) == (batch(1), True), "it keeps the name of its batch for life"


def test_who_fills_the_size_hears_that_it_is_pending(client: JobClient) -> None:
    settings(client, size=2)
    assert join(client, "a", 3)["state"] == "scheduled"
    job = join(client, "b", 9)
    assert (job["state"], job["enqueuedAt"], job["batch"]) == ("pending", 9, batch(1))
    assert client.job("a")["enqueuedAt"] == 9


def test_without_grace_it_is_ready_by_the_next_step(client: JobClient) -> None:
    settings(client, grace=0)
    assert join(client, "a", 3)["state"] == "scheduled"
    assert client.state("a") == "pending", "the step was taken after the request"


def test_a_job_without_a_group_waits_for_nobody(client: JobClient) -> None:
    settings(client, grace=1_000)
    assert "batch" not in client.enqueue(now=0).must()["job"]
    assert client.claimed(5) == [JOB]


# --- which jobs gather together -------------------------------------------------------------------------------------
SEPARATORS = (" ", ":", "/", "|", "\t", "\n", "\x1f", "\x7f", "é")


def test_a_flight_is_of_one_queue_type_and_group(client: JobClient) -> None:
    """Names that would be equal if they were joined with a separator stay apart."""
    names = [(QUEUE, TYPE, "g"), (QUEUE, TYPE, "h"), (QUEUE, "other", "g"), ("other", TYPE, "g")]
    names += [(QUEUE, f"t{s}u", "v") for s in SEPARATORS] + [(QUEUE, "t", f"u{s}v") for s in SEPARATORS]
    names += [(QUEUE, TYPE, batch(1)), (QUEUE, batch(1), "g"), (f"{QUEUE}:t", "u", "v"), (f"{QUEUE}\nt", "u", "v")]
    for round in range(2):
        for n, (queue, type, group) in enumerate(names):
            join(client, f"{n:02}-{round}", 10 * round, queue=queue, type=type, group=group)
    found = gathering_groups(client.store)
    assert [flight.members for flight in found] == [(f"{n:02}-0", f"{n:02}-1") for n in range(len(names))]
    assert sorted(flight.batch for flight in found) == [batch(n + 1) for n in range(len(names))]
    assert {(flight.first_at, flight.last_at) for flight in found} == {(0, 10)}


def test_batches_are_numbered_as_jobs_are(client: JobClient) -> None:
    """One counter numbers both; a job without an id takes its number before its batch does."""
    settings(client, size=2)
    first = join(client, None)
    second = join(client, None)
    third = join(client, None)
    named = [(job["id"], job["batch"]) for job in (first, second, third)]
    assert named == [("job:0000000000000001", batch(2)), ("job:0000000000000003", batch(2)), ("job:0000000000000004", batch(5))]
    join(client, "own", group="other")
    assert (client.job("own")["batch"], client.enqueue(None).must()["job"]["id"]) == (batch(6), "job:0000000000000007")


def test_many_in_one_request(client: JobClient) -> None:
    """The jobs join in order: the third fills the group, the fourth begins another."""
    settings(client, size=3, grace=100)
    jobs = [{"id": f"{n}", "queue": QUEUE, "type": TYPE, "group": GROUP} for n in range(7)]
    answers = client.send("job.enqueue_many", {"jobs": jobs}, 5).must()["jobs"]
    assert [answer["job"]["batch"] for answer in answers] == [batch(1)] * 3 + [batch(2)] * 3 + [batch(3)]
    assert [answer["job"]["state"] for answer in answers][-1] == "scheduled"
    assert ready_batches(client) == [(5, "0 1 2"), (5, "3 4 5")]
    client.store.clock.advance_to(105)
    assert ready_batches(client)[-1] == (105, "6")


def test_a_thousand_are_most(make_store: Callable[..., Any]) -> None:
    """1,000 is the default size of a queue and the largest; a larger size is refused."""
    client = JobClient(make_store(check=False))
    jobs = [{"id": f"{n:04}", "queue": QUEUE, "type": TYPE, "group": GROUP} for n in range(2_300)]
    client.send("job.enqueue_many", {"jobs": jobs}, 0).must()
    assert client.stats()["counts"]["pending"] == 2_000 and client.stats()["counts"]["scheduled"] == 300
    (flight,) = gathering_groups(client.store)
    assert (flight.leader, len(flight.members), flight.ready_at) == ("2000", 300, 60_000)
    client.send("queue.set", {"queue": QUEUE, "groups": {"size": 1_001}}).must(400)
    assert client.store.check() == []


def test_the_leader_is_who_came_first(client: JobClient) -> None:
    settings(client, grace=1_000)
    join_at(client, ("c", 0), ("a", 100), ("b", 200))
    assert gathering_groups(client.store) == [GatheringGroup("c", batch(1), 0, 200, 1_200, ("a", "b", "c"))]


# --- jobs that do not join ------------------------------------------------------------------------------------------
def test_the_same_job_again_joins_once(client: JobClient) -> None:
    settings(client, size=2, grace=1_000)
    first = join(client, JOB, 0, payload=X)
    assert join(client, JOB, 500, payload=X) == first
    assert client.enqueue(now=500, payload=X).must()["job"] == first
    client.enqueue(now=500, payload=Y, group=GROUP).must(409)
    (flight,) = gathering_groups(client.store)
    assert (flight.last_at, flight.ready_at) == (0, 1_000)


def test_who_is_refused_does_not_join(client: JobClient) -> None:
    settings(client, grace=1_000)
    join(client, "a", 0, uniqueKey="k")
    before = rows_of(client.store)
    client.enqueue("b", 10, group=GROUP, uniqueKey="k").must(409)
    assert rows_of(client.store) == before


@pytest.mark.parametrize("end", [{"deadline": 100}, {"goodUntil": 100}])
def test_who_is_born_dead_does_not_join(client: JobClient, end: dict[str, int]) -> None:
    settings(client, size=2)
    join(client, "a", 100)
    job = join(client, "dead", 100, **end)
    assert job["state"] in ("failed", "expired") and "batch" not in client.job("dead")
    assert [flight.members for flight in gathering_groups(client.store)] == [("a",)]


def test_a_promise_that_is_adopted_gathers(client: JobClient) -> None:
    """So a workflow can await a job that runs in a batch with others."""
    settings(client, size=2)
    client.create("a", FAR, tags={"resonate:external": "true"}, now=0).must()
    client.task_create("workflow", ttl=10**6, now=0).must()
    client.suspend("workflow", 1 if client.version == V26 else 0, "a", now=1).must()
    assert join(client, "a", 2)["gathering"] is True
    assert_states_agree(client, "a")
    assert join(client, "b", 3)["state"] == "pending"
    assert client.claimed(1, now=4) == ["a", "b"]
    client.start("a", now=5).must()
    assert executes(client.store, "workflow") == []
    client.complete("a", now=6).must()
    assert [task for _, task, _ in executes(client.store)] == ["workflow"]


# --- a job that waits for its processAt first -----------------------------------------------------------------------
def test_process_at_comes_before_gathering(client: JobClient) -> None:
    """Before its processAt it is in no gathering group; then it joins as of that instant, and keeps its processAt."""
    settings(client, grace=1_000)
    job = join(client, "later", 0, processIn=400)
    assert (job["state"], job["processAt"], job["group"]) == ("scheduled", 400, GROUP)
    assert not {"batch", "gathering"} & set(job)
    assert_typed(client, "later", asynq_state="scheduled")
    assert gathering_groups(client.store) == []
    join_at(client, ("a", 100))
    (step,) = client.store.clock.advance_to(400)
    assert (step.kind, step.id, step.at) == ("job_ready", "later", 400)
    job = client.job("later")
    assert (job["state"], job["processAt"], job["gathering"], job["batch"]) == ("scheduled", 400, True, batch(1))
    assert gathering_groups(client.store) == [GatheringGroup("a", batch(1), 100, 400, 1_400, ("a", "later"))]
    assert [(s.kind, s.id, s.at) for s in client.store.clock.advance_to(5_000)] == [("job_batch", "a", 1_400)]
    assert ready_batches(client) == [(1_400, "a later")]
    assert client.job("later")["processAt"] == 400


def test_a_process_at_that_is_over_is_none(client: JobClient) -> None:
    assert join(client, "a", 100, processAt=100)["gathering"] is True
    assert join(client, "b", 100, processIn=0)["batch"] == batch(1)


def test_it_may_fill_the_size_when_it_joins(client: JobClient) -> None:
    settings(client, size=2)
    join(client, "a", 0)
    join(client, "later", 0, processAt=50)
    assert [(s.kind, s.id, s.at) for s in client.store.clock.advance_to(1_000)] == [("job_ready", "later", 50)]
    assert ready_batches(client) == [(50, "a later")]


# --- late steps -----------------------------------------------------------------------------------------------------
def steps(client: JobClient, now: int) -> list[tuple[str, str, int]]:
    return [(step.kind, step.id, step.at) for step in client.store.tick(now)]


def test_a_late_tick_makes_it_ready_as_of_its_instant(client: JobClient) -> None:
    settings(client, grace=1_000)
    join_at(client, ("a", 0), ("b", 600))
    assert [(s.kind, s.id, s.at, s.now) for s in client.store.tick(9_000)] == [("job_batch", "a", 1_600, 9_000)]
    assert ready_batches(client) == [(1_600, "a b")]


def test_a_claim_takes_what_is_ready_by_its_instant(client: JobClient) -> None:
    settings(client, grace=1_000)
    join_at(client, ("a", 0), ("b", 600))
    assert client.claimed(5, now=1_599) == []
    assert client.claimed(5, now=1_600) == ["a", "b"]
    assert client.job("a")["enqueuedAt"] == 1_600


def test_what_was_slept_through_is_made_up_in_order(client: JobClient) -> None:
    """The result is that of a store that ran its steps at each instant."""
    settings(client, grace=1_000, maxDelay=1_500)
    for id, at in (("x", 100), ("y", 300), ("z", 1_200), ("late", 5_000)):
        join(client, id, 0, processAt=at)
    assert steps(client, 20_000) == [
        ("job_ready", "x", 100),
        ("job_ready", "y", 300),
        ("job_ready", "z", 1_200),
        ("job_batch", "x", 1_600),
        ("job_ready", "late", 5_000),
        ("job_batch", "late", 6_000),
    ]
    assert ready_batches(client) == [(1_600, "x y z"), (6_000, "late")]


@pytest.mark.parametrize("at", [1_000, 1_001, 4_000])
def test_who_comes_when_a_group_should_have_gone_begins_another(client: JobClient, at: int) -> None:
    """The request runs before the steps that are due, but the result is that of steps that ran in time."""
    settings(client, grace=1_000, maxDelay=1_500)
    join(client, "a", 0)
    job = join(client, "b", at)
    assert (job["state"], job["batch"]) == ("scheduled", batch(2))
    assert ready_batches(client) == [(1_000, "a")]
    assert gathering_groups(client.store) == [GatheringGroup("b", batch(2), at, at, at + 1_000, ("b",))]


@pytest.mark.parametrize("id", ["0", "z"], ids=["before the leader", "after the leader"])
def test_who_is_ready_to_join_as_a_group_goes_begins_another(client: JobClient, id: str) -> None:
    """This holds for either order of the two steps at one instant."""
    settings(client, grace=1_000)
    join(client, "a", 0)
    join(client, id, 0, processAt=1_000)
    client.store.clock.advance_to(1_500)
    assert ready_batches(client) == [(1_000, "a")]
    assert gathering_groups(client.store) == [GatheringGroup(id, batch(2), 1_000, 1_000, 2_000, (id,))]


def test_a_late_step_fills_the_size_of_those_that_came_since(client: JobClient) -> None:
    """The request runs before the steps that are due earlier; the group is ready as of the job that joined last."""
    settings(client, size=3, grace=5_000)
    join(client, "a", 0)
    join(client, "x", 0, processAt=100)
    join(client, "b", 2_000)
    assert ready_batches(client) == [(2_000, "a b x")] and client.store.check() == []


# --- settings -------------------------------------------------------------------------------------------------------
def test_settings_of_a_queue(client: JobClient) -> None:
    """A queue shows its settings with their defaults, if it has any; setting them replaces all of them."""
    assert "groups" not in client.queue("set")
    assert client.queue("set", groups={})["groups"] == {"size": 1_000, "grace": 60_000}
    assert client.queue("set", groups={"size": 5})["groups"] == {"size": 5, "grace": 60_000}
    every = {"size": 7, "grace": 0, "maxDelay": 1}
    assert client.queue("set", groups=every)["groups"] == every
    assert client.queue("set", weight=2)["groups"] == every == client.queue("get")["groups"]
    assert client.queue("set", groups={"maxDelay": 9})["groups"] == {"size": 1_000, "grace": 60_000, "maxDelay": 9}
    assert "groups" not in client.queue("set", groups=None)


def test_a_change_counts_from_the_next_that_joins(client: JobClient) -> None:
    settings(client, grace=1_000)
    join_at(client, ("a", 0))
    settings(client, grace=5_000)
    assert gathering_groups(client.store)[0].ready_at == 1_000
    join_at(client, ("b", 500))
    assert gathering_groups(client.store)[0].ready_at == 5_500
    settings(client, grace=5_000, maxDelay=2_000)
    assert gathering_groups(client.store)[0].ready_at == 5_500
    join_at(client, ("c", 600))
    assert gathering_groups(client.store)[0].ready_at == 2_000
    settings(client, size=2)
    assert len(gathering_groups(client.store)) == 1
    join_at(client, ("d", 700))
    assert ready_batches(client) == [(700, "a b c d")]


def test_other_queues_have_their_own(client: JobClient) -> None:
    settings(client, size=1)
    assert join(client, "a", 0)["state"] == "pending"
    assert join(client, "b", 0, queue="other")["state"] == "scheduled"


def test_a_paused_queue_gathers(client: JobClient) -> None:
    settings(client, grace=100)
    client.queue("pause")
    join_at(client, ("a", 0))
    client.store.clock.advance_to(100)
    assert ready_batches(client) == [(100, "a")] and client.claimed(5) == []


def test_instants_saturate(client: JobClient) -> None:
    end = 2**63 - 1
    settings(client, grace=end, maxDelay=end)
    join(client, "a", 5)
    (flight,) = gathering_groups(client.store)
    assert flight.ready_at == end and client.store.check() == []


# --- random joins ---------------------------------------------------------------------------------------------------
def expected(joins: list[tuple[str, int]], size: int, grace: int, delay: int | None) -> list[tuple[int, str]]:
    """The batches and the instants of their readiness, by the text of the contract."""
    ready, members, due = [], [], 0
    first = 0
    for id, at in joins:
        if members and due <= at:
            ready.append((due, " ".join(sorted(members))))
            members = []
        first = first if members else at
        members.append(id)
        due = at + grace if delay is None else min(at + grace, first + delay)
        if len(members) == size:
            ready.append((at, " ".join(sorted(members))))
            members = []
    return ready + ([(due, " ".join(sorted(members)))] if members else [])


@pytest.mark.parametrize("late", [False, True], ids=["in time", "late"])
@pytest.mark.parametrize("seed", range(20))
def test_many_joins(store: Any, seed: int, late: bool) -> None:
    """Steps run at their instants, or late: after the request that moves the clock."""
    chance = random.Random(seed)
    size, grace, delay = chance.randint(1, 6), chance.randint(0, 200), chance.choice([None, chance.randint(1, 400)])
    client = JobClient(store, chance.choice([V26, V25]))
    settings(client, size=size, grace=grace, **({} if delay is None else {"maxDelay": delay}))
    joins, at = [], 0
    for n in range(60):
        at += chance.choice([0, 1, chance.randint(0, 250)])
        joins.append((f"{chance.randrange(16**4):04x}-{n}", at))
    print(f"seed {seed}: size {size}, grace {grace}, maxDelay {delay}, joins {joins}")
    for id, instant in joins:
        if not late:
            store.clock.advance_to(instant)
        join(client, id, instant)
    store.clock.advance_to(at + 10**6)
    assert ready_batches(client) == expected(joins, size, grace, delay)
