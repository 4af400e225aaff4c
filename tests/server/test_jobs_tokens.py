"""Jobs and queues that two tenants share: what a token with a prefix reads and changes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from resonate_core import Store
from server.app_calls import call
from server.security_table import OTHER, OWN, app_of, envelope, token, world

SHARED = ["shared", "batches"]
RESTRICTED = token({"prefix": OWN, "queues": SHARED})


def ask(store: Store, kind: str, data: Any, bearer: str = RESTRICTED, status: int = 200) -> Any:
    """Returns the data of the response, which must not contain anything of the other tenant."""

    async def asked() -> Any:
        app = app_of(store)
        async with app.lifespan():
            body = json.dumps(envelope(kind, data)).encode()
            return await call(app, body=body, headers={"authorization": f"Bearer {bearer}"})

    given = asyncio.run(asked())
    assert given.status == status, given
    assert OTHER.encode() not in given.body, "something of others shows"
    return given.json()["data"]


def states(store: Store, half: str) -> dict[str, str]:
    return {job.id.removeprefix(half): job.state for job in store.jobs.search(limit=1000) if job.id.startswith(half)}


@pytest.mark.parametrize("count", [1, 2, 100])
def test_a_claim_gets_own_jobs_alone(count: int) -> None:
    """Other tenants' jobs are before, between and after them, and stay pending."""
    with world() as store:
        for n, id in enumerate(("a", OTHER + "urgent", OWN + "z", "tenant1", "tenant10", "z")):
            store.jobs.enqueue("t", id=id, queue="shared", priority=1 + n)
        others = states(store, OTHER)
        got: list[str] = []
        while True:
            jobs = ask(store, "job.claim", {"queues": ["shared"], "count": count, "worker": "me", "lease": 5000})["jobs"]
            got += [job["id"] for job in jobs]
            if not jobs:
                break
        assert got == [OWN + "z", OWN + "j", OWN + "k"]
        assert states(store, OTHER) == others


def gather(store: Store, *ids: str) -> None:
    """Enqueues a batch of jobs into a queue of its own."""
    store.queues.set("batches", groups={"size": len(ids)})
    for id in ids:
        store.jobs.enqueue("t", id=id, queue="batches", group="g")


@pytest.mark.parametrize("count", [1, 3, 100])
def test_a_batch_is_claimed_without_others_jobs(count: int) -> None:
    """The other tenants' jobs stay pending, and are claimed together by a claim of theirs."""
    with world() as store:
        gather(store, OWN + "b", OTHER + "b", "tenant10.b", OWN + "a", OTHER + "a", "a", "tenant1")
        store.queues.set("batches", rate={"limit": 1, "per": 1000})
        claim = {"queues": ["batches"], "count": count, "worker": "me", "lease": 5000, "start": 1}
        jobs = ask(store, "job.claim", claim)["jobs"]
        assert [(job["id"], job["state"]) for job in jobs] == [(OWN + "a", "running"), (OWN + "b", "claimed")]
        assert len({job.batch for job in store.jobs.search(queue="batches")}) == 1
        store.queues.set("batches", rate=None)
        rest = store.jobs.claim("batches", worker="w", lease=5000)
        assert [job.id for job in rest] == ["a", "tenant1", "tenant10.b", OTHER + "a", OTHER + "b"]


def test_a_group_may_be_shared() -> None:
    """A token that may enqueue may join the group; of the other tenant's jobs it learns only that the group became ready."""
    with world() as store:
        store.queues.set("batches", groups={"size": 2})
        store.jobs.enqueue("t", id=OTHER + "a", queue="batches", group="g")
        given = ask(store, "job.enqueue", {"id": OWN + "a", "type": "t", "queue": "batches", "group": "g"})["job"]
        assert given["state"] == "pending"
        assert [job["id"] for job in ask(store, "job.search", {"group": "g"})["jobs"]] == [OWN + "a"]
        assert ask(store, "job.cancel", {"group": "g"}) == {"count": 1, "more": False}
        assert store.jobs.get(OTHER + "a").state == "pending"


def test_next_at_is_about_own_jobs() -> None:
    """If only another tenant's jobs wait for tokens of the rate, the reply has no nextAt."""
    with world() as store:
        store.queues.set("shared", rate={"limit": 1, "per": 1000})
        claim = {"queues": ["shared"], "count": 9, "worker": "me", "lease": 5000}
        assert [job["id"] for job in ask(store, "job.claim", claim)["jobs"]] == [OWN + "j"]
        assert ask(store, "job.claim", claim)["nextAt"] == 2000
        store.jobs.cancel(OWN + "k")
        assert ask(store, "job.claim", claim) == {"jobs": []}


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_search_finds_own_jobs_page_by_page(limit: int) -> None:
    with world() as store:
        for id in ("a", "tenant1", "tenant10", "z"):
            store.jobs.enqueue("t", id=id)
        found: list[str] = []
        cursor: dict[str, Any] = {}
        while True:
            page = ask(store, "job.search", {"limit": limit, **cursor})
            found += [job["id"] for job in page["jobs"]]
            if "cursor" not in page:
                break
            cursor = {"cursor": page["cursor"]}
        assert found == sorted(OWN + name for name in ("claimed", "running", "failed", "j", "k", "mine"))


