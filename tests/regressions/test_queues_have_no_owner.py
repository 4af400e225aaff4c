"""A token's prefix did not apply to queues: a tenant's job could fill another tenant's queue for ever.

`a.` enqueued `a.1` into `b.mail`, which runs one job at a time, and claimed it with a lease of 2^53 ms. From then on `b.` got no job of its
own queue, and could not cancel the job that filled it.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import AuthSettings, LimitSettings, ResonateApp, create_app
from server.app_calls import call
from server.security_table import SECRET, envelope, token
from tiers import chess

FAR = 10**15


def app_of(store: Store, **limits: Any) -> ResonateApp:
    return create_app(store, auth=AuthSettings(secret=SECRET), limits=LimitSettings(**limits))


def ask(app: ResonateApp, kind: str, data: Any, version: str = "2026-04-01", **claims: Any) -> tuple[int, Any]:
    async def asked() -> Any:
        async with app.lifespan():
            body = json.dumps(envelope(kind, data, version)).encode()
            return await call(app, body=body, headers={"authorization": f"Bearer {token(claims)}"})

    given = asyncio.run(asked())
    return given.status, given.json()["data"]


def test_a_queue_is_its_prefixs() -> None:
    with Store(clock=ManualClock(1000)) as store:
        store.queues.set("b.mail", concurrency=1)
        app = app_of(store)
        job = {"id": "a.1", "type": "t", "queue": "b.mail"}
        schedule = {"id": "a.s", "cron": "@hourly", "promiseId": "a.{{.timestamp}}", "promiseTimeout": 5}
        claim = {"queues": ["b.mail"], "worker": "w", "lease": 5000}
        for kind, data in (
            ("job.enqueue", job),
            ("job.enqueue_many", {"jobs": [{"id": "a.0", "type": "t"}, job]}),
            ("schedule.create", {**schedule, "job": {"type": "t", "queue": "b.mail"}}),
            ("job.claim", claim),
            ("job.search", {"queue": "b.mail"}),
            ("job.cancel", {"queue": "b.mail"}),
        ):
            for version in ("2026-04-01", "2025-01-15"):
                assert ask(app, kind, data, version, prefix="a.") == (403, "Forbidden"), kind
        assert not list(store.jobs.search()) and not list(store.schedules.search())
        assert ask(app, "job.enqueue", {**job, "id": "b.1"}, prefix="b.")[0] == 200
        assert [one["id"] for one in ask(app, "job.claim", claim, prefix="b.")[1]["jobs"]] == ["b.1"]


@pytest.mark.parametrize(
    ("queues", "status"),
    [
        (["b.mail"], 200),
        (["x", "b.*"], 200),
        (["*mail"], 200),
        (["b*l"], 200),
        ("b.mail", 200),
        (["b.mai"], 403),
        (["b.mail?"], 403),
        (["[b].mail"], 403),
        (["b.mail*x"], 403),
        (["B.MAIL"], 403),
        ([], 403),
        ([["b.mail"]], 403),
        (5, 403),
        (None, 403),
    ],
)
def test_a_claim_may_name_queues_of_others(queues: Any, status: int) -> None:
    with Store(clock=ManualClock(1000)) as store:
        app = app_of(store)
        data = {"id": "a.1", "type": "t", "queue": "b.mail"}
        assert ask(app, "job.enqueue", data, prefix="a.", queues=queues)[0] == status
        # Who may use it neither changes it nor reads how others do.
        for kind in ("queue.set", "queue.get", "queue.pause", "job.stats"):
            assert ask(app, kind, {"queue": "b.mail"}, prefix="a.", queues=queues)[0] == 403


@pytest.mark.parametrize("data", [{"id": "a.1", "type": "t"}, {"id": "a.1", "type": "t", "queue": "default"}])
def test_the_default_queue_is_everybodys(data: Any) -> None:
    with Store(clock=ManualClock(1000)) as store:
        app = app_of(store)
        assert ask(app, "job.enqueue", data, prefix="a.")[0] == 200
        claim = {"queues": ["default"], "worker": "w", "lease": 5000}
        assert ask(app, "job.claim", claim, prefix="b.") == (200, {"jobs": []})
        assert ask(app, "queue.set", {"queue": "default", "concurrency": 1}, prefix="a.")[0] == 403


LIMITS = {"lease_ms": 1000, "ttl_ms": 2000, "delay_ms": 3000}
CREATE = {"kind": "promise.create", "head": {"corrId": "i", "version": "2026-04-01"}}
TARGET = {"resonate:target": "poll://any@w"}


def delayed(at: int) -> dict[str, Any]:
    return {"id": "p", "timeoutAt": FAR, "tags": {**TARGET, "resonate:delay": str(at)}}


def policy(**given: Any) -> dict[str, Any]:
    return {"kind": "exponential", "base": 1, "cap": 1, "factor": 2, **given}


# Kind, what it is called, its limit, and the data for a value. The store's instant is 1000.
DURATIONS: list[tuple[str, str, int, Any]] = [
    ("job.claim", "lease", 1000, lambda n: {"queues": ["q"], "worker": "w", "lease": n}),
    ("job.claim", "runLease", 1000, lambda n: {"queues": ["q"], "worker": "w", "lease": 1, "runLease": n}),
    ("job.start", "lease", 1000, lambda n: {"id": "j", "version": 1, "lease": n}),
    ("job.start_many", "lease", 1000, lambda n: {"jobs": [{"id": "j", "version": 1}], "lease": n}),
    ("task.acquire", "ttl", 2000, lambda n: {"id": "t", "version": 0, "pid": "w", "ttl": n}),
    (
        "task.create",
        "ttl",
        2000,
        lambda n: {"pid": "w", "ttl": n, "action": {**CREATE, "data": {"id": "p", "timeoutAt": FAR, "tags": TARGET}}},
    ),
    ("job.snooze", "delay", 3000, lambda n: {"id": "j", "version": 1, "delay": n}),
    ("job.fail", "retryAfter", 3000, lambda n: {"id": "j", "version": 1, "error": {"code": "E"}, "retryAfter": n}),
    ("job.enqueue", "processIn", 3000, lambda n: {"type": "t", "processIn": n}),
    ("job.enqueue", "processAt", 4000, lambda n: {"type": "t", "processAt": n}),
    ("job.enqueue_many", "processIn", 3000, lambda n: {"jobs": [{"type": "t", "processIn": n}]}),
    ("job.enqueue_many", "processAt", 4000, lambda n: {"jobs": [{"type": "t"}, {"type": "t", "processAt": n}]}),
    (
        "job.enqueue",
        "an interval of retryPolicy",
        3000,
        lambda n: {"type": "t", "retryPolicy": {"kind": "fixed", "intervals": [1, n]}},
    ),
    ("job.enqueue", "cap of retryPolicy", 3000, lambda n: {"type": "t", "retryPolicy": policy(cap=n)}),
    ("queue.set", "base of retryPolicy", 3000, lambda n: {"queue": "q", "defaults": {"retryPolicy": policy(base=n, cap=3000)}}),
    ("queue.set", "grace of groups", 3000, lambda n: {"queue": "q", "groups": {"size": 2, "grace": n}}),
    ("queue.set", "maxDelay of groups", 3000, lambda n: {"queue": "q", "groups": {"size": 2, "grace": 0, "maxDelay": n}}),
    (
        "schedule.create",
        "processIn",
        3000,
        lambda n: {"id": "s", "cron": "@hourly", "promiseId": "{{.id}}", "promiseTimeout": 5, "job": {"type": "t", "processIn": n}},
    ),
    ("promise.create", "tag resonate:delay", 4000, delayed),
    ("task.fence", "tag resonate:delay", 4000, lambda n: {"id": "t", "version": 1, "action": {**CREATE, "data": delayed(n)}}),
]


@pytest.mark.parametrize(("kind", "name", "limit", "make", "version"), chess(DURATIONS, ["2026-04-01", "2025-01-15"]))
def test_leases_ttls_and_delays_end(kind: str, name: str, limit: int, make: Any, version: str) -> None:
    """A request beyond a limit is refused as a whole, and the error names the value and the rule."""
    with Store(clock=ManualClock(1000)) as store:
        app = app_of(store, **LIMITS)
        before = store.snapshot()
        for beyond in (limit + 1, 2**53, 2**63 - 1):
            status, why = ask(app, kind, make(beyond), version, role="admin")
            assert status == 400 and why.startswith(f"{name} must be at most ") and why.endswith(f", got {beyond}"), why
            assert f"limits.{'lease' if 'ease' in name else name if name == 'ttl' else 'delay'}_ms" in why
        assert store.snapshot() == before
        status, given = ask(app, kind, make(limit), version, role="admin")
        assert "must be at most" not in str(given)


def test_a_lease_has_an_end_without_any_setting() -> None:
    with Store(clock=ManualClock(1000)) as store:
        store.jobs.enqueue("t", id="a.1")
        claim = {"queues": ["default"], "worker": "w", "lease": 2**53}
        assert ask(app_of(store), "job.claim", claim, prefix="a.") == (
            400,
            "lease must be at most 86400000 ms (limits.lease_ms of this server), got 9007199254740992",
        )


@pytest.mark.parametrize("ttl", [60_000, 2**50, 2**53 - 1])
def test_published_clients_ask_for_these(ttl: int) -> None:
    """The Python SDK sends 2^50 as a ttl without end, and 2^53 - 1 is the largest integer of JavaScript."""
    with Store(clock=ManualClock(1000)) as store:
        action = {**CREATE, "data": {"id": "a.1", "timeoutAt": 2**53 - 1, "tags": TARGET}}
        assert ask(app_of(store), "task.create", {"pid": "w", "ttl": ttl, "action": action}, prefix="a.")[0] == 200
