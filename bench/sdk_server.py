"""The same envelopes to this store and to the SDK's own in-process server (`resonate.connections.local`).

Live promises are what a store of running workflows holds: pending, with a target, so each has a task and its timers. "create" and "get"
are of promises without a target; "create + settle" and "task cycle" of promises with one. Both sides get and give dictionaries; the task
cycle is also measured through the typed calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from resonate.connections.local import ServerState, unwrap_request_envelope, wrap_response_envelope

import resonate_core as rc

from .python_calls import FAR, envelope
from .stopwatch import Body, rates

Apply = Callable[[dict[str, Any]], Any]
NOW = 1_000
TARGET = {"resonate:target": "poll://any@workers"}


def ours() -> Apply:
    return rc.Store(clock=rc.ManualClock(NOW)).apply


def theirs() -> Apply:
    state = ServerState()

    def apply(request: dict[str, Any]) -> Any:
        return wrap_response_envelope(state.apply(NOW, unwrap_request_envelope(request)))

    return apply


def create(name: str, tags: dict[str, str]) -> dict[str, Any]:
    return envelope("promise.create", {"id": name, "timeoutAt": FAR, "param": {"data": "eyJza3UiOiJ0ZWEifQ=="}, "tags": tags})


def settle(name: str) -> dict[str, Any]:
    return envelope("promise.settle", {"id": name, "state": "resolved", "value": {"data": "Im9rIg=="}})


def filled(new_server: Callable[[], Apply], live: int) -> Apply:
    apply = new_server()
    for i in range(live):
        apply(create(f"live-{i}", TARGET))
    return apply


def run(apply: Apply, requests: list[dict[str, Any]], operations: int) -> Body:
    def body() -> int:
        for request in requests:
            apply(request)
        return operations

    return body


def creates(apply: Apply, count: int) -> Body:
    return run(apply, [create(f"new-{i}", {}) for i in range(count)], count)


def gets(apply: Apply, count: int) -> Body:
    return run(apply, [envelope("promise.get", {"id": f"live-{i % 1000}"}) for i in range(count)], count)


def create_settles(apply: Apply, count: int, tags: dict[str, str] = TARGET) -> Body:
    requests = [request for i in range(count) for request in (create(f"new-{i}", tags), settle(f"new-{i}"))]
    return run(apply, requests, count)


def plain_create_settles(apply: Apply, count: int) -> Body:
    return create_settles(apply, count, {})


def task_cycles(apply: Apply, count: int) -> Body:
    """Create, acquire, fulfill. The SDK's server does not raise the version on acquire, so each store gets the version that it expects."""
    fulfilled_version = 1 if getattr(apply, "__self__", None).__class__ is rc.Store else 0
    requests = []
    for i in range(count):
        name = f"task-{i}"
        action = {"kind": "promise.settle", "head": {}, "data": {"id": name, "state": "resolved", "value": {"data": "Im9rIg=="}}}
        requests += [
            create(name, TARGET),
            envelope("task.acquire", {"id": name, "version": 0, "pid": "worker", "ttl": 60_000}),
            envelope("task.fulfill", {"id": name, "version": fulfilled_version, "action": action}),
        ]
    statuses = [apply(request)["head"]["status"] for request in requests[:3]]
    if not all(200 <= status < 300 for status in statuses):
        raise RuntimeError(f"a task cycle is refused: {statuses}")
    return run(apply, requests[3:], count - 1)


def typed_task_cycles(live: int, count: int) -> Body:
    """The same cycle through the typed calls, which is how a Python program of one's own would do it."""
    store = rc.Store(clock=rc.ManualClock(NOW))
    for i in range(live):
        store.promises.create(f"live-{i}", FAR, tags=TARGET)
    names = [f"task-{i}" for i in range(count)]

    def body() -> int:
        new, acquire, fulfill = store.promises.create, store.tasks.acquire, store.tasks.fulfill
        for name in names:
            new(name, FAR, param=b'{"sku":"tea"}', tags=TARGET)
            acquire(name, 0, pid="worker", ttl=60_000)
            fulfill(name, 1, b'"ok"')
        return count

    return body


# operation -> (what is run, how many on our side, how many on theirs at 1k and 10k: theirs get slow)
OPERATIONS: dict[str, tuple[Callable[[Apply, int], Body], int, dict[int, int]]] = {
    "create": (creates, 20_000, {1_000: 5_000, 10_000: 2_000}),
    "get": (gets, 20_000, {1_000: 20_000, 10_000: 20_000}),
    "create + settle": (create_settles, 10_000, {1_000: 300, 10_000: 40}),
    "create + settle without target": (plain_create_settles, 10_000, {1_000: 500, 10_000: 60}),
    "task cycle": (task_cycles, 5_000, {1_000: 300, 10_000: 30}),
}


def measure(rounds: int) -> dict[str, float]:
    """Operations per second of both, at 1k and 10k live promises."""
    found: dict[str, float] = {}
    for live in (1_000, 10_000):
        for name, (make, count, their_count) in OPERATIONS.items():
            found.update(
                rates(
                    {
                        f"{name} at {live // 1000}k live": lambda make=make, count=count, live=live: make(
                            filled(ours, live), count
                        ),
                        f"SDK server {name} at {live // 1000}k live": lambda make=make, count=their_count[live], live=live: make(
                            filled(theirs, live), count
                        ),
                    },
                    rounds,
                )
            )
        typed = f"typed task cycle at {live // 1000}k live"
        found.update(rates({typed: lambda live=live: typed_task_cycles(live, 5_000)}, rounds))
    return found
