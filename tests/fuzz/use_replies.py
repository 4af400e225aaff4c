"""Uses a server of an enemy: each call of both clients, and each command, with replies that a random generator changed.

A process of its own, with a limit of memory, so that its end is judged, too: `python -m fuzz.use_replies TARGET SEED RUNS SECONDS ROOM`.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NoReturn

import resonate_core as rc
from enemy_server import Asked, enemy, http
from fuzz.bounded import runs
from fuzz.replies import body_of, changed
from resonate_core.cli import main as command_line
from resonate_core.cli.exits import Exit

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
    ["tree", "x"], ["jobs", "graph", "x"], ["jobs", "graph", "x", "--mermaid"], ["workers"], ["messages"], ["dash", "--once"], ["why", "x"], ["bench", "--cycles", "1", "--connections", "1"],
]  # fmt: skip
#: What a dashboard answers: to `why`, and to `jobs graph`.
WHY = {"kind": "promise", "sentence": "s", "chain": [], "advice": [], "next": None, "now": 5}
GRAPH = {
    "root": "x",
    "nodes": [
        {"id": "x", "kind": "job", "state": "waiting", "type": "t", "queue": "q", "lacks": 1, "after": 1},
        {"id": "y", "kind": "promise", "state": "pending"},
    ],
    "edges": [{"awaiter": "x", "awaited": "y", "by": "after", "open": True}],
    "complete": False,
}


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
        reply = (GRAPH if "graph" in asked.path else WHY) if asked.method == "GET" else self.store.apply(asked.envelope)
        body, headers = body_of(self.random, changed(self.random, reply))
        return http(body, *headers, "content-security-policy: x", status=self.random.choice(STATUSES))


@contextlib.contextmanager
def _reproducible(seed: str) -> Iterator[None]:
    """An error of a run names its seed."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"seed {seed!r}") from error


def _threads(seed: int) -> None:
    server_of = _Enemy()
    with enemy(server_of) as server, rc.connect(server.url, retry_for=0, timeout=20, answer_bytes=1_000_000) as client:
        for name, call in CALLS.items():
            server_of.begin(f"{seed} {name}")
            said = ""
            with _reproducible(f"{seed} {name}"):
                try:
                    call(client)
                except (rc.ResonateError, TimeoutError) as error:
                    said = str(error)
                assert said.isprintable(), said


def _tasks(seed: int) -> None:
    server_of = _Enemy()

    async def calls(url: str) -> None:
        async with rc.connect(url, retry_for=0, timeout=20, answer_bytes=1_000_000).aio as client:
            for name, call in CALLS.items():
                server_of.begin(f"{seed} {name}")
                for error in await asyncio.gather(call(client), call(client), return_exceptions=True):
                    if isinstance(error, BaseException) and not isinstance(error, (rc.ResonateError, TimeoutError)):
                        raise AssertionError(f"seed {seed} {name}") from error

    with enemy(server_of) as server:
        asyncio.run(calls(server.url))


def _no_json(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")


def _commands(seed: int) -> None:
    server_of = _Enemy()
    with enemy(server_of) as server:
        for number, arguments in enumerate(COMMANDS):
            name = f"{seed} {' '.join(arguments)}"
            server_of.begin(name)
            more = ["--json"] if (seed + number) % 2 else []
            with _reproducible(name):
                with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
                    code = command_line([*arguments, *more, "--url", server.url])
                assert code in {int(one) for one in Exit}, code
                assert "Traceback" not in err.getvalue(), err.getvalue()
                if code == 0 and more:
                    for line in out.getvalue().splitlines():
                        json.loads(line, parse_constant=_no_json)
                if code == Exit.UNREACHABLE:
                    assert err.getvalue().strip().count("\n") <= 1, err.getvalue()


#: The uses: a run has each call or command once.
TARGETS: dict[str, Callable[[int], None]] = {"threads": _threads, "tasks": _tasks, "commands": _commands}


def main(target: str, seed: int, least: int, duration: float, room: int) -> None:
    """Use the calls of a target, within limits: see `fuzz.bounded.runs`."""
    for number in runs(target, seed, least, duration, room):
        TARGETS[target](seed + number)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
