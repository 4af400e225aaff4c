"""For whatever a server answers, a client returns a result of the right type or raises an error that is documented; commands end with a status.

The judges are the errors, a limit of memory of the process, and the guard against hanging of pytest. `RESONATE_FUZZ_EXAMPLES` multiplies
the number of examples, and `RESONATE_FUZZ_SEED` chooses others.
"""

from __future__ import annotations

import asyncio
import json
import os
import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import resonate_core as rc
from command_line import run_command
from enemy_server import Asked, enemy, http
from fuzz.replies import body_of, changed
from property import profiles
from resonate_core.cli.exits import Exit

#: Examples of each call and command.
EXAMPLES = profiles.of_full(12) * int(os.environ.get("RESONATE_FUZZ_EXAMPLES", "1"))
SEED = os.environ.get("RESONATE_FUZZ_SEED", "1")
#: Of Python objects, while one example runs.
MOST_MEMORY = 100_000_000
FAR = 2**52
STATUSES = ["200 OK"] * 12 + [
    "300 Multiple",
    "302 Found",
    "404 Not Found",
    "409 Conflict",
    "413 Too Large",
    "500 Error",
    "503 Busy",
    "204 No Content",
]

CALLS: dict[str, Callable[[Any], Any]] = {
    "promise.get": lambda c: c.promises.get("x"),
    "promise.create": lambda c: c.promises.create("n", FAR),
    "promise.settle": lambda c: c.promises.resolve("x", 1),
    "promise.search": lambda c: c.promises.search(),
    "task.get": lambda c: c.tasks.get("t"),
    "task.acquire": lambda c: c.tasks.acquire("t", 0, pid="p", ttl=1000),
    "task.fence": lambda c: c.tasks.fence_create("held", 1, "y", FAR),
    "task.suspend": lambda c: c.tasks.suspend("held", 1, ["x"]),
    "task.search": lambda c: c.tasks.search(),
    "schedule.get": lambda c: c.schedules.get("s"),
    "schedule.search": lambda c: c.schedules.search(),
    "job.get": lambda c: c.jobs.get("r"),
    "job.enqueue": lambda c: c.jobs.enqueue("t", 1),
    "job.enqueue_many": lambda c: c.jobs.enqueue_many("t", [1, 2]),
    "job.claim": lambda c: c.jobs.claim("q", 2, worker="w", lease=1000, start=1),
    "job.start_many": lambda c: c.jobs.start_many([("r", 1), ("j", 1)]),
    "job.complete_many": lambda c: c.jobs.complete_many([("r", 1, 1), ("j", 1, 1)]),
    "job.heartbeat": lambda c: c.jobs.heartbeat("w", [("r", 1)]),
    "job.search": lambda c: c.jobs.search(),
    "job.cancel": lambda c: c.jobs.cancel_all(type="t"),
    "queue.get": lambda c: c.queues.get("q"),
    "queue.list": lambda c: c.queues.list(),
    "job.stats": lambda c: c.queues.stats(),
    "wait": lambda c: c.wait("x", timeout=0),
}
COMMANDS = [
    *(["promises", *more] for more in (["get", "x"], ["search"], ["search", "--all"], ["create", "n"], ["wait", "x", "--limit", "1ms"])),
    *(["tasks", *more] for more in (["get", "t"], ["search", "--all"], ["acquire", "t", "--pid", "p", "--task-version", "0"])),
    *(["schedules", *more] for more in (["get", "s"], ["search", "--all"])),
    *(["jobs", *more] for more in (["show", "r"], ["list"], ["list", "--newest"], ["stats"], ["tail", "--once"], ["run", "j", "r"])),
    ["jobs", "cancel", "--all", "--type", "t", "--yes"],
    *(["queues", *more] for more in (["list"], ["show", "q"], ["set", "q", "--group-size", "3"])),
    ["tree", "x"], ["workers"], ["messages"], ["dash", "--once"], ["why", "x"], ["bench", "--cycles", "1", "--connections", "1"],
]  # fmt: skip


WHY = {"kind": "promise", "sentence": "s", "chain": [], "advice": [], "next": None, "now": 5}


