"""`Store.views` and restricted searches with a prefix: their rows, counts and answers depend on the rows of the prefix alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc

MakeStore = Callable[..., rc.Store]
#: Ids around those of the prefix `b.`, which belong to others.
OTHERS = ["a", "a.1", "b", "b-", "b-\uffff", "b/", "b/1", "ba", "c.1"]
#: Ids of the prefix, the prefix itself among them.
OWN = ["b.", "b.0", "b.1", "b.1.2", "b.\u00e9", "b.~", "b.\U0001f600"]


def fill(store: rc.Store, ids: list[str]) -> None:
    """Two kinds of rows and every state that has an index, created at different instants."""
    for place, id in enumerate(sorted(ids, key=lambda id: (len(id), id))):
        store.clock.advance(10)  # type: ignore[attr-defined]
        if place % 3 == 2:
            store.promises.create(id, timeout=10**9, tags={"resonate:target": "poll://any@g"})
        else:
            store.jobs.enqueue("t", {"n": place}, id=id, queue="shared", process_in=60_000 if place % 2 else None)
    store.jobs.archive(next(id for id in sorted(ids) if is_job(store, id)))


def is_job(store: rc.Store, id: str) -> bool:
    return any(job.id == id for job in store.jobs.search(limit=1000))


def pages(view: Any, **query: Any) -> list[tuple[list[str], int]]:
    """Reads all pages of a search: the ids and the number of examined rows of each."""
    found, cursor = [], None
    while True:
        page = view(**query, **({} if cursor is None else {"cursor": cursor}))
        found.append(([one.id for one in page], page.scanned))
        cursor = page.cursor
        if cursor is None:
            return found
        assert len(found) < 100


QUERIES: list[dict[str, Any]] = [
    {},
    {"id": "*"},
    {"id": "b.*"},
    {"id": "b.1*"},
    {"id": "b.1"},
    {"id": "b."},
    {"id": "*1*"},
    {"id": "*", "limit": 1},
    {"limit": 2, "scan": 3},
    {"scan": 1},
    {"created_since": 30, "created_until": 90},
]


def test_a_search_is_the_same_whatever_others_have(make_store: MakeStore) -> None:
    alone, shared = make_store(clock=rc.ManualClock()), make_store(clock=rc.ManualClock())
    fill(alone, OWN)
    fill(shared, OWN)
    for store in (shared,):
        for number, id in enumerate(OTHERS):
            store.jobs.enqueue("t", {"n": number}, id=id, queue="shared") if number % 2 else store.promises.create(
                id, timeout=10**9
            )
    assert sum(len(ids) for ids, _ in pages(alone.views.jobs, prefix="b.")) == 5
    for query in QUERIES:
        for name in ("jobs", "promises"):
            found = [pages(getattr(store.views, name), prefix="b.", **query) for store in (alone, shared)]
            assert found[0] == found[1], (name, query)
            ids = [id for page, _ in found[0] for id in page]
            everything = [one.id for one in getattr(shared.views, name)(**{**query, "limit": 1000, "scan": 100_000})]
            assert sorted(ids) == sorted(id for id in everything if id.startswith("b.")), (name, query)
            assert ids == [id for id in everything if id.startswith("b.")], (name, query)
    for states in (["archived"], ["scheduled"], ["pending"], ["archived", "scheduled"], ["failed"], ["completed"]):
        for more in ({}, {"scan": 1}, {"limit": 1}):
            found = [pages(store.views.jobs, prefix="b.", states=states, **more) for store in (alone, shared)]
            assert found[0] == found[1], (states, more)
            ids = sorted(id for page, _ in found[0] for id in page)
            assert ids == sorted(job.id for job in shared.views.jobs(states=states) if job.id.startswith("b."))
    for id in ("a.1", "a.none", "a.*", "a", "a*", "c.*", "bb*"):  # an id that exists and one that does not
        assert pages(shared.views.jobs, prefix="b.", id=id) == [([], 0)] == pages(shared.views.promises, prefix="b.", id=id)


def test_the_newest_are_first(make_store: MakeStore) -> None:
    store = make_store(clock=rc.ManualClock())
    for number in (3, 1, 2, 6, 5, 4):
        store.clock.advance(1)  # type: ignore[attr-defined]
        store.jobs.enqueue("t", id=f"b.{number}")
        store.jobs.enqueue("t", id=f"a.{number}")
    newest = ["b.4", "b.5", "b.6", "b.2", "b.1", "b.3"]
    assert pages(store.views.jobs, prefix="b.") == [(newest, 6)]
    assert pages(store.views.jobs, prefix="b.", scan=3, limit=2) == [(newest[:2], 2), (newest[2:4], 2), (newest[4:], 2)]
    assert pages(store.views.jobs, prefix="b.", scan=4, type="none") == [([], 4), ([], 2)]
    assert store.views.jobs(prefix="b.").reached_at == 1


def test_many_rows_are_searched_in_slices(make_store: MakeStore) -> None:
    """Of a prefix with more than 10,000 rows, the newest of the first 10,000 ids are first, then those of the next."""
    store = make_store(clock=rc.ManualClock())
    for start in range(0, 10_004, 2501):
        ids = [f"b.{number:05}" for number in range(start, start + 2501)]
        store.jobs.enqueue_many("t", [None] * 2501, ids=ids)
        store.clock.advance(1)  # type: ignore[attr-defined]
    store.jobs.enqueue("t", id="c.1")
    first = store.views.jobs(prefix="b.", limit=2)
    assert [job.id for job in first] == ["b.09999", "b.09998"] and first.reached_at is None
    found = pages(store.views.jobs, prefix="b.", limit=1000, scan=700)
    ids = [id for page, _ in found for id in page]
    assert ids[:3] == ["b.09999", "b.09998", "b.09997"] and ids[-4:] == ["b.10003", "b.10002", "b.10001", "b.10000"]
    assert sorted(ids) == [f"b.{number:05}" for number in range(10_004)]
    assert sum(scanned for _, scanned in found) == 10_004 and max(scanned for _, scanned in found) == 700
    assert [len(page) for page, _ in pages(store.views.jobs, prefix="b.", id="b.1*", limit=3)] == [3, 1]
    assert [scanned for _, scanned in pages(store.views.jobs, prefix="b.", type="none", scan=100_000)] == [10_000, 4]
    assert [scanned for _, scanned in pages(store.views.jobs, prefix="b.", states=["archived"])] == [0]


@pytest.mark.parametrize(
    "cursor", ["x", "5/b.1", "3:", ":", "0:x", "0:5", "-1:b.", "99:b.1", "3:a.1", "3:a.15/a.1", "9" * 30 + ":"]
)
def test_another_cursor_is_refused(store: rc.Store, cursor: str) -> None:
    with pytest.raises(rc.Invalid, match="cursor must be the cursor of a page of this search"):
        store.views.jobs(prefix="b.", cursor=cursor)


def test_timers_and_leases_of_a_prefix(make_store: MakeStore) -> None:
    store = make_store(clock=rc.ManualClock())
    for number in range(12):  # these are earlier, and more than the limit
        store.jobs.enqueue("t", id=f"a.{number:02}", process_in=10 + number)
        store.tasks.create(f"a.task{number:02}", timeout=10**9, pid="p", ttl=5, target="poll://any@g")
    store.jobs.enqueue("t", id="b.later", process_in=500)
    store.schedules.create("b.s", cron="* * * * *", promise_id="b.x", promise_timeout=1000)
    store.schedules.create("b.", cron="* * * * *", promise_id="b.x", promise_timeout=1000)
    store.schedules.create("b/", cron="* * * * *", promise_id="x", promise_timeout=1000)
    store.tasks.create("b.task", timeout=10**9, pid="w", ttl=50, target="poll://any@g")
    store.jobs.enqueue("t", id="b.job", queue="q")
    store.jobs.claim("q", worker="w", lease=700)
    due = store.views.due(10, prefix="b.")
    assert [(one["at"], one["kind"], one["id"]) for one in due] == [
        (50, "lease", "b.task"),
        (500, "dispatch", "b.later"),
        (700, "lease", "b.job"),
        (60_000, "schedule", "b."),
        (60_000, "schedule", "b.s"),
    ]
    assert [one["id"] for one in store.views.due(2, prefix="b.")] == ["b.task", "b.later"]
    leases = store.views.leases(2, prefix="b.")
    assert [one["id"] for one in leases["items"]] == ["b.job", "b.task"] and leases["complete"] is True
    assert store.views.leases(1, prefix="b.")["complete"] is False
    assert store.views.due(prefix="none.") == [] and store.views.leases(prefix="none.")["items"] == []


def test_restricted_searches_of_the_protocol(make_store: MakeStore) -> None:
    alone, shared = make_store(clock=rc.ManualClock()), make_store(clock=rc.ManualClock())
    fill(alone, OWN)
    fill(shared, OWN)
    for id in OTHERS:
        shared.promises.create(id, timeout=10**9)
    for kind, data in (
        ("promise.search", {}),
        ("promise.search", {"limit": 2}),
        ("promise.search", {"id": "*1*", "limit": 1}),
        ("task.search", {"limit": 1}),
        ("job.search", {"limit": 2}),
        ("job.search", {"state": "scheduled", "limit": 1}),
        ("job.search", {"state": "archived"}),
    ):
        assert every_page(alone, kind, data) == every_page(shared, kind, data), (kind, data)
    found = [record["id"] for page in every_page(shared, "promise.search", {"limit": 2}) for record in page["promises"]]
    assert found == sorted(OWN, key=lambda id: id.encode())
    assert every_page(shared, "promise.search", {"cursor": "z"})[0]["promises"] == []
    cancelled = ask(shared, "job.cancel", {"queue": "shared"})
    assert cancelled["count"] == 5
    assert all(shared.promises.get(id).state == "pending" for id in OTHERS)


def every_page(store: rc.Store, kind: str, data: dict[str, Any]) -> list[dict[str, Any]]:
    made = [ask(store, kind, data)]
    while made[-1].get("cursor"):
        made.append(ask(store, kind, {**data, "cursor": made[-1]["cursor"]}))
    return made


def ask(store: rc.Store, kind: str, data: dict[str, Any]) -> dict[str, Any]:
    head = {"corrId": "1", "version": "2026-04-01"}
    envelope = rc.Envelope(json.dumps({"kind": kind, "head": head, "data": data}).encode(), rc.RequestLimits())
    envelope.restrict("b.")
    ((status, reply),) = store.run([envelope])
    assert status == 200, reply
    return dict(json.loads(reply)["data"])
