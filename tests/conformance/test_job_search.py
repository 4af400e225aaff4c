"""job.search, and the requests that act on all jobs that a filter finds."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import JobDoor
from conformance.wire import rows_of


@pytest.fixture
def door(store: Any) -> JobDoor:
    """A job in each state, in two queues, of three types and two teams; and a promise and a task that are no jobs."""
    door = JobDoor(store)
    door.create("promise", now=0).must()
    door.task_create("task", now=0).must()
    for n, id in enumerate(ALL):
        options: dict[str, Any] = {"queue": "ab"[n % 2], "type": f"t{n % 3}", "tags": {"team": f"{n % 2}", "odd": f"{n % 3}"}}
        if id == "expired":
            options["goodUntil"] = 100
        door.enqueue(id, now=0, onExhausted="failed" if id == "failed" else "archived", **options, **EXTRA.get(id, {})).must()
        steps = WAYS.get(id, "")
        if steps:
            assert door.claimed(1, queues=[options["queue"]], now=0) == [id]
        if "s" in steps:
            door.start(id, now=0).must()
        if "r" in steps:
            door.fail(id, now=0, retryAfter=10**6).must()
        if "f" in steps:
            door.fail(id, now=0, retryable=False).must()
        if "c" in steps:
            door.complete(id, now=0).must()
        if id == "cancelled":
            door.by_hand("cancel", id, now=0).must()
    door.store.tick(100)
    return door


ALL = ["archived", "cancelled", "claimed", "completed", "expired", "failed", "retry", "running", "scheduled", "pending"]
WAYS = {"archived": "ksf", "claimed": "k", "completed": "ksc", "failed": "ksf", "retry": "ksr", "running": "ks"}
EXTRA: dict[str, dict[str, Any]] = {
    "expired": {"priority": 100},
    "scheduled": {"processAt": 10**6},
    "pending": {"uniqueKey": "key"},
}


def test_filters(door: JobDoor) -> None:
    assert door.jobs() == sorted(ALL)
    for state in ALL:
        assert door.jobs(state=state) == [state]
    assert door.jobs(queue="a") == sorted(ALL[::2]) and door.jobs(queue="c") == []
    assert door.jobs(type="t1") == sorted(ALL[1::3])
    assert door.jobs(tags={"team": "1"}) == sorted(ALL[1::2])
    assert door.jobs(tags={"team": "1", "odd": "0"}) == sorted(id for n, id in enumerate(ALL) if n % 2 and not n % 3)
    assert door.jobs(id="*ed") == sorted(id for id in ALL if id.endswith("ed"))
    assert door.jobs(id="c*d", queue="a") == ["claimed"]
    assert door.jobs(uniqueKey="key") == ["pending"]


def test_a_filter_of_states_sees_the_projection(door: JobDoor) -> None:
    door.enqueue("late", now=100, goodUntil=200).must()
    assert "late" in door.jobs(now=199, state="pending")
    assert "late" in door.jobs(now=200, state="expired") and "late" not in door.jobs(now=200, state="pending")


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages(door: JobDoor, limit: int) -> None:
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        reply = door.send("job.search", {"limit": limit, **cursor}).must()
        found += [job["id"] for job in reply["jobs"]]
        if "cursor" not in reply.data:
            break
        assert len(reply["jobs"]) == limit
        cursor = {"cursor": reply["cursor"]}
    assert found == sorted(ALL)


def test_a_job_shows_in_the_searches_of_promises_and_tasks(door: JobDoor) -> None:
    assert set(ALL) < set(door.found("promise"))
    assert set(ALL) < set(door.found("task", limit=1000))
    assert set(door.found("task", state="halted")) == {"archived"}


# --- requests with a filter -----------------------------------------------------------------------------------------
ENDED = {"completed", "failed", "cancelled", "expired"}


def left(door: JobDoor) -> dict[str, str]:
    return {id: state for id in ALL if (state := door.state(id)) != id}


@pytest.mark.parametrize("filter", [{"queue": "a"}, {"type": "t0"}, {"tags": {"team": "0"}}])
def test_cancel_all(door: JobDoor, filter: dict[str, Any]) -> None:
    chosen = [id for id in door.jobs(**filter) if id not in ENDED]
    assert door.all_of("cancel", **filter) == len(chosen) > 0
    assert left(door) == dict.fromkeys(chosen, "cancelled")
    assert door.all_of("cancel", **filter) == 0


@pytest.mark.parametrize("state", ["archived", "retry", "scheduled"])
def test_run_all(door: JobDoor, state: str) -> None:
    assert door.all_of("run", state=state, queue="nothing") == 0
    assert door.all_of("run", state=state) == 1
    assert left(door) == {state: "pending"}


@pytest.mark.parametrize("state", ["pending", "retry", "scheduled"])
def test_archive_all(door: JobDoor, state: str) -> None:
    assert door.all_of("archive", state=state) == 1
    assert left(door) == {state: "archived"}


@pytest.mark.parametrize("state", sorted(set(ALL) - {"claimed", "running"}))
def test_delete_all(door: JobDoor, state: str) -> None:
    assert door.all_of("delete", state=state) == 1
    assert left(door) == {state: "absent"}


@pytest.mark.parametrize(
    ("verb", "filter"),
    [
        ("cancel", {}),
        ("run", {}),
        ("run", {"queue": "a"}),
        ("run", {"state": "pending"}),
        ("run", {"state": "completed"}),
        ("archive", {"queue": "a"}),
        ("archive", {"state": "archived"}),
        ("archive", {"state": "running"}),
        ("delete", {"queue": "a"}),
        ("delete", {"state": "running"}),
        ("delete", {"state": "claimed"}),
        ("delete", {"state": "nonsense"}),
    ],
)
def test_a_filter_that_is_none(door: JobDoor, verb: str, filter: dict[str, Any]) -> None:
    before = rows_of(door.store)
    door.send(f"job.{verb}", filter).must(400)
    assert rows_of(door.store) == before


def test_a_thousand_a_request(store: Any) -> None:
    door = JobDoor(store)
    jobs = [{"id": f"{n:05}", "queue": "q", "type": "t"} for n in range(2_300)]
    door.send("job.enqueue_many", {"jobs": jobs}).must()
    pages = []
    while not pages or pages[-1]["more"]:
        pages.append(door.send("job.cancel", {"queue": "q"}).must().data)
        gone = sum(page["count"] for page in pages)
        assert door.state(f"{gone - 1:05}") == "cancelled"
        assert gone == 2_300 or door.state(f"{gone:05}") == "pending"
    assert [page["count"] for page in pages] == [1_000, 1_000, 300]
    assert door.stats("q")["counts"]["cancelled"] == 2_300