def _store() -> rc.Store:
    store = rc.Store(clock=rc.ManualClock(1000))
    store.promises.create("x", FAR, tags={"a": "b"}, param=1)
    store.promises.create("x.1", FAR, tags={"resonate:target": "poll://any@a"})
    store.promises.create("t", FAR, tags={"resonate:target": "poll://any@a"})
    store.tasks.create("held", FAR, pid="p", ttl=60_000, target="poll://any@a")
    store.schedules.create("s", "* * * * *", promise_timeout=1000, job={"type": "t", "queue": "q"})
    store.queues.set(
        "q", weight=2, rate={"limit": 5, "per": 1000}, groups={"size": 3, "grace": 5}, defaults={"timeout": 1000, "priority": 3}
    )
    for id in ("r", "j"):
        store.jobs.enqueue("t", {"a": 1}, id=id, queue="q")
    (held,) = store.jobs.claim("q", 1, worker="w", lease=60_000, start=1)
    store.jobs.report(held.id, held.version, progress=0.5, lines=["one"])
    store.jobs.fail(held.id, held.version, "E", "message", "data")
    store.jobs.claim("q", 1, worker="w", lease=60_000, start=1)
    return store


class _Enemy:
    """Answers by a store, and changes each reply by a random generator."""

    def __init__(self) -> None:
        self.random = Random(0)
        self.left = 0
        self.store = _store()

    def begin(self, seed: str) -> None:
        """Begin an example."""
        self.random, self.left, self.store = Random(seed), 40, _store()

    def __call__(self, asked: Asked) -> bytes:
        self.left -= 1
        if self.left < 0:  # of a command that asks again and again, such as a wait
            return http(b"", status="500 Error")
        reply = WHY if asked.method == "GET" else self.store.apply(asked.envelope)
        body, headers = body_of(self.random, changed(self.random, reply))
        return http(body, *headers, "content-security-policy: x", status=self.random.choice(STATUSES))


def _seeds(name: str) -> list[str]:
    return [f"{SEED} {name} {number}" for number in range(EXAMPLES)]


def _judge_memory() -> None:
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    assert most < MOST_MEMORY


def test_calls_of_threads() -> None:
    server_of = _Enemy()
    tracemalloc.start()
    try:
        with enemy(server_of) as server, rc.connect(server.url, retry_for=0, timeout=20, answer_bytes=1_000_000) as client:
            for name, call in CALLS.items():
                for seed in _seeds(name):
                    server_of.begin(seed)
                    said = ""
                    try:
                        call(client)
                    except (rc.ResonateError, TimeoutError) as error:
                        said = str(error)
                    except Exception as error:
                        raise AssertionError(f"seed {seed!r}") from error
                    assert said.isprintable(), seed
                    _judge_memory()
    finally:
        tracemalloc.stop()


def test_calls_of_tasks() -> None:
    server_of = _Enemy()

    async def main(url: str) -> None:
        async with rc.connect(url, retry_for=0, timeout=20, answer_bytes=1_000_000).aio as client:
            for name, call in CALLS.items():
                for seed in _seeds(f"async {name}"):
                    server_of.begin(seed)
                    found = await asyncio.gather(call(client), call(client), return_exceptions=True)
                    for error in found:
                        if isinstance(error, BaseException) and not isinstance(error, (rc.ResonateError, TimeoutError)):
                            raise AssertionError(f"seed {seed!r}") from error
                    _judge_memory()

    tracemalloc.start()
    try:
        with enemy(server_of) as server:
            asyncio.run(main(server.url))
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_commands(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    server_of = _Enemy()
    with enemy(server_of) as server:
        for number, seed in enumerate(_seeds(" ".join(arguments))):
            server_of.begin(seed)
            more = ["--json"] if number % 2 else []
            try:
                ran = run_command(capsys, *arguments, *more, "--url", server.url)
            except Exception as error:
                raise AssertionError(f"seed {seed!r}") from error
            assert ran.code in {int(one) for one in Exit}, seed
            if ran.code == 0 and more:
                for line in ran.out.splitlines():
                    json.loads(line, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))
            if ran.code == Exit.UNREACHABLE:
                assert ran.err.strip().count("\n") <= 1, seed
