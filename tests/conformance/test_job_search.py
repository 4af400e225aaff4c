"""job.search, and the requests that act on all jobs that a filter finds."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import JobClient
from conformance.wire import rows_of


@pytest.fixture
def client(store: Any) -> JobClient:
    """A job in each state, in two queues, of three types and two teams; and a promise and a task that are no jobs."""
    client = JobClient(store)
    client.create("promise", now=0).must()
    client.task_create("task", now=0).must()
    for n, id in enumerate(ALL):
        options: dict[str, Any] = {"queue": "ab"[n % 2], "type": f"t{n % 3}", "tags": {"team": f"{n % 2}", "odd": f"{n % 3}"}}
        if id == "expired":
            options["goodUntil"] = 100
        client.enqueue(id, now=0, onExhausted="failed" if id == "failed" else "archived", **options, **EXTRA.get(id, {})).must()
        steps = WAYS.get(id, "")
        if steps:
            assert client.claimed(1, queues=[options["queue"]], now=0) == [id]
        if "s" in steps:
            client.start(id, now=0).must()
        if "r" in steps:
            client.fail(id, now=0, retryAfter=10**6).must()
        if "f" in steps:
            client.fail(id, now=0, retryable=False).must()
        if "c" in steps:
            client.complete(id, now=0).must()
        if id == "cancelled":
            client.administer("cancel", id, now=0).must()
    client.store.tick(100)
    return client


ALL = ["archived", "cancelled", "claimed", "completed", "expired", "failed", "retry", "running", "scheduled", "pending"]
WAYS = {"archived": "ksf", "claimed": "k", "completed": "ksc", "failed": "ksf", "retry": "ksr", "running": "ks"}
EXTRA: dict[str, dict[str, Any]] = {
    "expired": {"priority": 100},
    "scheduled": {"processAt": 10**6},
    "pending": {"uniqueKey": "key"},
}


def test_filters(client: JobClient) -> None:
    assert client.jobs() == sorted(ALL)
    for state in ALL:
        assert client.jobs(state=state) == [state]
    assert client.jobs(queue="a") == sorted(ALL[::2]) and client.jobs(queue="c") == []
    assert client.jobs(type="t1") == sorted(ALL[1::3])
    assert client.jobs(tags={"team": "1"}) == sorted(ALL[1::2])
    assert client.jobs(tags={"team": "1", "odd": "0"}) == sorted(id for n, id in enumerate(ALL) if n % 2 and not n % 3)
    assert client.jobs(id="*ed") == sorted(id for id in ALL if id.endswith("ed"))
    assert client.jobs(id="c*d", queue="a") == ["claimed"]
    assert client.jobs(uniqueKey="key") == ["pending"]


def test_a_filter_of_states_sees_the_projection(client: JobClient) -> None:
    client.enqueue("late", now=100, goodUntil=200).must()
    assert "late" in client.jobs(now=199, state="pending")
    assert "late" in client.jobs(now=200, state="expired") and "late" not in client.jobs(now=200, state="pending")


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages(client: JobClient, limit: int) -> None:
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        reply = client.send("job.search", {"limit": limit, **cursor}).must()
        found += [job["id"] for job in reply["jobs"]]
        if "cursor" not in reply.data:
            break
        assert len(reply["jobs"]) == limit
        cursor = {"cursor": reply["cursor"]}
    assert found == sorted(ALL)


def test_a_job_shows_in_the_searches_of_promises_and_tasks(client: JobClient) -> None:
    assert set(ALL) < set(client.found("promise"))
    assert set(ALL) < set(client.found("task", limit=1000))
    assert set(client.found("task", state="halted")) == {"archived"}


# --- requests with a filter -----------------------------------------------------------------------------------------
ENDED = {"completed", "failed", "cancelled", "expired"}


def left(client: JobClient) -> dict[str, str]:
    return {id: state for id in ALL if (state := client.state(id)) != id}


@pytest.mark.parametrize("filter", [{"queue": "a"}, {"type": "t0"}, {"tags": {"team": "0"}}])
def test_cancel_all(client: JobClient, filter: dict[str, Any]) -> None:
    chosen = [id for id in client.jobs(**filter) if id not in ENDED]
    assert client.all_of("cancel", **filter) == len(chosen) > 0
    assert left(client) == dict.fromkeys(chosen, "cancelled")
    assert client.all_of("cancel", **filter) == 0


@pytest.mark.parametrize("state", ["archived", "retry", "scheduled"])
def test_run_all(client: JobClient, state: str) -> None:
    assert client.all_of("run", state=state, queue="nothing") == 0
    assert client.all_of("run", state=state) == 1
    assert left(client) == {state: "pending"}


@pytest.mark.parametrize("state", ["pending", "retry", "scheduled"])
def test_archive_all(client: JobClient, state: str) -> None:
    assert client.all_of("archive", state=state) == 1
    assert left(client) == {state: "archived"}


@pytest.mark.parametrize("state", sorted(set(ALL) - {"claimed", "running"}))
def test_delete_all(client: JobClient, state: str) -> None:
    assert client.all_of("delete", state=state) == 1
    assert left(client) == {state: "absent"}


@pytest.mark.parametrize(
    ("verb", "filter"),
    [
        ("cancel", {}),
        ("cancel", {"tags": {}}),
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
def test_a_filter_that_is_none(client: JobClient, verb: str, filter: dict[str, Any]) -> None:
    before = rows_of(client.store)
    client.send(f"job.{verb}", filter).must(400)
    assert rows_of(client.store) == before


def test_a_thousand_a_request(store: Any) -> None:
    client = JobClient(store)
    jobs = [{"id": f"{n:05}", "queue": "q", "type": "t"} for n in range(1_300)]
    client.send("job.enqueue_many", {"jobs": jobs}).must()
    pages = []
    while not pages or pages[-1]["more"]:
        pages.append(client.send("job.cancel", {"queue": "q"}).must().data)
        gone = sum(page["count"] for page in pages)
        assert client.state(f"{gone - 1:05}") == "cancelled"
        assert gone == 1_300 or client.state(f"{gone:05}") == "pending"
    assert [page["count"] for page in pages] == [1_000, 300]
    assert client.stats("q")["counts"]["cancelled"] == 1_300
