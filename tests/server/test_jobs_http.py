"""Jobs over HTTP: the limits of one request, the metrics, and many workers on one queue."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import LimitSettings
from resonate_core.server.metrics import KINDS
from server.app_calls import call
from server.asking import ask, envelope, refused
from server.http_store import app_of

JOB = {"id": "j", "version": 1}
ENQUEUE = {"id": "new", "type": "t"}
SCHEDULE = {"id": "s", "cron": "@hourly", "promiseId": "{{.id}}", "promiseTimeout": 5}
CLAIM = {"queues": ["q"], "worker": "w", "lease": 5}

# fmt: off
LISTS: list[tuple[str, Any]] = [
    ("job.enqueue_many", lambda n: {"jobs": [{"id": f"n{i}", "type": "t"} for i in range(n)]}),
    ("job.complete_many", lambda n: {"jobs": [{"id": f"n{i}", "version": 1} for i in range(n)]}),
    ("job.start_many", lambda n: {"jobs": [{"id": f"n{i}", "version": 1} for i in range(n)]}),
    ("job.heartbeat", lambda n: {"worker": "w", "jobs": [JOB] * n}),
    ("job.claim", lambda n: {**CLAIM, "queues": [f"q{i}" for i in range(n)]}),
    ("job.enqueue", lambda n: {**ENQUEUE, "retryPolicy": {"kind": "asynq", "codes": ["C"] * n}}),
    ("schedule.create", lambda n: {**SCHEDULE, "job": {"type": "t", "retryPolicy": {"kind": "asynq", "codes": ["C"] * n}}}),
]
TEXTS: list[tuple[str, Any]] = [
    ("job.enqueue", lambda text: {**ENQUEUE, "id": text}),
    ("job.enqueue", lambda text: {**ENQUEUE, "type": text}),
    ("job.enqueue", lambda text: {**ENQUEUE, "queue": text}),
    ("job.enqueue", lambda text: {**ENQUEUE, "uniqueKey": text}),
    ("job.enqueue", lambda text: {**ENQUEUE, "group": text}),
    ("job.enqueue", lambda text: {**ENQUEUE, "tags": {text: "v"}}),
    ("job.enqueue_many", lambda text: {"jobs": [ENQUEUE, {**ENQUEUE, "id": text}]}),
    ("job.get", lambda text: {"id": text}),
    ("job.claim", lambda text: {**CLAIM, "worker": text}),
    ("job.claim", lambda text: {**CLAIM, "queues": [text]}),
    ("job.claim", lambda text: {**CLAIM, "queues": [{"name": text, "weight": 2}]}),
    ("job.start", lambda text: {**JOB, "id": text}),
    ("job.start_many", lambda text: {"jobs": [JOB, {**JOB, "id": text}]}),
    ("job.complete", lambda text: {**JOB, "id": text}),
    ("job.complete_many", lambda text: {"jobs": [{**JOB, "id": text}]}),
    ("job.fail", lambda text: {**JOB, "id": text, "error": {"code": "E"}}),
    ("job.release", lambda text: {**JOB, "id": text}),
    ("job.snooze", lambda text: {**JOB, "id": text, "delay": 1}),
    ("job.report", lambda text: {**JOB, "id": text, "progress": 1}),
    ("job.suspend", lambda text: {**JOB, "awaits": ["p", text]}),
    ("job.enqueue", lambda text: {**ENQUEUE, "after": ["p", text]}),
    ("job.enqueue", lambda text: {**ENQUEUE, "parent": {**JOB, "id": text}}),
    ("job.record", lambda text: {**JOB, "id": text, "steps": []}),
    ("job.receive", lambda text: {**JOB, "step": f"{JOB['id']}:r", "topic": text}),
    ("job.send", lambda text: {"id": text, "topic": "t"}),
    ("job.send", lambda text: {"id": JOB["id"], "topic": text}),
    ("job.send", lambda text: {"id": JOB["id"], "topic": "t", "key": text}),
    ("job.history", lambda text: {"id": text}),
    ("job.start_over", lambda text: {**JOB, "id": text}),
    *(("job.fork", lambda text, name=name: {"id": "a", "from": "b", "newId": "c", name: text}) for name in ("id", "from", "newId")),
    ("job.heartbeat", lambda text: {"worker": text, "jobs": []}),
    ("job.heartbeat", lambda text: {"worker": "w", "jobs": [{**JOB, "id": text}]}),
    ("job.cancel", lambda text: {"id": text}),
    ("job.cancel", lambda text: {"queue": text}),
    ("job.run", lambda text: {"id": text}),
    ("job.archive", lambda text: {"id": text}),
    ("job.delete", lambda text: {"id": text}),
    ("job.search", lambda text: {"queue": text}),
    ("job.search", lambda text: {"uniqueKey": text}),
    ("job.search", lambda text: {"group": text}),
    ("job.cancel", lambda text: {"group": text}),
    *(("schedule.create", lambda text, name=name: {**SCHEDULE, "job": {"type": "t", name: text}}) for name in (
        "type", "queue", "uniqueKey", "group")),
    ("job.stats", lambda text: {"queue": text}),
    ("queue.set", lambda text: {"queue": text}),
    ("queue.get", lambda text: {"queue": text}),
    ("queue.pause", lambda text: {"queue": text}),
    ("queue.resume", lambda text: {"queue": text}),
]
# fmt: on


@pytest.mark.parametrize(("kind", "make"), LISTS, ids=[kind for kind, _ in LISTS])
def test_lists(kind: str, make: Any) -> None:
    with Store(clock=ManualClock(1000)) as store:
        before = store.snapshot()
        bodies = ({"body": json.dumps(envelope(kind, make(count))).encode()} for count in (4, 3))
        too_long, fits = ask(*bodies, store=store, limits=LimitSettings(list_length=3))
        assert "3" in refused(too_long, 400, kind)
        assert fits.status == 200, fits
        assert before["promises"] == []


@pytest.mark.parametrize("what", ["tags", "headers"])
def test_tags_and_headers(what: str) -> None:
    for count, too_many in ((3, False), (4, True)):
        names = {f"n{i}": "v" for i in range(count)}
        data = {**ENQUEUE, **({"tags": names} if what == "tags" else {"payload": {"headers": names}})}
        for kind, sent in (("job.enqueue", data), ("job.enqueue_many", {"jobs": [data]})):
            with Store(clock=ManualClock(1000)) as store:
                (answer,) = ask({"body": json.dumps(envelope(kind, sent)).encode()}, store=store, limits=LimitSettings(tags=3))
                assert answer.status == (400 if too_many else 200)
                assert len(store.snapshot()["promises"]) == (0 if too_many else 1)


@pytest.mark.parametrize(("kind", "make"), TEXTS)
def test_ids_and_names_are_measured_in_bytes(kind: str, make: Any) -> None:
    with Store(clock=ManualClock(1000)) as store:
        fitting, refusal = ask(
            *({"body": json.dumps(envelope(kind, make("é" * 19 + text))).encode()} for text in ("cd", "cde")),
            store=store,
            limits=LimitSettings(id_bytes=40),
        )
    assert fitting.status != 400, fitting
    assert "40" in refused(refusal, 400, kind)


def test_every_kind_is_counted_under_its_name() -> None:
    jobs = "enqueue enqueue_many get claim start start_many heartbeat complete complete_many fail release snooze report suspend record receive send history start_over fork cancel run archive delete search stats"
    queues = "set get pause resume list"
    assert {f"job.{verb}" for verb in jobs.split()} | {f"queue.{verb}" for verb in queues.split()} <= KINDS


@pytest.mark.parametrize("count", [1, 7])
def test_many_workers_at_one_queue(count: int) -> None:
    """Their claims arrive together and share transactions: each job is claimed by one worker, and ends once."""
    total = 300

    async def ask_one(app: Any, kind: str, data: Any) -> Any:
        answer = await call(app, body=json.dumps(envelope(kind, data)).encode())
        assert answer.status == 200, answer
        return answer.json()["data"]

    async def work(app: Any, name: str, done: list[str]) -> None:
        while True:
            jobs = (await ask_one(app, "job.claim", {"queues": ["q"], "count": count, "worker": name, "lease": 10_000}))["jobs"]
            if not jobs:
                return
            for job in jobs:
                assert job["claimedBy"] == name
            held = [{"id": job["id"], "version": job["version"]} for job in jobs]
            await asyncio.gather(*(ask_one(app, "job.start", one) for one in held))
            ended = await ask_one(app, "job.complete_many", {"jobs": held})
            assert {one["status"] for one in ended["jobs"]} == {200}
            done += [job["id"] for job in jobs]

    async def main(store: Store) -> list[str]:
        app = app_of(store)
        done: list[str] = []
        async with app.lifespan():
            jobs = [{"id": f"{n:03}", "queue": "q", "type": "t"} for n in range(total)]
            await ask_one(app, "job.enqueue_many", {"jobs": jobs})
            await asyncio.gather(*(work(app, f"w{n}", done) for n in range(16)))
        return done

    with Store(clock=ManualClock(1000), check=True) as store:
        done = asyncio.run(main(store))
        assert sorted(done) == [f"{n:03}" for n in range(total)]
        (stats,) = store.apply(envelope("job.stats", {"queue": "q"}))["data"]["queues"]
        assert stats["counts"]["completed"] == total and stats["active"] == 0
