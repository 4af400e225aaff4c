"""How PostgreSQL runs the statements of a store: each finds its rows in the index that is made for it.

PostgreSQL plans with statistics. Those of a table that was empty when autovacuum came say that each index finds one row, so that the
wrong one costs nothing; the table may have filled since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import libpq
import postgres_server
import resonate_core as rc
from backends import POSTGRES, require
from postgres_server import PostgresServer
from postgres_urls import plain

HOUR = 3_600_000
FULL = ("promises", "edges", "messages", "schedules", "queue_hours", "queue_deltas")
"""The tables that may have many rows, of which a statement wants a few."""

FILTERS = {"", "(enqueued_at IS NULL)", "(num_nulls(enqueued_at) = 0)", "(pid IS NOT NULL)", "(u.writer = ((xmin)::text)::bigint)"}
"""The conditions that a plan may check in the rows that an index has found."""

INDEXES = {
    *("promises_pkey", "promises_by_due", "promises_by_pid", "promises_by_claim", "promises_by_unique_key", "promises_by_batch"),
    *("promises_by_parent", "promises_by_branch", "promises_by_job_state", "promises_open", "schedules_pkey", "schedules_by_due"),
    *("edges_pkey", "edges_by_pair", "edges_by_canceller", "messages_pkey", "messages_by_address", "messages_unblock"),
    "queue_deltas_pkey",
}
"""The indexes that the calls of this test use."""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that logs how it runs each statement of database `plans`."""
    require(POSTGRES)
    with postgres_server.running(settings={"session_preload_libraries": "'auto_explain'"}) as server:
        server.create_database("plans")
        for name, value in (("log_min_duration", "0"), ("log_format", "json")):
            server.execute(f"ALTER DATABASE plans SET auto_explain.{name} = '{value}'")
        yield server


def logged(server: PostgresServer) -> list[dict[str, Any]]:
    """The plans in the log: objects, the lines of which begin with a tab."""
    found = re.findall(r"plan:\n((?:\t.*\n)+)", server.log.read_text())
    return [json.loads(lines) for lines in found]


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "Relation Name" in plan and plan["Node Type"] != "ModifyTable":
        yield plan
    for part in plan.get("Plans", ()):
        yield from scans(part)


def of_promises(store: rc.Store, of: str) -> None:
    """Promises, tasks, callbacks and messages."""
    target = {"resonate:target": "poll://any@w"}
    names = [f"{of} {n}" for n in range(3)]
    for name in names:
        store.promises.create(name, timeout=HOUR)
        store.promises.create(f"{name} in", timeout=HOUR, tags={"resonate:branch": of})
        store.promises.create(f"{name} by", timeout=HOUR, tags=target)
        store.promises.register_listener(name, "poll://any@listens")
        store.promises.register_callback(name, f"{name} by")
    numbers = [message.number for message in store.messages(limit=3)]
    store.lease_messages(numbers, holder="h", lease=HOUR)
    store.lease_messages(numbers[:1], holder="h", lease=0)
    store.messages(addresses=["poll://any@listens", "poll://*"])
    store.promises.settle_many(names)
    task = store.tasks.create(f"{of} t", timeout=HOUR, pid="w", ttl=HOUR, target="poll://any@w", tags={"resonate:branch": of}).task
    store.tasks.heartbeat("w")
    store.tasks.suspend(f"{of} t", task.version, [f"{name} in" for name in names])
    store.promises.settle_many([f"{name} in" for name in names])
    store.take_messages()


def of_jobs(store: rc.Store, of: str) -> None:
    """Jobs that are claimed, awaited, grouped, and unique."""
    store.queues.set("default", lifecycle="asynq")
    store.queues.set("grouped", lifecycle="asynq", groups={"size": 3, "grace": 1, "maxDelay": 2})
    for turn in (f"{of} x", f"{of} y"):
        store.jobs.enqueue_many("t", [None] * 20, ids=[f"{turn}{n}" for n in range(20)], retention=HOUR)
        store.jobs.enqueue("t", id=f"after {turn}", after=[f"{turn}0", f"{turn}1"])
        store.jobs.enqueue("t", unique_key=turn)
        for _ in range(3):
            store.jobs.enqueue("t", queue="grouped", group=turn)
        jobs = store.jobs.claim("default", 10, worker="w", lease=HOUR)
        store.jobs.heartbeat("w", [(job.id, job.version) for job in jobs])
        store.jobs.complete_many([(job.id, job.version, None) for job in jobs])
        store.jobs.enqueue_many("t", [None] * 5, retention=0, priority=1)
        store.jobs.complete_many(
            [(job.id, job.version, None) for job in store.jobs.claim("default", 5, worker="w", lease=HOUR, start=5)]
        )
        store.jobs.claim("grouped", 10, worker="w", lease=HOUR)
        store.tick()
    (parent,) = store.jobs.claim("default", 1, worker="w", lease=HOUR, start=1)
    for n in range(3):
        store.jobs.enqueue("t", id=f"{of} child {n}", parent=parent, cancel_with_awaiters=True)
    store.jobs.record(parent.id, parent.version, [{"id": f"{parent.id}:{n}"} for n in range(3)])
    store.jobs.suspend(parent.id, parent.version, [f"{of} child 0", f"{of} child 1"])
    store.jobs.graph(parent.id)
    store.jobs.cancel(parent.id)
    store.jobs.delete(parent.id)
    store.jobs.enqueue("t", process_in=HOUR)
    store.jobs.search(state="scheduled")
    store.jobs.run_all("scheduled")
    store.jobs.cancel_all(queue="default")


def of_schedules(store: rc.Store) -> None:
    for name in ("s", "t"):
        store.schedules.create(name, "* * * * *", promise_timeout=HOUR)
    store.schedules.delete("s")
    store.next_due()


def test_the_plan_of_each_statement(server: PostgresServer) -> None:
    url = server.url("plans", schema="resonate")
    with rc.Store(url):
        pass
    with libpq.Connection(plain(url)) as other:
        other.execute(
            "UPDATE pg_class SET relpages = 1000, reltuples = 0 WHERE relkind = 'r' AND relnamespace = 'resonate'::regnamespace"
        )
        first_column = dict(
            other.execute(
                "SELECT relname::text, attname::text FROM pg_index JOIN pg_class ON oid = indexrelid JOIN pg_attribute ON "
                "attrelid = indrelid AND attnum = indkey[0] WHERE relnamespace = 'resonate'::regnamespace"
            )
        )
    for writers in ("alone", "shared"):
        with rc.Store(f"{url}&writers={writers}") as store:
            of_jobs(store, writers)
            of_promises(store, writers)
            of_schedules(store)
    used, wrong = set(), []
    for plan in logged(server):
        for scan in scans(plan["Plan"]):
            if scan["Relation Name"] not in FULL or scan["Node Type"] == "Tid Scan":
                continue
            index, condition, rest = (scan.get(name, "") for name in ("Index Name", "Index Cond", "Filter"))
            used.add(index)
            if not re.search(rf"\b{first_column.get(index)}\b", condition) or rest not in FILTERS:
                wrong.append((plan["Query Text"], index, condition, rest))
    assert not wrong
    assert used >= INDEXES
