"""Stores with random contents: every kind of record in every state that typed calls reach."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import resonate_core as rc

TARGET = "poll://any@workers"
IDS = ["a", "b", "c:1", "ünïcode", "d d"]
POLICIES: list[dict[str, Any]] = [
    {"kind": "asynq"},
    {"kind": "fixed", "intervals": [1000, 5000]},
    {"kind": "exponential", "base": 10, "factor": 3, "cap": 100, "jitter": 0.25, "codes": ["E", "F"]},
]


def random_calls(pick: random.Random, clock: rc.ManualClock, store: rc.Store) -> list[Callable[[], Any]]:
    """Makes calls with random arguments; many are refused."""
    name, other = pick.choice(IDS), pick.choice(IDS)
    version = pick.randrange(4)
    value = pick.choice([None, 1, "text", b"\x00\xff", {"k": [1.5, None]}, rc.Value({}, ""), rc.Value({"h": "é"})])
    tags = pick.choice(
        [{}, {"k": "v", "": "ü"}, {"resonate:target": TARGET}, {"resonate:timer": "true"}, {"resonate:external": "true"}]
    )
    promises, tasks, jobs, schedules = store.promises, store.tasks, store.jobs, store.schedules
    optional: dict[str, Any] = {
        "priority": pick.randrange(1, 101),
        "retention": pick.choice([0, 5000, "kept"]),
        "max_retries": pick.randrange(3),
        "retry_policy": pick.choice(POLICIES),
        "on_exhausted": pick.choice(["archived", "failed"]),
        "good_for": 40_000,
        "timeout": 2000,
        "deadline": clock.now + pick.choice([1, 60_000]),
        "unique_key": "only",
        "group": "g",
        "tags": {"x": "y"},
        "process_in": 2000,
        "lifecycle": "asynq",
        "cancel_with_awaiters": pick.choice([True, False]),
    }
    members = {key: optional[key] for key in pick.sample(sorted(optional), pick.randrange(5))}
    held = [task for task in tasks.search(state="acquired") if not task.id.startswith("job:")]
    pending = [promise.id for promise in promises.search(state="pending")]
    aimed = [lambda: tasks.suspend(held[0].id, held[0].version, [pick.choice(pending)])] * 5 if held and pending else []
    return [
        *aimed,
        lambda: promises.create(
            name, timeout=pick.randrange(100_000), param=value, tags=tags, idempotency_key=pick.choice([None, "k"])
        ),
        lambda: promises.create(name, timeout=90_000, tags={"resonate:target": TARGET}),
        lambda: promises.resolve(name, value),
        lambda: promises.reject(name, 1, headers={"e": "1"}),
        lambda: promises.cancel(name),
        lambda: promises.register_listener(name, "mail://someone"),
        lambda: tasks.create(name, pid="w", ttl=5000, timeout=50_000, target=TARGET),
        lambda: tasks.acquire(name, version, pid="w2", ttl=7000),
        lambda: tasks.suspend(name, version, [other]),
        lambda: tasks.halt(name),
        lambda: tasks.resume(name),
        lambda: tasks.fulfill(name, version, value),
        lambda: schedules.create(name, pick.choice(["@hourly", "*/5 * * * *"]), promise_timeout=5, param=value, tags=tags),
        lambda: schedules.create(name, "0 0 1 1 *", promise_timeout=5, job={"type": "t", "goodFor": 5000, "retention": None}),
        lambda: jobs.enqueue("t", value, id=f"job:{name}", queue=pick.choice(["default", "q"]), **members),
        lambda: jobs.enqueue("t", value, id=f"job:{name}"),
        lambda: jobs.claim({"default": 2, "q": 1}, 2, worker="w", lease=5000, start=pick.randrange(3)),
        lambda: jobs.start(f"job:{name}", version),
        lambda: jobs.complete(f"job:{name}", version, value),
        lambda: jobs.fail(f"job:{name}", version, "E", "why", pick.choice([None, "data"])),
        lambda: jobs.snooze(f"job:{name}", version, 1000),
        lambda: jobs.cancel(f"job:{name}"),
        lambda: jobs.archive(f"job:{name}"),
        lambda: jobs.run(f"job:{name}"),
        lambda: clock.advance(pick.choice([1, 3000, 20_000, 4_000_000])),
    ]


def all_records(store: rc.Store) -> Iterator[Any]:
    """Returns every promise, task, job, schedule, message and value of a store."""
    for promise in store.promises.search(limit=1000):
        yield promise
        yield promise.param
        yield promise.value
    yield from store.tasks.search(limit=1000)
    yield from store.jobs.search(limit=1000)
    yield from store.schedules.search(limit=1000)
    yield from store.messages()


def random_records(seed: int, calls: int = 80) -> Iterator[Any]:
    """Returns the records that random calls return, and those that they leave in the store."""
    pick = random.Random(seed)
    clock = rc.ManualClock()
    with rc.Store(clock=clock) as store:
        store.queues.set("q", lifecycle="asynq", rate={"limit": 1, "per": 1000}, groups={"size": 2, "grace": 1000})
        for _ in range(calls):
            try:
                found = pick.choice(random_calls(pick, clock, store))()
            except rc.errors.ResonateError:
                continue
            yield from found if isinstance(found, list) else [found]
        messages = store.messages()
        if messages:
            store.lease_messages([messages[0].number], holder="process-1", lease=1000)
        yield from all_records(store)
        for dialect_old in (old_message(clock),):
            yield from dialect_old


def old_message(clock: rc.ManualClock) -> list[rc.Message]:
    """Returns the messages of a client of 2025-01-15."""
    store = rc.Store(clock=rc.ManualClock(clock.now))
    head = {"corrId": "1", "version": "2025-01-15"}
    for kind, data in [
        ("promise.create", {"id": "o", "timeoutAt": clock.now + 9000, "param": {}, "tags": {"resonate:invoke": TARGET}}),
        ("promise.subscribe", {"awaited": "o", "address": "mail://old"}),
    ]:
        assert store.apply({"kind": kind, "head": head, "data": data})["head"]["status"] == 200
    invoked = store.messages()
    store.promises.resolve("o", 1)
    return invoked + store.messages()