@pytest.mark.parametrize(
    ("kind", "data", "changed"),
    [
        ("job.cancel", {"queue": "shared"}, dict.fromkeys(("claimed", "running", "failed", "j", "k"), "cancelled")),
        ("job.cancel", {"type": "t"}, dict.fromkeys(("claimed", "running", "failed", "j", "k", "mine"), "cancelled")),
        ("job.run", {"state": "archived"}, {"failed": "pending"}),
        ("job.archive", {"state": "pending"}, {"j": "archived", "k": "archived", "mine": "archived"}),
        ("job.delete", {"state": "pending"}, {"j": None, "k": None, "mine": None}),
    ],
)
def test_a_filter_finds_own_jobs_alone(kind: str, data: Any, changed: dict[str, str | None]) -> None:
    with world() as store:
        before, others = states(store, OWN), states(store, OTHER)
        assert ask(store, kind, data) == {"count": len(changed), "more": False}
        expected = {name: changed.get(name, state) for name, state in before.items()}
        assert states(store, OWN) == {name: state for name, state in expected.items() if state is not None}
        assert states(store, OTHER) == others


def test_queues_that_are_listed_are_ones_own() -> None:
    """The statistics of another tenant's queue, or of a shared one, would show what others do."""
    with world() as store:
        assert [queue["name"] for queue in ask(store, "queue.list", {})["queues"]] == [OWN + "queue"]
        assert [queue["name"] for queue in ask(store, "job.stats", {})["queues"]] == [OWN + "queue"]
        everything = ask_free(store, "queue.list", {})["queues"]
        assert [queue["name"] for queue in everything] == sorted(["shared", OWN + "queue", OTHER + "queue"])


def ask_free(store: Store, kind: str, data: Any) -> Any:
    return store.apply(envelope(kind, data))["data"]


@pytest.mark.parametrize(("prefix", "status"), [("job:", 200), ("job", 200), ("", 200), ("job:0", 403), ("shop.", 403)])
def test_who_may_leave_the_id_out(prefix: str, status: int) -> None:
    """A token whose prefix begins all generated ids."""
    with world() as store:
        bearer = token({"prefix": prefix})
        ask(store, "job.enqueue", {"type": "t"}, bearer, status)
        ask(store, "job.enqueue_many", {"jobs": [{"type": "t"}]}, bearer, status)


def test_a_request_that_names_one_of_others_does_nothing_at_all() -> None:
    with world() as store:
        before = store.snapshot()
        mine, theirs = {"id": OWN + "running", "version": 1}, {"id": OTHER + "running", "version": 1}
        for kind, data in (
            ("job.start_many", {"jobs": [mine, theirs]}),
            ("job.complete_many", {"jobs": [mine, theirs]}),
            ("job.heartbeat", {"worker": "w", "jobs": [mine, theirs]}),
            ("job.enqueue_many", {"jobs": [{"id": OWN + "n", "type": "t"}, {"id": OTHER + "n", "type": "t"}]}),
        ):
            assert ask(store, kind, data, status=403) == "Forbidden"
        assert store.snapshot() == before


def test_a_schedule_enqueues_ones_own() -> None:
    """Its jobs have ids with the prefix, and claims of others skip them."""
    with world() as store:
        job = {"type": "t", "queue": "batches", "uniqueKey": OWN + "key"}
        data = {"id": OWN + "hourly", "cron": "@hourly", "promiseId": OWN + "{{.timestamp}}", "promiseTimeout": 10**9, "job": job}
        assert ask(store, "schedule.create", data)["schedule"]["job"] == job
        assert ask(store, "schedule.create", {**data, "job": {**job, "uniqueKey": OTHER + "key"}}, status=403) == "Forbidden"
        store.clock.advance_to(3_600_000)
        claim = {"queues": ["batches"], "count": 9, "worker": "me", "lease": 5000}
        assert ask(store, "job.claim", claim, token({"prefix": OTHER, "queues": SHARED}))["jobs"] == []
        assert [job["id"] for job in ask(store, "job.claim", claim)["jobs"]] == [OWN + "3600000"]


def test_an_enqueue_does_not_tell_who_holds_a_key() -> None:
    with world() as store:
        store.jobs.enqueue("t", id=OTHER + "holder", queue="shared", unique_key="key")
        assert (
            ask(store, "job.enqueue", {"id": OWN + "n", "type": "t", "queue": "shared", "uniqueKey": "key"}, status=403)
            == "Forbidden"
        )
