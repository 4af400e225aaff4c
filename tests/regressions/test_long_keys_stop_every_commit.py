"""A text that PostgreSQL's indexes do not take (a tag `resonate:branch` of 2,800 letters, or an id, a queue and a unique key that are
too long together) failed the commit of its request and of every request beside it; submitted, it failed every later commit of the
store. Such a request is refused alone."""

from __future__ import annotations

import json
import os
import random
import string
import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import postgres_server
import resonate_core as rc
from backends import POSTGRES, require

DATABASE = f"long_keys_{os.getpid()}"
FAR = 4 * 10**12
UNLIMITED = rc.RequestLimits(id_bytes=10**6, tags=256)


def letters(count: int) -> str:
    """Text that does not compress."""
    return "".join(random.Random(count).choices(string.ascii_letters, k=count))


def promise(id: str = "long", **tags: str) -> tuple[str, dict[str, Any]]:
    return "promise.create", {"id": id, "timeoutAt": FAR, "tags": {f"resonate:{name}": text for name, text in tags.items()}}


def job(**members: str) -> tuple[str, dict[str, Any]]:
    return "job.enqueue", {"type": "t", **members}


def schedule(id: str, promise_id: str, **members: Any) -> tuple[str, dict[str, Any]]:
    return "schedule.create", {"id": id, "cron": "* * * * *", "promiseId": promise_id, "promiseTimeout": 1000, **members}


BRANCH = {"promiseTags": {"resonate:branch": letters(2800)}}
TOO_LONG = {
    "id": promise(letters(2800)),
    "id_9000": promise(letters(9000)),
    "branch": promise(branch=letters(2800)),
    "id_and_branch": promise(letters(2000), branch=letters(2000)),
    "target": promise(target="poll://any@" + letters(2800)),
    "invoke": promise(invoke="poll://any@" + letters(9000)),
    "job_id": job(id=letters(2800)),
    "queue": job(queue=letters(2800)),
    "group": job(group=letters(2800)),
    "unique_key": job(uniqueKey=letters(9000)),
    "queue_and_unique_key": job(queue=letters(2000), uniqueKey=letters(2000)),
    "queue_and_group": job(queue=letters(2000), group=letters(2000)),
    "job_branch": ("job.enqueue", {"type": "t", "tags": {"resonate:branch": letters(2800)}}),
    "many": ("job.enqueue_many", {"jobs": [{"type": "t"}, {"type": "t", "group": letters(2800)}]}),
    "schedule": schedule(letters(2800), "s.{{.timestamp}}"),
    "occurrence": schedule(letters(900), "{{.id}}{{.id}}{{.id}}.{{.timestamp}}"),
    "occurrence_branch": schedule("s", "s.{{.timestamp}}", **BRANCH),
    "queue_set": ("queue.set", {"queue": letters(2800), "concurrency": 1}),
    "worker": ("job.claim", {"queues": [{"name": "default"}], "worker": letters(2800), "lease": 1000}),
    "claimed_queue": ("job.claim", {"queues": [{"name": letters(2800)}], "worker": "w", "lease": 1000}),
    "awaited_and_awaiter": (
        "promise.register_callback",
        {"awaited": letters(1500), "awaiter": letters(1501)},
    ),
    "address": ("promise.register_listener", {"awaited": "here", "address": "poll://any@" + letters(2800)}),
}
FITTING = {
    "id": promise(letters(2048)),
    "branch": promise("b", branch=letters(2500)),
    "target": promise("t", target="poll://any@" + letters(2500)),
    "job": job(id=letters(860), queue=letters(861), uniqueKey=letters(862), group=letters(863)),
    "worker": ("job.claim", {"queues": [{"name": "default"}], "worker": letters(512), "lease": 1000}),
    "long_id": job(id=letters(2047)),
    "worker_of_long_id": ("job.claim", {"queues": [{"name": "default"}], "worker": letters(511), "lease": 1000, "count": 9}),
    "schedule": schedule(letters(500), "{{.id}}{{.id}}.{{.timestamp}}"),
}


def envelope(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    require(POSTGRES)
    server = postgres_server.shared()
    server.create_database(DATABASE)
    yield server.url(DATABASE)
    server.drop_database(DATABASE)


@pytest.fixture
def store(url: str) -> Iterator[rc.Store]:
    with rc.Store(url) as store:
        store.promises.create("here", timeout=10**9)
        store._limit_submissions(UNLIMITED, 2**21)  # as an operator may do
        yield store


@pytest.mark.parametrize("name", TOO_LONG)
def test_it_is_a_refusal(store: rc.Store, name: str) -> None:
    answer = store.apply(envelope(*TOO_LONG[name]))
    assert answer["head"]["status"] == 400
    assert " must have at most " in answer["data"] and "PostgreSQL" in answer["data"] and len(answer["data"]) < 300


@pytest.mark.parametrize("name", TOO_LONG)
def test_submitted_requests_behind_it_run(store: rc.Store, url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as program:
        program.execute("DELETE FROM resonate.inbox")
        for kind, data in (TOO_LONG[name], promise(f"behind.{name}")):
            program.execute("SELECT resonate.submit(%s::text::jsonb)", (json.dumps(envelope(kind, data)),))
        store.promises.create(f"beside.{name}", timeout=10**9)
        store.tick()
        assert store.promises.get(f"behind.{name}").state == "pending"
        assert program.execute("SELECT status, error LIKE '%%PostgreSQL%%' FROM resonate.inbox").fetchall() == [(400, True)]


def test_what_fits_is_stored(store: rc.Store) -> None:
    for name, request in FITTING.items():
        answer = store.apply(envelope(*request))
        assert answer["head"]["status"] in (200, 201), (name, answer["data"])
    store.tick()


def test_callers_of_one_commit_are_not_failed_by_it(store: rc.Store) -> None:
    problems: list[str] = []

    def create(name: str) -> None:
        for number in range(20):
            try:
                store.promises.create(f"{name}.{number}", timeout=10**9)
            except rc.ResonateError as error:
                problems.append(str(error))

    def hinder() -> None:
        for _ in range(60):
            with pytest.raises(rc.Invalid, match="tag resonate:branch must have at most"):
                store.promises.create("x", timeout=10**9, tags={"resonate:branch": letters(2800)})

    threads = [threading.Thread(target=create, args=(name,)) for name in "abcd"] + [threading.Thread(target=hinder)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_other_stores_take_it() -> None:
    with rc.Store() as store:
        assert store.apply(envelope(*TOO_LONG["branch"]))["head"]["status"] == 200
