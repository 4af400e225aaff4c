"""Which jobs a claim returns: pause, concurrency, rates, weights, strict order, priorities; records and statistics of queues."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from conformance.job_wire import QUEUE, STATES, JobClient
from conformance.wire import rows_of


@pytest.fixture
def client(store: Any) -> JobClient:
    return JobClient(store)


def fill(client: JobClient, queue: str, count: int, now: int | None = None, **data: Any) -> None:
    """Enqueues jobs whose ids are in the order in which they are claimed."""
    jobs = [{"id": f"{queue}-{n:04}", "queue": queue, "type": "t", **data} for n in range(count)]
    assert {job["status"] for job in client.send("job.enqueue_many", {"jobs": jobs}, now).must()["jobs"]} == {200}


def queues_of(ids: list[str]) -> str:
    return "".join(id.partition("-")[0] for id in ids)


# --- order within a queue -------------------------------------------------------------------------------------------
def test_priority_then_enqueued_at_then_id(client: JobClient) -> None:
    """Ids compare bytewise; enqueued_at is the instant at which the job became claimable, not that of its request."""
    for now, id, data in (
        (0, "z", {}),
        (1, "later", {"processAt": 40}),
        (2, "é", {}),
        (2, "a", {}),
        (2, "Z", {}),
        (3, "last", {"priority": 100}),
        (4, "first", {"priority": 1}),
        (5, "second", {"priority": 1}),
        (6, "mid", {"priority": 49}),
        (50, "newest", {}),
    ):
        client.enqueue(id, now=now, **data).must()
    assert client.claimed(100, now=60) == ["first", "second", "mid", "z", "Z", "a", "é", "later", "newest", "last"]


def test_a_retry_stands_at_the_end_of_its_priority(client: JobClient) -> None:
    client.enqueue("a", now=0).must()
    client.run_one("a", now=0)
    client.enqueue("b", now=5).must()
    client.fail("a", now=6, retryAfter=0).must()
    assert client.job("a", now=6)["enqueuedAt"] == 6
    assert client.claimed(2, now=7) == ["b", "a"]


def test_what_was_released_keeps_its_place(client: JobClient) -> None:
    client.enqueue("a", now=0).must()
    client.claim(now=1).must()
    client.enqueue("b", now=2).must()
    client.give_back("a", now=3).must()
    assert client.job("a")["enqueuedAt"] == 0
    assert client.claimed(2, now=4) == ["a", "b"]


def test_a_claim_takes_what_is_due_at_its_instant(client: JobClient) -> None:
    """Before it chooses jobs, a claim runs the steps that are due: schedules, retries, leases."""
    client.enqueue("scheduled", now=0, processAt=100).must()
    client.enqueue("stale", now=0).must()
    assert client.claimed(1, now=0, lease=100) == ["stale"]
    assert client.claimed(5, now=99) == []
    assert client.claimed(5, now=100) == ["stale", "scheduled"]


def test_a_claim_never_gives_one_job_twice(client: JobClient) -> None:
    fill(client, QUEUE, 50)
    got = [id for n in range(20) for id in client.claimed(3, worker=f"w{n % 3}")]
    assert got == [f"{QUEUE}-{n:04}" for n in range(50)]
    assert {client.job(id)["claimedBy"] for id in got} == {"w0", "w1", "w2"}


@pytest.mark.not_of_the_model("it looks at every job for every claim")
def test_claims_among_many(make_store: Callable[..., Any]) -> None:
    """60,000 jobs of three priorities are claimed in order, also after some of them were removed."""
    client = JobClient(make_store(check=False))
    chance = random.Random(6)
    total, page = 60_000, 10_000
    priorities = [chance.choice((10, 50, 90)) for _ in range(total)]
    for begin in range(0, total, page):
        jobs = [{"id": f"{n:06}", "queue": QUEUE, "type": "t", "priority": priorities[n]} for n in range(begin, begin + page)]
        client.store.apply(
            {"kind": "job.enqueue_many", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {"jobs": jobs}}, now=begin
        )
    order = sorted(range(total), key=lambda n: (priorities[n], n))
    at = 0
    for count in (1, 7, 1_000):
        assert [int(id) for id in client.claimed(count)] == order[at : at + count]
        at += count
    for n in order[at : at + 500 : 2]:
        client.administer("cancel", f"{n:06}").must()
    left = [n for i, n in enumerate(order[at:]) if i >= 500 or i % 2]
    assert [int(id) for id in client.claimed(600)] == left[:600]
    client.enqueue("urgent", priority=1).must()
    assert client.claimed(2) == ["urgent", f"{left[600]:06}"]
    counts = client.stats()["counts"]
    assert counts["cancelled"] == 250 and counts["claimed"] == at + 602 and sum(counts.values()) == total + 1


# --- several queues -------------------------------------------------------------------------------------------------
def wrr(weights: dict[str, int], counts: dict[str, int], claims: int) -> str:
    """Smooth weighted round robin, by the text of the contract."""
    current = dict.fromkeys(weights, 0)
    left = dict(counts)
    order = ""
    for _ in range(claims):
        candidates = [name for name in weights if left[name]]
        if not candidates:
            break
        for name in candidates:
            current[name] += weights[name]
        best = max(candidates, key=lambda name: current[name])  # of equal queues, the first
        current[best] -= sum(weights[name] for name in candidates)
        left[best] -= 1
        order += best
    return order


def weighted(weights: dict[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


def test_the_well_known_order_of_5_1_1(client: JobClient) -> None:
    for name in "abc":
        fill(client, name, 20)
    weights = weighted({"a": 5, "b": 1, "c": 1})
    assert queues_of(client.claimed(7, queues=weights)) == "aabacaa"
    assert "".join(queues_of(client.claimed(1, queues=weights)) for _ in range(7)) == "aabacaa", (
        "single claims go on where the last ended"
    )


@pytest.mark.parametrize("seed", range(5))
def test_weights(client: JobClient, seed: int) -> None:
    chance = random.Random(seed)
    weights = {name: chance.randint(1, 9) for name in "abcd"}
    counts = {name: chance.randint(5, 60) for name in "abcd"}
    print(f"seed {seed}: {weights} {counts}")
    for name, count in counts.items():
        fill(client, name, count)
    got = ""
    while claimed := client.claimed(chance.randint(1, 20), queues=weighted(weights)):
        got += queues_of(claimed)
    assert got == wrr(weights, counts, 1_000)


def test_a_queues_own_weight_stands_where_the_claim_gives_none(client: JobClient) -> None:
    for name in "ab":
        fill(client, name, 20)
    assert queues_of(client.claimed(4, queues="ab")) == "abab"
    assert client.queue("set", "a", weight=3)["weight"] == 3
    other = JobClient(client.store.fork())
    assert queues_of(client.claimed(8, queues="ab")) == "aabaaaba"
    assert queues_of(other.claimed(8, queues=["a", {"name": "b", "weight": 3}])) == "abababab"


def test_strict_order(client: JobClient) -> None:
    """A claim takes jobs from a queue only if the queues before it are empty; weights have no effect."""
    for name in "abc":
        fill(client, name, 3)
    client.queue("set", "c", weight=1_000)
    assert queues_of(client.claimed(7, queues="bca", strict=True)) == "bbbccca"
    assert queues_of(client.claimed(7, queues="bca", strict=True)) == "aa"


def test_queues_that_nobody_knows_are_empty(client: JobClient) -> None:
    assert client.claimed(3, queues=["nothing", "here"]) == []
    assert client.send("queue.list", {}).must()["queues"] == []
    client.send("queue.get", {"queue": "nothing"}).must(404)


# --- pause ----------------------------------------------------------------------------------------------------------
def test_a_paused_queue_gives_nothing_and_takes_everything(client: JobClient) -> None:
    client.enqueue("running", now=0).must()
    client.run_one("running", now=0)
    assert client.queue("pause")["paused"] is True
    assert client.queue("pause")["paused"] is True
    client.enqueue("waits", now=1).must()
    fill(client, "open", 1)
    assert client.claimed(5, now=2) == []
    assert client.claimed(5, queues=[QUEUE, "open"], now=2) == ["open-0000"]
    assert client.complete("running", now=3).must()["job"]["state"] == "completed", "what runs goes on"
    assert client.queue("resume")["paused"] is False
    assert client.claimed(5, now=4) == ["waits"]
    for operation in ("pause", "resume"):
        client.send(f"queue.{operation}", {"queue": "new"}).must(404)
    client.send("queue.get", {"queue": "new"}).must(404)
    assert client.queue("pause", "default")["paused"] is True and client.queue("get", "default")["paused"] is True
    assert client.queue("resume", "default")["paused"] is False


# --- concurrency ----------------------------------------------------------------------------------------------------
def test_a_limit_of_concurrency(client: JobClient) -> None:
    """The limit counts claimed and running jobs; every way in which they end makes room again."""
    fill(client, QUEUE, 20)
    assert client.queue("set", concurrency=3)["concurrency"] == 3
    a, b, c = client.claimed(10, now=0, lease=1_000)
    assert client.claimed(10, now=1) == [] and client.queue("get")["active"] == 3
    client.start(a, now=1).must()
    client.complete(a, now=1).must()
    (d,) = client.claimed(10, now=2, lease=1_000)
    client.give_back(b, now=3).must()
    assert client.claimed(10, now=3, lease=1_000) == [b]
    client.administer("cancel", c, now=4).must()
    (e,) = client.claimed(10, now=4, lease=10_000)
    client.settle(d, now=5).must()
    (f,) = client.claimed(10, now=5, lease=10_000)
    assert client.claimed(10, now=1_002) == []
    assert client.claimed(10, now=1_003) == [b], "its lease ran out"
    assert "concurrency" not in client.queue("set", concurrency=None)
    assert len(client.claimed(100, now=1_004)) == 20 - 6
    assert len({a, b, c, d, e, f}) == 6 and client.store.check() == []


def test_a_limit_below_what_runs_already(client: JobClient) -> None:
    fill(client, QUEUE, 6)
    first = client.claimed(4)
    client.queue("set", concurrency=2)
    for id in first[:2]:
        client.give_back(id).must()
        assert client.claimed(1) == []
    client.give_back(first[2]).must()
    assert len(client.claimed(5)) == 1


def test_concurrency_of_one_of_two_queues(client: JobClient) -> None:
    for name in "ab":
        fill(client, name, 5)
    client.queue("set", "a", concurrency=1)
    assert queues_of(client.claimed(4, queues="ab", strict=True)) == "abbb"


# --- rate -----------------------------------------------------------------------------------------------------------
def next_at(client: JobClient, now: int, count: int = 10, queues: Sequence[Any] = (QUEUE,)) -> tuple[int, int | None]:
    """The number of jobs that a claim returned, and its nextAt."""
    data = client.claim(count, queues, now=now, lease=10**9).must().data
    return len(data["jobs"]), data.get("nextAt")


def test_a_rate(client: JobClient) -> None:
    """Any 1,000 ms hold at most two claims, to the millisecond."""
    fill(client, QUEUE, 40)
    assert client.queue("set", rate={"limit": 2, "per": 1_000}, now=0)["rate"] == {"limit": 2, "per": 1_000, "burst": 2}
    assert next_at(client, 100) == (2, 1_100)
    assert next_at(client, 1_099) == (0, 1_100)
    assert next_at(client, 1_100, count=1) == (1, None)
    assert next_at(client, 1_350) == (1, 2_100)
    assert next_at(client, 2_100) == (1, 2_350)
    assert next_at(client, 50_000) == (2, 51_000), "a pause saves nothing up"
    assert next_at(client, 51_000, count=1)[0] == 1
    assert "rate" not in client.queue("set", rate=None)
    assert next_at(client, 51_001, count=100) == (40 - 8, None)


def most_in_a_window(instants: list[int], per: int) -> int:
    return max(sum(at <= other < at + per for other in instants) for at in instants)


@pytest.mark.parametrize("burst", [None, 1, 3, 40])
@pytest.mark.parametrize(("limit", "per"), [(2, 1_000), (3, 7), (7, 100), (61, 1_000), (100, 3_600), (100, 30), (5, 1)])
def test_no_window_holds_more_than_the_rate(client: JobClient, limit: int, per: int, burst: int | None) -> None:
    """Of a queue that is always claimed from, and from time to time is not."""
    most = max(limit, burst or 0)
    fill(client, QUEUE, 6 * most)
    rate = {"limit": limit, "per": per} if burst is None else {"limit": limit, "per": per, "burst": burst}
    client.queue("set", rate=rate, now=0)
    instants: list[int] = []
    at: int | None = per // 3
    while at is not None:
        count, following = next_at(client, at, count=10 * most)
        assert following is None or following > at
        instants += [at] * count
        if following is not None and len(instants) % 5 == 1:
            following += per // 3
        at = following
    assert len(instants) == 6 * most, "nothing is lost"
    assert most_in_a_window(instants, per) <= most
    if burst is None:
        assert instants[-1] <= 6 * per + per // 3 * 7 + 6 * (per // 60 + 1), "and nothing waits for long"


def test_a_rate_that_does_not_divide(client: JobClient) -> None:
    """Three per second: one token each 333⅓ ms, without rounding errors that add up."""
    fill(client, QUEUE, 40)
    client.queue("set", rate={"limit": 3, "per": 1_000, "burst": 1}, now=0)
    at, instants = 0, []
    for _ in range(7):
        count, following = next_at(client, at)
        assert count == 1 and following is not None
        assert next_at(client, following - 1) == (0, following)
        instants.append(at)
        at = following
    assert instants == [0, 334, 668, 1_002, 1_336, 1_670, 2_004], "a full bucket holds one token: what is over is cut"


def test_a_rate_with_a_burst_loses_nothing(client: JobClient) -> None:
    fill(client, QUEUE, 40)
    client.queue("set", rate={"limit": 3, "per": 1_000, "burst": 5}, now=0)
    count, at = next_at(client, 0)
    assert count == 5
    instants = []
    while len(instants) < 6:
        assert at is not None
        instants.append(at)
        count, at = next_at(client, at)
        instants += [instants[-1]] * (count - 1)
    assert instants == [1_000, 1_000, 1_000, 1_334, 1_667, 2_000], "three a second, and never more than five in one"


def test_another_rate_begins_anew(client: JobClient) -> None:
    fill(client, QUEUE, 20)
    client.queue("set", rate={"limit": 2, "per": 1_000}, now=0)
    assert next_at(client, 0) == (2, 1_000)
    client.queue("set", rate={"limit": 2, "per": 1_000}, now=10)
    assert next_at(client, 10) == (0, 1_000), "the same rate changes nothing"
    client.queue("set", rate={"limit": 3, "per": 1_000}, now=20)
    assert next_at(client, 20) == (3, 1_020)


def test_a_rate_of_an_earlier_release(client: JobClient) -> None:
    """A snapshot with a level and without counted claims."""
    fill(client, QUEUE, 20)
    client.queue("set", rate={"limit": 2, "per": 1_000}, now=0)
    assert next_at(client, 100) == (2, 1_100)
    taken = client.store.snapshot()
    (queue,) = [one for one in taken["queues"] if one["name"] == QUEUE]
    assert queue.pop("claims") == [{"at": 100, "count": 2}]
    client.store.restore(taken)
    assert next_at(client, 600) == (1, 1_100), "by its bucket alone"
    assert client.store.check() == []


def test_next_at_is_about_tokens_alone(client: JobClient) -> None:
    """It is absent if there is no job to claim, or if something other than tokens is missing too."""
    client.queue("set", rate={"limit": 1, "per": 1_000}, now=0)
    assert next_at(client, 0) == (0, None)
    fill(client, QUEUE, 3)
    assert next_at(client, 0) == (1, 1_000)
    client.queue("pause", now=0)
    assert next_at(client, 0) == (0, None)
    client.queue("resume", now=0)
    client.queue("set", concurrency=1, now=0)
    assert next_at(client, 0) == (0, None)
    client.queue("set", concurrency=None, now=0)
    fill(client, "slow", 3)
    client.queue("set", "slow", rate={"limit": 1, "per": 90_000}, now=0)
    assert next_at(client, 0, queues=[QUEUE, "slow"]) == (1, 1_000), "the earliest of them"


def test_a_refused_claim_pays_nothing(client: JobClient) -> None:
    fill(client, QUEUE, 3)
    client.queue("set", rate={"limit": 1, "per": 1_000}, now=0)
    before = rows_of(client.store)
    client.claim(0, now=0).must(400)
    assert rows_of(client.store) == before
    assert next_at(client, 0)[0] == 1


# --- records and statistics -----------------------------------------------------------------------------------------
def test_the_record_of_a_queue(client: JobClient) -> None:
    client.enqueue().must()
    plain = {"name": QUEUE, "paused": False, "weight": 1, "active": 0}
    assert client.queue("get") == plain
    every = {
        "lifecycle": "asynq",
        "weight": 7,
        "concurrency": 2,
        "rate": {"limit": 3, "per": 50, "burst": 9},
        "defaults": {"maxRetries": 1},
    }
    assert client.queue("set", **every) == {**plain, **every}
    assert client.queue("set") == {**plain, **every}, "what is absent stays"
    assert client.queue("set", weight=8) == {**plain, **every, "weight": 8}
    client.claim().must()
    assert client.queue("get") == {**plain, **every, "weight": 8, "active": 1}
    cleared = client.queue("set", lifecycle=None, concurrency=None, rate=None, defaults=None)
    assert cleared == {**plain, "weight": 8, "active": 1}
    client.queue("set", defaults={"maxRetries": 1})
    assert client.queue("set", defaults={}) == cleared, "no defaults are none"
    client.queue("set", "a")
    assert [queue["name"] for queue in client.send("queue.list", {}).must()["queues"]] == ["a", QUEUE]


DAY = 86_400_000


def test_statistics(client: JobClient) -> None:
    """Counts by state, the oldest pending job, and the numbers of processed and failed jobs per day (UTC)."""
    empty = dict.fromkeys(STATES, 0)
    begin = 19_000 * DAY + DAY - 50
    client.enqueue("a", now=begin).must()
    client.enqueue("b", now=begin + 10, processIn=DAY).must()
    client.enqueue("c", now=begin + 20).must()
    client.enqueue("d", now=begin + 30).must()
    assert client.stats(now=begin + 40) == {
        "name": QUEUE,
        "paused": False,
        "counts": {**empty, "pending": 3, "scheduled": 1},
        "oldestPendingAt": begin,
        "latency": 40,
        "active": 0,
        "days": [],
    }
    client.run_one("a", now=begin + 40)
    client.fail("a", now=begin + 45, retryAfter=5).must()
    client.run_one("c", now=begin + 45)
    client.complete("c", now=begin + 49).must()
    assert client.stats()["days"] == [{"day": "2022-01-08", "processed": 2, "failed": 1}]
    (job,) = client.claim(now=begin + 50).must()["jobs"]
    assert job["id"] == "d"
    client.start("d", now=begin + 50).must()
    client.run_one("a", now=begin + 51, lease=9)
    client.store.tick(begin + 60)
    stats = client.stats()
    assert stats["days"] == [{"day": "2022-01-08", "processed": 2, "failed": 1}, {"day": "2022-01-09", "processed": 1, "failed": 1}]
    assert stats["counts"] == {**empty, "scheduled": 1, "running": 1, "completed": 1, "retry": 1} and stats["active"] == 1
    assert "oldestPendingAt" not in stats and stats["latency"] == 0
    client.snooze("d", now=begin + 61, delay=1).must()
    client.run_one("d", now=begin + 62)
    assert client.stats()["days"][-1] == {"day": "2022-01-09", "processed": 1, "failed": 1}, "a snooze is no end"
    client.settle("d", "rejected", now=begin + 63).must()
    assert client.stats()["days"][-1] == {"day": "2022-01-09", "processed": 2, "failed": 2}
    client.administer("cancel", "a", now=begin + 64).must()
    assert client.stats()["days"][-1] == {"day": "2022-01-09", "processed": 2, "failed": 2}, "a cancellation counts as neither"


def test_an_attempt_that_timed_out_or_crashed_counts_as_failed(client: JobClient) -> None:
    client.enqueue("slow", timeout=30, maxRetries=0, now=0).must()
    client.run_one("slow", now=0)
    assert [f.kind for f in client.store.tick(30)] == ["job_timeout"]
    assert client.stats()["days"] == [{"day": "1970-01-01", "processed": 1, "failed": 1}]
    client.enqueue("lost", maxRetries=0, now=30).must()
    client.run_one("lost", now=30, lease=5)
    assert [f.kind for f in client.store.tick(35)] == ["job_lease"]
    assert client.stats()["days"] == [{"day": "1970-01-01", "processed": 2, "failed": 2}]


def test_days_are_kept_for_90(client: JobClient) -> None:
    for day in range(95):
        now = day * DAY
        client.enqueue(f"{day:03}", now=now, retention=0).must()
        client.run_one(f"{day:03}", now=now)
        client.complete(f"{day:03}", now=now).must()
    days = client.stats()["days"]
    assert len(days) == 90 and days[-1] == {"day": "1970-04-05", "processed": 1, "failed": 0}
    assert days[0]["day"] == "1970-01-06"


def test_statistics_of_all_queues(client: JobClient) -> None:
    fill(client, "b", 2)
    fill(client, "a", 1)
    all_queues = client.send("job.stats", {}).must()["queues"]
    assert [(queue["name"], queue["counts"]["pending"]) for queue in all_queues] == [("a", 1), ("b", 2)]
