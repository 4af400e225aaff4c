"""The rules of time on a server: deadlines, leases and schedules, each waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ..findings import NotJudged
from ..player import Scene, SceneClient
from ..requests import ADDRESS, V26
from ..rules import CALLBACKS, LEASES, TIMEOUT

__all__ = ["SCHEDULES", "scenes"]

SCHEDULES = "PROTOCOL 4 schedule"
_SECONDS = 2500
"""How long a schedule of each second is watched, in ms."""


def scenes(dialect: str, soon: int) -> Iterator[Scene]:
    """The scenes of one dialect.

    Args:
        dialect: The dialect of the requests.
        soon: How long after its begin the deadlines of a scene are, in ms.
    """
    plays: list[tuple[str, str, Callable[[int, SceneClient], Iterator[int]], int]] = [
        (TIMEOUT, "a deadline in the past", _born_dead, 0),
        (TIMEOUT, "the deadline of a promise, and requests after it", _deadline, 2 * soon),
        (TIMEOUT, "the deadline of a timer", _timer, 2 * soon),
        (CALLBACKS, "an awaited promise whose deadline passes", _awaited_deadline, 2 * soon),
        (LEASES, "a lease that a heartbeat renews, then ends", _heartbeat, 5 * soon),
        (SCHEDULES, "a schedule of each second", _schedule, _SECONDS),
    ]
    for rule, name, play, waits in plays:
        yield Scene(rule, name, dialect, partial(play, soon), waits)


def _born_dead(_soon: int, client: SceneClient) -> Iterator[int]:
    client.create("plain", -1_000)
    client.create("timer", -1_000, tags={"resonate:timer": "true"})
    client.create("targeted", -1_000, target=ADDRESS)
    client.task_create("task", -1_000)
    for name in ("plain", "timer", "targeted", "task"):
        client.get(name)
        client.task(name)
        client.settle(name)
    yield from ()


def _deadline(soon: int, client: SceneClient) -> Iterator[int]:
    for name in ("settled", "read", "listened", "created"):
        client.create(name, soon, tags={"resonate:external": "true"}).must()
    yield soon + soon // 2
    client.settle("settled")
    client.get("read")
    client.listen("listened")
    client.create("created")
    for name in ("settled", "read", "listened", "created"):
        client.get(name)


def _timer(soon: int, client: SceneClient) -> Iterator[int]:
    client.create("timer", soon, tags={"resonate:timer": "true"}).must()
    client.get("timer")
    yield soon + soon // 2
    client.get("timer")
    client.settle("timer", "rejected")


def _awaited_deadline(soon: int, client: SceneClient) -> Iterator[int]:
    held = 1 if client.version == V26 else 0
    client.create("awaited", soon, tags={"resonate:external": "true"}).must()
    client.create("task", target=ADDRESS).must()
    client.acquire("task", 0).must()
    client.suspend("task", held, "awaited").must()
    yield soon + soon // 2
    client.twin.steps_are_due()
    client.task("task")
    client.acquire("task", 1)


def _heartbeat(soon: int, client: SceneClient) -> Iterator[int]:
    held = 1 if client.version == V26 else 0
    client.create("task", target=ADDRESS).must()
    client.acquire("task", 0, ttl=2 * soon).must()
    client.create("other", target=ADDRESS).must()
    client.acquire("other", 0, ttl=2 * soon, pid="w2").must()
    yield client.elapsed() + soon
    client.heartbeat("w1", ("task", held), ("other", held)).must()
    # Its reply does not show whether the lease still ran when it arrived.
    assert client.elapsed() < 2 * soon, "the heartbeat may have come after the end of the lease"
    yield client.elapsed() + soon + soon // 2
    client.task("task")
    client.twin.steps_are_due()
    client.task("other")
    yield client.elapsed() + 2 * soon
    client.twin.steps_are_due()
    client.task("task")
    client.acquire("task", 1)


def _schedule(_soon: int, client: SceneClient) -> Iterator[int]:
    made = client.schedule("schedule", "* * * * * *", "occurrence.{{.timestamp}}", 1_000, {"resonate:external": "true"})
    if made.status == 400:
        raise NotJudged("the server takes no cron expressions of six fields, and one of five fields fires once a minute")
    client.schedule("other", "* * * * * *", "{{.id}}.{{.timestamp}}", 1_000, {"resonate:external": "true"}).must()
    yield _SECONDS
    client.send("schedule.delete", {"id": client.id("schedule")})
    client.send("schedule.delete", {"id": client.id("other")})
    occurrences = [row["id"] for row in client.twin.model.snapshot()["promises"] if not row["id"].endswith(".begin")]
    if not occurrences:
        raise NotJudged("the model has no occurrence: the clock of the server did not move")
    for id in occurrences:
        client.send("promise.get", {"id": id})
    client.send("schedule.get", {"id": client.id("schedule")})
