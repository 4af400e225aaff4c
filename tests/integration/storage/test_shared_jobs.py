"""Requests on jobs that run beside those of other processes (decision 52)."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import libpq
import resonate_core as rc
from backends import schemas_of_postgres
from integration.storage.interleaving import Interleaving
from postgres_urls import plain, schema_of

HOUR = 3_600_000
LEASE = 600_000


def shared(url: str, writers: str = "shared") -> str:
    return f"{url}&writers={writers}"


def counted(name: str) -> int:
    return rc.database_counts()[name]


def claim(store: rc.Store, count: int = 1, **options: Any) -> list[rc.Job]:
    return list(store.jobs.claim("default", count, worker="w", lease=LEASE, **options))


def asked(kind: str, **data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}


def asked_claim(queue: str, count: int = 1, **options: Any) -> dict[str, Any]:
    return asked("job.claim", queues=[{"name": queue}], count=count, worker="w", lease=LEASE, **options)


def begin(store: rc.Store) -> None:
    """Makes what a process must be alone for: the queue, its present hour and day, and a lease that ends before those of a test."""
    store.jobs.enqueue_many("t", [None, None], ids=["first", "held"])
    first, _held = store.jobs.claim("default", 2, worker="first", lease=LEASE // 2, start=2)
    store.jobs.complete(first.id, first.version)


@pytest.fixture
def store(postgres_url: str) -> Iterator[rc.Store]:
    """A store whose requests share, with a manual clock."""
    with rc.Store(shared(postgres_url), clock=rc.ManualClock(0)) as store:
        begin(store)
        yield store


def sharing(action: Callable[[], Any]) -> tuple[int, int]:
    """How many transactions of an action have shared, and how many had to run again."""
    before = counted("shared_commits"), counted("run_again")
    action()
    return counted("shared_commits") - before[0], counted("run_again") - before[1]


SHARED = (1, 0)


def test_the_requests_of_a_job_share(store: rc.Store) -> None:
    jobs = store.jobs
    assert sharing(lambda: jobs.enqueue("t", id="a")) == SHARED
    assert sharing(lambda: jobs.enqueue("t", id="later", process_in=LEASE)) == SHARED
    assert sharing(lambda: jobs.enqueue_many("t", [None] * 3, queue="all")) != SHARED  # the queue is new
    assert sharing(lambda: jobs.enqueue_many("t", [None] * 3, queue="all")) == SHARED
    assert sharing(lambda: jobs.enqueue_many("t", [None] * 2, ids=["all1", "all2"], queue="all")) == SHARED
    for named in ({}, {"id": "all3"}):
        many = asked("job.enqueue_many", jobs=[{"type": "t", "queue": "all", **named}], atomic=True)
        assert sharing(lambda many=many: store.apply(many)) == SHARED
    assert sharing(lambda: claim(store)) == SHARED
    assert jobs.get("a").state == "claimed"
    assert sharing(lambda: jobs.start("a", 1)) == SHARED
    assert sharing(lambda: jobs.report("a", 1, progress=0.5)) == SHARED
    assert sharing(lambda: jobs.heartbeat("w", [("a", 1)])) == SHARED
    assert sharing(lambda: jobs.fail("a", 1, "E", retry_after=LEASE)) == SHARED
    ends: dict[str, Callable[[str], Any]] = {
        "completed": lambda id: jobs.complete(id, 1),
        "scheduled": lambda id: jobs.snooze(id, 1, LEASE),
        "archived": lambda id: jobs.fail(id, 1, "E", archive=True),
        "failed": lambda id: jobs.fail(id, 1, "E"),
    }
    for state, end in ends.items():
        jobs.enqueue("t", id=state, max_retries=0, on_exhausted="failed")
        assert [job.id for job in claim(store, start=1)] == [state]
        assert sharing(lambda end=end, id=state: end(id)) == SHARED
    jobs.enqueue("t", id="released")
    claim(store)
    assert sharing(lambda: jobs.release("released", 1)) == SHARED
    assert [jobs.get(state).state for state in (*ends, "released")] == [*ends, "pending"]
    assert jobs.get("a").state == "retry"
    assert store.check() == []


def test_jobs_with_unique_keys_share_while_their_keys_are_free(store: rc.Store) -> None:
    enqueue = store.jobs.enqueue
    assert sharing(lambda: enqueue("t", id="a", unique_key="k")) == SHARED
    many = asked("job.enqueue_many", jobs=[{"type": "t", "uniqueKey": key} for key in ("l", "m")])
    assert sharing(lambda: store.apply(many)) == SHARED
    with pytest.raises(rc.Conflict, match='held by job "a"'):
        enqueue("t", unique_key="k")
    claim(store, start=1)
    assert sharing(lambda: store.jobs.complete("a", 1)) == SHARED
    assert sharing(lambda: enqueue("t", id="b", unique_key="k")) == SHARED
    store.promises.create("p", timeout=LEASE)
    assert sharing(lambda: enqueue("t", id="p", unique_key="n")) == SHARED  # a promise that becomes a job
    with pytest.raises(rc.Conflict, match='held by job "p"'):
        enqueue("t", unique_key="n")
    assert store.check() == []


def test_a_job_without_retention_is_gone_with_its_completion(store: rc.Store) -> None:
    store.jobs.enqueue("t", id="a", retention=0)
    claim(store, start=1)
    assert sharing(lambda: store.jobs.complete("a", 1)) == SHARED
    with pytest.raises(rc.NotFound):
        store.jobs.get("a")
    assert sharing(lambda: store.jobs.enqueue("t", id="a")) == SHARED
    assert store.check() == []


def test_an_exchange_of_a_worker_takes_two_round_trips(store: rc.Store) -> None:
    store.jobs.enqueue("t", id="a")
    store.jobs.enqueue("t", id="b")
    (a,) = claim(store, start=1)
    before = counted("round_trips")
    exchange = store.jobs._exchange
    assert sharing(lambda: exchange([(a.id, a.version, None)], [], "default", 1, "w", LEASE, LEASE, False, 1)) == SHARED
    assert counted("round_trips") - before == 2
    assert (store.jobs.get("a").state, store.jobs.get("b").state) == ("completed", "running")


def enqueue_with_a_key_that_is_had(store: rc.Store) -> None:
    with pytest.raises(rc.Conflict):
        store.jobs.enqueue("t", queue="keyed", unique_key="had")


ALONE: dict[str, Callable[[rc.Store], Any]] = {
    "a unique key that a job has": enqueue_with_a_key_that_is_had,
    "a group": lambda store: store.jobs.enqueue("t", group="g"),
    "after": lambda store: store.jobs.enqueue("t", after=["held"]),
    "a parent": lambda store: store.jobs.enqueue("t", id="child", parent={"id": "held", "version": 1}),
    "a queue that is new": lambda store: store.jobs.enqueue("t", queue="new"),
    "a limit of concurrency": lambda store: store.jobs.enqueue("t", queue="limited"),
    "a rate": lambda store: store.jobs.enqueue("t", queue="rated"),
    "a job that is pending": lambda store: store.jobs.enqueue("t", id="pending"),
    "an id that does not exist": lambda store: store.jobs.heartbeat("w", [("missing", 1)]),
    "two queues": lambda store: store.jobs.claim(["default", "empty"], 1, worker="w", lease=LEASE),
    "claims of two queues": lambda store: store.apply([asked_claim("default"), asked_claim("empty")]),
    "a claim and a new job": lambda store: store.apply([asked_claim("default"), asked("job.enqueue", type="t")]),
    "a claim and a job that is claimable again": lambda store: store.apply(
        [asked_claim("default"), asked("job.fail", id="held", version=1, error={"code": "E"}, retryAfter=0)]
    ),
    "a job that is awaited": lambda store: store.jobs.complete("awaited", 1),
    "all or none, of which one is refused": lambda store: store.apply(
        [asked("job.enqueue", id="new", type="t"), asked("job.enqueue", id="held", type="other")], atomic=True
    ),
    "all or none, with and without ids": lambda store: store.apply(
        asked("job.enqueue_many", jobs=[{"type": "t"}, {"type": "t", "id": "new"}], atomic=True)
    ),
    "a lease that ends first": lambda store: store.jobs.claim("default", 1, worker="w", lease=1000),
    "a paused queue": lambda store: store.jobs.claim("paused", 1, worker="w", lease=LEASE),
}


@pytest.mark.parametrize("what", ALONE)
def test_what_needs_more_than_its_rows_runs_alone(store: rc.Store, what: str) -> None:
    store.jobs.enqueue("t", queue="limited")
    store.jobs.enqueue("t", queue="rated")
    store.jobs.enqueue("t", queue="keyed", unique_key="had")
    store.queues.set("limited", concurrency=1)
    store.queues.set("rated", rate={"limit": 10, "per": 1000})
    store.jobs.enqueue_many("t", [None] * 2, queue="paused")
    store.queues.pause("paused")
    store.jobs.enqueue("t", id="awaited")
    claim(store, start=1)
    store.promises.create("awaiter", 10**15, tags={"resonate:target": "poll://any@w"})
    store.promises.register_callback("awaited", "awaiter")
    store.jobs.enqueue("t", id="pending")
    assert sharing(lambda: ALONE[what](store))[0] == 0
    assert store.check() == []


def test_the_first_event_of_an_hour_runs_alone(store: rc.Store) -> None:
    """It ends the hour before, whose counts have all deltas."""
    for _ in range(3):
        assert sharing(lambda: store.jobs.enqueue("t")) == SHARED
    store.clock.advance(HOUR)
    assert sharing(lambda: store.jobs.enqueue("t"))[0] == 0
    assert sharing(lambda: store.jobs.enqueue("t")) == SHARED
    (queue,) = store.views.hours("default")
    assert [(hour["at"], hour["enqueued"]) for hour in queue["hours"]] == [(0, 5), (HOUR, 2)]
    assert store.check() == []


def recount(store: rc.Store) -> dict[str, int]:
    """The counts of the queue, counted from its jobs."""
    return dict(Counter(job.state for job in store.jobs.search(limit=1000)))


def counts(store: rc.Store) -> dict[str, int]:
    (queue,) = store.queues.stats("default")
    return {state: count for state, count in queue["counts"].items() if count}


def test_counts_have_their_deltas_and_exclusive_transactions_add_them_up(store: rc.Store, postgres_url: str) -> None:
    def stored() -> int:
        return int(str(server.execute(f"SELECT count(*) FROM {schema_of(postgres_url)}.queue_deltas")[0][0]))

    with rc.Store(shared(postgres_url, "alone"), clock=rc.ManualClock(0)) as other, libpq.Connection(plain(postgres_url)) as server:
        for number in range(5):
            store.jobs.enqueue("t", id=f"j{number}")
        claim(store, 2, start=2)
        store.jobs.complete("j0", 1)
        assert stored() == 7
        for one in (store, other):
            assert one.queues.stats() == store.queues.stats()
            assert counts(one) == recount(one)
        before = store.snapshot()
        other.promises.create("p", 10**15)
        assert stored() == 0, "any exclusive commit adds them up"
        after = store.snapshot()
        assert after["queues"] == before["queues"]
        (queue,) = store.queues.stats()
        assert (queue["days"][-1]["processed"], queue["counts"]["completed"]) == (2, 2)
        store.jobs.complete("j1", 1)
        store.restore(store.snapshot())
        assert stored() == 0
        assert counts(store)["completed"] == 3
        assert store.check() == []


def test_deltas_do_not_accumulate(store: rc.Store, postgres_url: str) -> None:
    """A process adds them up after some hundred commits, even if all requests share. It is alone once for that, and not twice."""
    beside, _ = sharing(lambda: [store.jobs.enqueue("t", id=f"j{number}") for number in range(600)])
    assert 600 - beside == 2
    with libpq.Connection(plain(postgres_url)) as server:
        left = int(str(server.execute(f"SELECT count(*) FROM {schema_of(postgres_url)}.queue_deltas")[0][0]))
    assert left < 300
    assert counts(store)["pending"] == 600
    assert store.check() == []


def test_who_completes_and_claims_is_alone_once_for_the_deltas(store: rc.Store) -> None:
    """The claim raises the mark of its scans meanwhile."""
    for _ in range(20):
        store.jobs.enqueue_many("t", [None] * 50)
    done: list[dict[str, Any]] = []

    def exchange() -> None:
        replies = store.apply([*done, asked_claim("default", 4, start=4)])
        assert all(reply["head"]["status"] == 200 for reply in replies)
        done[:] = [asked("job.complete", id=job["id"], version=job["version"]) for job in replies[-1]["data"]["jobs"]]

    beside, _ = sharing(lambda: [exchange() for _ in range(200)])
    assert 200 - beside == 1, "those of 512 jobs"
    assert store.check() == []


def test_numbers_of_jobs_follow_each_other(postgres_url: str) -> None:
    """Whichever store makes the jobs, and although some transactions run again."""
    with rc.Store(shared(postgres_url)) as store, rc.Store(shared(postgres_url, "alone")) as other:
        made = [store.jobs.enqueue("t").id]
        for one in (store, store, other, other, store, other):
            made.append(one.jobs.enqueue("t").id)
        made.append(store.jobs.enqueue("t", queue="new").id)  # shares first, and then runs alone
        made.append(store.jobs.enqueue("t", unique_key="k").id)
        made.append(store.jobs.enqueue("t").id)
        assert made == [f"job:{number:016x}" for number in range(1, len(made) + 1)]
        store.jobs.enqueue("t", id=f"job:{len(made) + 1:016x}")
        assert store.jobs.enqueue("t").id not in made
        assert store.check() == []


def test_a_store_of_version_10_keeps_its_counts_and_numbers() -> None:
    schemas = schemas_of_postgres()
    url = schemas.url(schemas.unused())
    with rc.Store(url) as store:
        store.jobs.enqueue_many("t", [None] * 2)
    with libpq.Connection(plain(url)) as server:
        server.execute(
            f"SET search_path TO {schema_of(url)}; DROP TABLE queue_deltas; DROP SEQUENCE job_numbers; ALTER TABLE counters DROP COLUMN "
            "added_up, DROP COLUMN numbers_taken; ALTER TABLE counters RENAME COLUMN jobs_made TO jobs; UPDATE store_version SET version = 10"
        )
    with rc.Store(shared(url)) as store:
        made = [store.jobs.enqueue("t").id for _ in range(3)]
        assert made == [f"job:{number:016x}" for number in (3, 4, 5)]
        assert counts(store) == {"pending": 5}
        assert store.check() == []


def test_claims_beside_each_other_take_other_jobs(postgres_url: str) -> None:
    between = Interleaving(shared(postgres_url))
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as first:
        begin(first)
        first.jobs.enqueue_many("t", [None] * 4, ids=list("abcd"))
        before = counted("shared_commits")
        seen = between.run({name: lambda store: [job.id for job in claim(store, 2)] for name in "AB"}, "ABBA")
        assert seen == {"A": ["a", "b"], "B": ["c", "d"]}
        assert counted("shared_commits") - before == 2
        assert first.check() == []
    between.close()


@pytest.mark.parametrize("order", ["ABAB", "ABBA", "AABB"])
def test_two_enqueues_at_once_with_one_unique_key(postgres_url: str, order: str) -> None:
    """Both look for a job with the key before the other one commits its own."""
    between = Interleaving(shared(postgres_url))
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as first:
        begin(first)
        enqueue = asked("job.enqueue", type="t", uniqueKey="k")
        seen = between.run({name: lambda store: store.apply([enqueue])[0]["head"]["status"] for name in "AB"}, order)
        assert sorted(seen.values()) == [200, 409]
        assert first.check() == []
    between.close()


def test_a_claim_does_not_pass_over_a_job_that_is_given_up(postgres_url: str) -> None:
    """A has locked the only job and stands still, until the server ends its transaction. Meanwhile B must not say that there is none."""
    between = Interleaving(shared(postgres_url), "A")
    with rc.Store(shared(postgres_url), clock=rc.ManualClock(0), busy_timeout=60_000) as other:
        begin(other)
        other.jobs.enqueue("t", id="a")
        actor = between.actors["A"]
        actor.gate.shut()
        actor.start(lambda store: claim(store))
        actor.step()
        assert [job.id for job in claim(other)] == ["a"]
        ended = actor.end()
        assert isinstance(ended, rc.StoreError) or ended == []
        assert other.check() == []
    between.close()


def test_an_urgent_job_lowers_the_mark_of_claims(store: rc.Store, postgres_url: str) -> None:
    """Scans begin at the mark, which only exclusive transactions write."""
    with rc.Store(shared(postgres_url, "alone"), clock=rc.ManualClock(0)) as other:
        store.jobs.enqueue_many("t", [None] * 2, ids=["a", "b"])
        assert [job.id for job in claim(other)] == ["a"]  # the mark is at its place
        assert sharing(lambda: store.jobs.enqueue("t", id="urgent", priority=1))[0] == 0
        assert [job.id for job in claim(store, 2)] == ["urgent", "b"]
        assert [job.id for job in claim(other)] == []  # the mark is behind all
        store.jobs.enqueue("t", id="c")
        assert [job.id for job in claim(store)] == ["c"]


@pytest.mark.parametrize("count", [0, -5, 10**6])
def test_a_claim_that_is_refused(store: rc.Store, count: int) -> None:
    """It has locked jobs by then, and shares its transaction with others."""
    store.jobs.enqueue("t", id="a")
    refused, made = store.apply([asked_claim("default", count), asked("promise.settle", id="first", state="resolved", value={})])
    assert (refused["head"]["status"], made["head"]["status"]) == (400, 200)
    assert [job.id for job in claim(store)] == ["a"]


def test_a_claim_sees_a_mark_that_was_lowered_meanwhile(store: rc.Store, postgres_url: str) -> None:
    """It begins at the mark that its process has read last."""
    with rc.Store(shared(postgres_url, "alone"), clock=rc.ManualClock(0)) as other:
        store.jobs.enqueue("t", id="a")
        (a,) = claim(store, start=1)
        assert claim(other) == []
        other.promises.create("p", 10**15)  # stores that no job can be claimed
        store.promises.create("q", 10**15)  # reads it
        other.jobs.enqueue("t", id="b")
        _, _, taken = store.jobs._exchange([(a.id, a.version, None)], [], "default", 1, "w", LEASE, LEASE, False, 1)
        assert [job.id for job in taken] == ["b"]


def test_a_batch_claims_what_it_has_made(store: rc.Store) -> None:
    store.jobs.enqueue("t", id="a")
    batch = [asked("job.enqueue", id="urgent", type="t", priority=1), asked_claim("default")]
    answers: list[Any] = []
    assert sharing(lambda: answers.extend(store.apply(batch)))[0] == 0
    assert [job["id"] for job in answers[1]["data"]["jobs"]] == ["urgent"]
    assert [job.id for job in claim(store)] == ["a"]


@pytest.mark.timeout(300)
def test_a_fleet_runs_each_job_once(postgres_url: str) -> None:
    """Some stores enqueue, claim and complete at the same time; each job is claimed once, and all counts are right at the end."""
    workers, jobs = 4, 150
    made = itertools.count()
    done: list[str] = []
    barrier = threading.Barrier(workers)
    with rc.Store(postgres_url) as first:
        first.jobs.enqueue("t", id="first")

        def work(name: str) -> None:
            with rc.Store(shared(postgres_url), busy_timeout=60_000) as store:
                barrier.wait(60)
                ended: list[tuple[str, int, Any]] = []
                while len(done) < jobs:
                    if next(made) < jobs:
                        store.jobs.enqueue("t")
                    _, _, batch = store.jobs._exchange(ended, [], "default", 2, name, LEASE, LEASE, False, 2)
                    ended = [(job.id, job.version, None) for job in batch]
                    done.extend(job.id for job in batch)
                store.jobs.complete_many(ended)

        before = counted("shared_commits")
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, [f"w{number}" for number in range(workers)]))
        assert len(set(done)) == len(done) >= jobs
        assert counted("shared_commits") - before > jobs / 2, "hardly any transaction shared"
        assert first.check() == []
        (queue,) = first.queues.stats()
        assert queue["counts"]["completed"] == len(done)
        assert queue["days"][-1]["processed"] == len(done)


def test_a_claim_alone_sees_a_job_that_came_before_its_mark(postgres_url: str) -> None:
    """Its rows are asked for from the mark that its process has read last; another process has lowered it since."""
    url = shared(postgres_url, "alone")
    with rc.Store(url) as one, rc.Store(url) as other:
        one.jobs.enqueue("t", id="b", priority=60)
        one.jobs.enqueue("t", id="c", priority=60)
        assert [job.id for job in claim(one)] == ["b"]
        other.jobs.enqueue("t", id="a", priority=1)
        assert [job.id for job in claim(one)] == ["a"]
        assert [job.id for job in claim(one)] == ["c"]


def test_a_claim_alone_looks_beyond_the_jobs_that_it_asked_for(postgres_url: str) -> None:
    """Expired jobs are passed; later steps remove them."""
    with rc.Store(shared(postgres_url, "alone"), clock=rc.ManualClock(0)) as store:
        for number in range(600):
            store.jobs.enqueue("t", id=f"over{number}", good_for=1)
        store.jobs.enqueue("t", id="good")
        store.clock.advance(10)
        assert [job.id for job in claim(store)] == ["good"]
