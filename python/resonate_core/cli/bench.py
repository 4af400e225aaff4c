"""``resonate-core bench``: a short load on a target, and what was measured with it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain

# A stopwatch, not a clock: nothing that is stored depends on it.
from timeit import default_timer
from typing import Annotated, Any

import typer

from resonate_core.cli.command import Session
from resonate_core.cli.exits import is_done
from resonate_core.cli.show import put
from resonate_core.cli.target import FileTarget, Target, UrlTarget, refusal
from resonate_core.cli.values import encode, now

__all__ = ["bench"]

_IN_PROCESS = "on the file in this process, without HTTP"
_BY_HTTP = "the client is one Python process, and is a limit of its own, often the first: to find a server's, use wrk or oha"
_KINDS = ("promise.create", "promise.get", "promise.settle")


@dataclass(frozen=True)
class Load:
    """What each connection does: cycles of create, get and settle, one request after the other."""

    name: str
    cycles: int
    payload: str
    deadline: int

    def requests(self, connection: int, cycle: int) -> list[tuple[str, dict[str, Any]]]:
        """One cycle."""
        id = f"{self.name}.{connection}.{cycle}"
        data = {"data": self.payload}
        made = {"id": id, "timeoutAt": self.deadline, "param": data, "tags": {"bench": self.name}}
        return list(zip(_KINDS, (made, {"id": id}, {"id": id, "state": "resolved", "value": data}), strict=True))


def _run(load: Load, target: Target, connection: int) -> list[tuple[str, float]]:
    """One connection's load; kind and seconds of each request."""
    took = []
    for cycle in range(load.cycles):
        for kind, data in load.requests(connection, cycle):
            began = default_timer()
            status, answered = target.ask(kind, data)
            took.append((kind, default_timer() - began))
            if not is_done(status):
                raise refusal(status, answered)
    return took


def _at(sorted_seconds: list[float], part: float) -> float:
    """A percentile, in ms."""
    return round(sorted_seconds[min(int(len(sorted_seconds) * part), len(sorted_seconds) - 1)] * 1000, 3)


def _row(kind: str, seconds: list[float], elapsed: float) -> dict[str, Any]:
    ordered = sorted(seconds)
    row: dict[str, Any] = {"kind": kind, "requests": len(ordered)}
    return (
        row
        | {"perSecond": round(len(ordered) / elapsed)}
        | {name: _at(ordered, part) for name, part in (("p50ms", 0.5), ("p99ms", 0.99), ("maxMs", 1))}
    )


def bench(
    session: Session,
    connections: Annotated[
        int, typer.Option("--connections", "-c", metavar="NUMBER", help="number of connections", min=1, max=256)
    ] = 4,
    cycles: Annotated[int, typer.Option("--cycles", "-n", metavar="NUMBER", help="number of cycles per connection", min=1)] = 200,
    size: Annotated[int, typer.Option("--payload", metavar="BYTES", help="size of param and value, before base64", min=2)] = 64,
) -> None:
    """Measure cycles of create, get and settle: each connection sends one request after the other.

    It leaves settled promises behind, which all have the tag bench.
    """
    target = session.target
    made: list[Target] = [target]
    load = Load(f"bench-{now()}", cycles, encode("x" * (size - 2)), now() + 3_600_000)
    if isinstance(target, UrlTarget):
        made += [target.another() for _ in range(connections - 1)]
    try:
        targets = made if isinstance(target, UrlTarget) else made * connections
        elapsed, took = _measure(targets, load)
    finally:
        for one in made[1:]:
            one.close()
    rows = [_row(kind, [seconds for asked, seconds in took if asked == kind], elapsed) for kind in _KINDS]
    rows.append(_row("all", [seconds for _, seconds in took], elapsed))
    file = isinstance(target, FileTarget)
    how = f"{connections} {'threads' if file else 'connections'}, each one request at a time, {size} bytes of payload"
    measured = f"{how}; {_IN_PROCESS if file else _BY_HTTP}"
    left = f"{connections * cycles} settled promises stay: tag bench={load.name}"
    if session.out.as_json:
        session.out.json({"target": target.name, "measured": measured, "seconds": round(elapsed, 3), "left": left, "results": rows})
        return
    names = tuple(rows[0])
    session.out.table(names, [[row[name] for name in names] for row in rows])
    put(f"{target.name}: {measured}. {left}.")


def _measure(targets: list[Target], load: Load) -> tuple[float, list[tuple[str, float]]]:
    """Run all connections at once; return the seconds from the first request to the last reply, and those of each request."""
    status, data = targets[0].ask("promise.get", {"id": load.name})  # connects, and fails if the token does not permit it
    if status not in (200, 404):
        raise refusal(status, data)
    with ThreadPoolExecutor(len(targets)) as pool:
        began = default_timer()
        took = list(chain.from_iterable(pool.map(partial(_run, load), targets, range(len(targets)))))
        return default_timer() - began, took
