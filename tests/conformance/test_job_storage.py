"""Jobs in snapshots, forks, traces and files: a restored store continues exactly as the original does."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from conformance.job_groups import gathering_groups
from conformance.job_scenes import populate, send_more_requests
from conformance.job_wire import STATES, JobClient
from conformance.wire import rows_of
from homes import Home

Make = Callable[..., Any]


@pytest.fixture
def client(store: Any) -> JobClient:
    client = JobClient(store)
    populate(client)
    return client


def records(client: JobClient) -> list[Any]:
    return [client.send("job.search", {}).data, client.send("queue.list", {}).data, client.send("job.stats", {}).data]


def test_the_scene_has_what_it_says(client: JobClient) -> None:
    states = {job["state"] for job in client.send("job.search", {}).must()["jobs"]}
    assert states >= {"pending", "claimed", "retry", "completed", "archived", "cancelled", "expired"} and states <= set(STATES)
    assert client.store.check() == []
    assert [(flight.members, flight.ready_at) for flight in gathering_groups(client.store)] == [
        (("together-6", "together-7"), 540),
        (("together-later", "together-short"), 560),
    ]


def test_a_snapshot_is_restored(make_store: Make, client: JobClient, clock_type: Any) -> None:
    snapshot = client.store.snapshot()
    text = json.loads(json.dumps(snapshot))
    assert text == snapshot, "it is plain JSON"
    other = JobClient(make_store(clock=clock_type(0)))
    other.enqueue("is replaced", now=0).must()
    other.store.restore(copy.deepcopy(text))
    assert other.store.snapshot() == snapshot and other.store.digest() == client.store.digest()
    assert records(other) == records(client)
    assert other.store.check() == []
    assert send_more_requests(other) == send_more_requests(client)
    assert other.store.digest() == client.store.digest()


@pytest.mark.not_of_the_model("it judges no snapshots")
def test_a_snapshot_that_says_the_impossible_is_not_restored(make_store: Make, client: JobClient, refused: Any) -> None:
    """A completed job whose promise is pending, and a claimed job that no worker holds."""
    snapshot = client.store.snapshot()
    (row,) = (row for row in snapshot["promises"] if row["id"] == "completed")
    row["state"] = "pending"
    with pytest.raises(refused):
        make_store().restore(snapshot)


def test_a_fork_goes_its_own_way(client: JobClient) -> None:
    fork = JobClient(client.store.fork())
    assert records(fork) == records(client) and fork.store.digest() == client.store.digest()
    before = rows_of(client.store)
    went = send_more_requests(fork)
    assert rows_of(client.store) == before
    assert send_more_requests(client) == went
    assert fork.store.digest() == client.store.digest()


def test_the_digest_sees_every_part_of_a_job(make_store: Make) -> None:
    """Two stores that differ in one member of one job have different digests."""
    variants: list[dict[str, Any]] = [
        {},
        {"payload": {"data": "eQ=="}},
        {"priority": 51},
        {"goodUntil": 10**6},
        {"timeout": 5},
        {"retention": 5},
        {"retention": 6},
        {"maxRetries": 24},
        {"retryPolicy": {"kind": "fixed", "intervals": [15]}},
        {"retryPolicy": {"kind": "fixed", "intervals": [15], "codes": ["E"]}},
        {"onExhausted": "failed"},
        {"lifecycle": "asynq", "retention": None},
        {"uniqueKey": "k"},
        {"uniqueKey": "k", "uniqueFor": 7},
        {"type": "other"},
        {"queue": "other"},
        {"processAt": 9},
        {"sentAt": 0},
        {"tags": {"a": "b"}},
        {"group": "g"},
        {"group": "h"},
        {"group": "g", "processAt": 9},
    ]
    digests = set()
    for variant in variants:
        client = JobClient(make_store())
        client.enqueue(now=5, **variant).must()
        digests.add(client.store.digest())
    assert len(digests) == len(variants)
    client = JobClient(make_store())
    moved = []
    for step in (
        lambda: client.enqueue(now=5),
        lambda: client.claim(now=5),
        lambda: client.start(now=5),
        lambda: client.beat(("job", 1), now=6),
        lambda: client.fail(now=6),
        lambda: client.administer("archive", now=6),
        lambda: client.administer("run", now=6),
        lambda: client.queue("set", weight=2),
        lambda: client.queue("pause"),
        lambda: client.queue("set", groups={}),
        lambda: client.queue("set", groups={"grace": 1}),
        lambda: client.queue("set", groups={"grace": 1, "maxDelay": 5}),
        lambda: client.queue("set", groups={"size": 2, "maxDelay": 5}),
        lambda: client.enqueue("one", now=7, group="g"),
        lambda: client.enqueue("two", now=7, group="g"),
        lambda: client.schedule("s", now=7, job={"type": "t"}),
    ):
        step()
        moved.append(client.store.digest())
    assert len(set(moved)) == len(moved)


@pytest.mark.not_of_the_model("it has a digest of its own")
def test_jobs_are_the_same_over_every_storage(client: JobClient) -> None:
    """The populated store has the same digest in this storage as in memory."""
    memory = JobClient(rc.Store(clock=rc.ManualClock(0), check=True))
    populate(memory)
    assert memory.store.digest() == client.store.digest()
    assert send_more_requests(memory) == send_more_requests(client)
    assert memory.store.digest() == client.store.digest()


@pytest.mark.not_of_the_model("it has no traces")
def test_a_trace_runs_again(client: JobClient, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    with client.store.record(path):
        send_more_requests(client)
    replayed = rc.replay(path)
    assert replayed.ok, replayed


# --- durable stores -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("reopen", ["once", "after every request"])
def test_a_store_that_is_closed_and_opened_again(home: Home, reopen: str) -> None:
    place = home.new_place()
    memory = JobClient(rc.Store(clock=rc.ManualClock(0), check=True))
    populate(memory)
    client = JobClient(home.open(place, clock=rc.ManualClock(0), check=True))
    populate(client)
    client.store.close()
    client = JobClient(home.open(place, clock=rc.ManualClock(100), check=True))
    assert records(client) == records(memory) and client.store.digest() == memory.store.digest()
    if reopen == "after every request":
        client = Reopening(client, home, place)
    assert send_more_requests(client) == send_more_requests(memory)
    assert client.store.digest() == memory.store.digest() and client.store.check() == []
    client.store.close()


class Reopening(JobClient):
    """Closes and opens its store before each request."""

    def __init__(self, client: JobClient, home: Home, place: Any) -> None:
        super().__init__(client.store, client.version)
        self._home, self._place = home, place

    def send(self, kind: str, data: Any, now: int | None = None, **head: Any) -> Any:
        at = self.store.now
        self.store.close()
        self.store = self._home.open(self._place, clock=rc.ManualClock(at), check=True)
        return super().send(kind, data, now, **head)


def test_two_stores_in_one_place(home: Home) -> None:
    """Each store sees the changes of the other: claims, results, settings of queues, unique keys, tokens of a rate."""
    place = home.new_place()
    clock = rc.ManualClock(0)
    one, two = (JobClient(home.open(place, clock=clock)) for _ in range(2))
    one.queue("set", concurrency=3, rate={"limit": 1, "per": 1_000, "burst": 4})
    for n in range(8):
        (one, two)[n % 2].enqueue(f"{n}", uniqueKey=f"k{n}").must()
    two.enqueue("again", uniqueKey="k0").must(409)
    assert one.claimed(2) == ["0", "1"] and two.claimed(2) == ["2"] and one.claimed(2) == []
    two.start("0", now=1).must()
    one.complete("0", now=2).must()
    two.complete("0", now=3).must(409)
    assert two.claimed(2, now=4) == ["3"], "the last token"
    assert two.queue("get") == one.queue("get")
    two.queue("pause")
    assert one.claimed(1, now=5_000) == []
    one.queue("resume")
    one.administer("cancel", "1").must()
    assert two.beat(("1", 1)) == (["1"], [])
    assert two.claimed(5, now=5_000) == ["4"]
    assert one.stats() == two.stats()
    assert one.store.check() == two.store.check() == []
    one.store.close()
    two.store.close()


def test_two_stores_gather_together(home: Home) -> None:
    """Each store sees the jobs that join, leave and are claimed in the other."""
    place = home.new_place()
    clock = rc.ManualClock(0)
    one, two = (JobClient(home.open(place, clock=clock)) for _ in range(2))
    one.queue("set", groups={"size": 4, "grace": 1_000})
    for n, id in enumerate("bcda"):
        (one, two)[n % 2].enqueue(id, group="g").must()
        if id == "c":
            assert gathering_groups(one.store) == gathering_groups(two.store) and gathering_groups(one.store)[0].members == (
                "b",
                "c",
            )
            one.administer("cancel", "b").must()
    assert gathering_groups(two.store)[0].leader == "c"
    two.enqueue("e", group="g").must()
    assert one.claimed(1) == ["a", "c", "d", "e"] and two.claimed(1) == []
    two.enqueue("f", group="g").must()
    assert clock.advance(1_000) and one.claimed(1) == ["f"]
    assert one.store.check() == two.store.check() == []
    one.store.close()
    two.store.close()


@pytest.mark.not_of_the_model("it has no files")
def test_a_backup_holds_the_jobs(client: JobClient, tmp_path: Path) -> None:
    path = tmp_path / "backup.db"
    client.store.backup(path)
    with rc.Store(path, clock=rc.ManualClock(100)) as copied:
        assert records(JobClient(copied)) == records(client) and copied.digest() == client.store.digest()
        assert copied.check() == []
    assert rc.check_file(path) == []


def test_purge_takes_settled_jobs_and_no_others(store: Any) -> None:
    client = JobClient(store)
    for id in ("archived", "completed", "pending"):
        client.enqueue(id, now=0, priority={"archived": 1, "completed": 2}.get(id, 3)).must()
    client.run_one("archived", now=1)
    client.fail("archived", now=2, retryable=False).must()
    client.run_one("completed", now=3)
    client.complete("completed", now=4).must()
    client.store.tick(100)
    assert client.store.purge(settled_before=50) == 1
    assert client.jobs() == ["archived", "pending"]
    assert client.stats()["counts"]["completed"] == 0 and client.store.check() == []
