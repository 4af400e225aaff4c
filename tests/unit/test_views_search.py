"""`Store.views.jobs` and `.promises`: the newest first, page by page, as a search of everything finds them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import resonate_core as rc

MakeStore = Callable[..., rc.Store]


def filled(store: rc.Store, chance: random.Random, jobs: int = 60) -> None:
    """Jobs of three queues in all states, several of them created at one instant."""
    clock = store.clock
    assert isinstance(clock, rc.ManualClock)
    for number in range(jobs):
        queue = chance.choice(["a", "b", "c"])
        store.jobs.enqueue(
            chance.choice(["mail", "bill"]),
            {"to": chance.choice(["Ann", "Bob"])},
            queue=queue,
            id=f"{chance.choice('xyz')}{number}",
            tags={"tenant": chance.choice(["1", "2"])},
            process_in=chance.choice([None, None, None, 10_000]),
            max_retries=chance.choice([0, 1]),
        )
        if chance.random() < 0.5:
            for job in store.jobs.claim(queue, worker="w", lease=1000, start=1):
                end = chance.choice(["complete", "fail", "cancel", "hold"])
                if end == "complete":
                    store.jobs.complete(job.id, job.version)
                elif end == "fail":
                    store.jobs.fail(job.id, job.version, chance.choice(["Timeout", "Refused"]), "The other side was slow")
                elif end == "cancel":
                    store.jobs.cancel(job.id)
        if chance.random() < 0.3:
            clock.advance(chance.choice([1, 50]))
            store.tick()


def everything(store: rc.Store) -> list[rc.Job]:
    """All jobs, the newest first."""
    found = list(store.jobs.search(limit=1000))
    return sorted(found, key=lambda job: (created_at(store, job), job.id.encode()), reverse=True)


def created_at(store: rc.Store, job: rc.Job) -> int:
    return store.promises.get(job.id).created_at


def pages(find: Callable[..., Any], **query: Any) -> Iterator[Any]:
    cursor = None
    while True:
        page = find(**query, cursor=cursor)
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def ids_of(find: Callable[..., Any], **query: Any) -> list[str]:
    return [record.id for page in pages(find, **query) for record in page]


FILTERS: list[tuple[dict[str, Any], Callable[[rc.Job], bool]]] = [
    ({}, lambda job: True),
    ({"states": ["pending"]}, lambda job: job.state == "pending"),
    ({"states": ["completed"]}, lambda job: job.state == "completed"),
    ({"states": ["running", "claimed"]}, lambda job: job.state == "running"),
    (
        {"states": ["archived", "retry", "scheduled", "cancelled"]},
        lambda job: job.state in ("archived", "retry", "scheduled", "cancelled"),
    ),
    ({"queue": "b"}, lambda job: job.queue == "b"),
    ({"queue": "b", "states": ["archived", "completed"]}, lambda job: job.queue == "b" and job.state in ("archived", "completed")),
    ({"type": "bill"}, lambda job: job.type == "bill"),
    ({"id": "x*"}, lambda job: job.id.startswith("x")),
    ({"id": "*1"}, lambda job: job.id.endswith("1")),
    ({"id": "x1", "queue": "a"}, lambda job: job.id == "x1" and job.queue == "a"),
    ({"tags": {"tenant": "2"}}, lambda job: job.tags["tenant"] == "2"),
    ({"error": "TIMEOUT"}, lambda job: job.error is not None and job.error["code"] == "Timeout"),
    ({"error": "was slow"}, lambda job: job.error is not None and job.error["code"] in ("Timeout", "Refused")),
    ({"payload": "bob"}, lambda job: job.payload.json()["to"] == "Bob"),
]


@pytest.mark.parametrize("seed", range(2))
def test_every_filter_finds_what_a_search_of_everything_finds(make_store: MakeStore, seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    store = make_store(clock=rc.ManualClock(1_000_000))
    filled(store, chance)
    jobs = everything(store)
    assert {job.state for job in jobs} >= {"pending", "completed", "archived", "cancelled"}, "this seed shows nothing"
    for query, wanted in FILTERS:
        expected = [job.id for job in jobs if wanted(job)]
        for page in ({"limit": 1000}, {"limit": 3}, {"limit": 7, "scan": 5}):
            assert ids_of(store.views.jobs, **query, **page) == expected, (query, page)
    times = sorted({created_at(store, job) for job in jobs})
    since, until = times[len(times) // 3], times[2 * len(times) // 3]
    expected = [job.id for job in jobs if since <= created_at(store, job) <= until]
    assert ids_of(store.views.jobs, created_since=since, created_until=until, limit=4) == expected
    ended = [job.id for job in jobs if (at := store.promises.get(job.id).settled_at) is not None and since <= at <= until]
    assert ids_of(store.views.jobs, settled_since=since, settled_until=until, limit=4) == ended


def test_a_job_past_its_end_is_shown_as_expired_before_its_step(make_store: MakeStore) -> None:
    clock = rc.ManualClock()
    store = make_store(clock=clock)
    store.jobs.enqueue("t", id="late", good_until=10)
    store.jobs.enqueue("t", id="well")
    clock.advance_to(20)
    assert ids_of(store.views.jobs, states=["expired"]) == ["late"]
    assert ids_of(store.views.jobs, states=["pending"]) == ["well"]
    store.tick()
    assert ids_of(store.views.jobs, states=["expired"]) == ["late"]


def test_a_search_examines_as_many_rows_as_it_may(make_store: MakeStore) -> None:
    clock = rc.ManualClock(100)
    store = make_store(clock=clock)
    for number in range(10):
        store.jobs.enqueue("t", id=f"j{number}")
        clock.advance(1)
    page = store.views.jobs(type="none", scan=4)
    assert (len(page), page.scanned, page.reached_at) == (0, 4, 106)
    page = store.views.jobs(type="none", scan=4, cursor=page.cursor)
    assert (page.scanned, page.reached_at) == (4, 102)
    page = store.views.jobs(type="none", scan=4, cursor=page.cursor)
    assert (page.scanned, page.cursor) == (2, None)
    assert store.views.jobs(states=["archived"]).scanned == 0


def test_jobs_that_change_between_two_pages_come_once(make_store: MakeStore) -> None:
    clock = rc.ManualClock()
    store = make_store(clock=clock)
    for number in range(6):
        store.jobs.enqueue("t", id=f"j{number}", queue=f"q{number % 2}")
        clock.advance(1)
    first = store.views.jobs(limit=2)
    store.jobs.enqueue("t", id="new")
    store.jobs.delete("j1")
    assert [job.id for job in first] == ["j5", "j4"]
    assert ids_of(lambda **page: store.views.jobs(limit=2, **{**page, "cursor": page["cursor"] or first.cursor})) == [
        "j3",
        "j2",
        "j0",
    ]


def test_a_promise_that_becomes_a_job_is_no_root_any_more(make_store: MakeStore) -> None:
    clock = rc.ManualClock()
    store = make_store(clock=clock)
    store.promises.create("plain", timeout=10_000)
    store.promises.create("job", timeout=10_000)
    assert ids_of(store.views.promises) == ["plain", "job"]
    store.jobs.enqueue("t", id="job")
    assert ids_of(store.views.promises) == ["plain"]
    assert ids_of(store.views.jobs) == ["job"]


def test_roots_are_found_by_state_tag_and_time(make_store: MakeStore) -> None:
    clock = rc.ManualClock()
    store = make_store(clock=clock)
    for number in range(12):
        store.promises.create(f"order:{number}", timeout=1_000_000, tags={"shop": str(number % 2)})
        store.promises.create(f"order:{number}.1", timeout=1_000_000, tags={"resonate:origin": f"order:{number}"})
        if number % 3 == 0:
            store.promises.resolve(f"order:{number}")
        clock.advance(10)
    numbers = list(range(11, -1, -1))
    for limit in (1, 5, 100):
        assert ids_of(store.views.promises, limit=limit) == [f"order:{n}" for n in numbers]
        assert ids_of(store.views.promises, states=["resolved"], limit=limit) == [f"order:{n}" for n in numbers if n % 3 == 0]
        assert ids_of(store.views.promises, tags={"shop": "1"}, limit=limit, scan=2) == [f"order:{n}" for n in numbers if n % 2]
    assert ids_of(store.views.promises, created_since=30, created_until=50) == ["order:5", "order:4", "order:3"]
    assert ids_of(store.views.promises, id="order:1*") == ["order:11", "order:10", "order:1"]
    assert ids_of(store.views.promises, id="order:4.1") == []


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"limit": 0}, r"limit must be 1\.\.1000, got 0"),
        ({"limit": 1001}, r"limit must be 1\.\.1000, got 1001"),
        ({"scan": 0}, r"scan must be 1\.\.100000, got 0"),
        ({"states": ["gone"]}, "states must contain states of a job, got 'gone'"),
        ({"cursor": "x"}, 'cursor must be the cursor of a page of this search, got "x"'),
    ],
)
def test_bad_queries_are_refused(make_store: MakeStore, query: dict[str, Any], error: str) -> None:
    store = make_store(clock=rc.ManualClock())
    with pytest.raises(rc.errors.Invalid, match=error):
        store.views.jobs(**query)


def test_a_search_is_no_part_of_a_recording(make_store: MakeStore, tmp_path: Any) -> None:
    store = make_store(clock=rc.ManualClock())
    path = tmp_path / "recording"
    with store.record(path):
        before = path.read_text()
        store.views.jobs()
        store.views.leases()
        assert path.read_text() == before
