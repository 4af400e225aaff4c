"""The attacks, and the store that they need."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import resonate_core as rc

FAR = 4_000_000_000_000
#: Of the server: patterns that begin and end with `*` are the expensive ones.
REDACTED_KEYS = ("password", "*token*")
#: Jobs of the attacker's tenant, for the searches.
_JOBS = 6000
_PAGE = {"content-type": "application/json", "x-resonate-ui": "1"}
_UPLOAD = {"content-type": "application/x-ndjson", "x-resonate-ui": "1"}


@dataclass(frozen=True)
class Request:
    """One request of the attacker.

    Attributes:
        method: Of HTTP.
        path: Below the server's address.
        body: Of a POST.
        headers: Besides the token.
        stream: Whether the answer has no end: it stays open until the attack is over.
        then: The path that is asked for next, made of the answer.
    """

    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] | None = None
    stream: bool = False
    then: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class Attack:
    """Requests that are sent over and over.

    Attributes:
        what: As people read it.
        requests: Sent in turn by each connection.
        connections: How many there are at once.
        claims: Of the attacker's token; None for a stranger without one.
    """

    what: str
    requests: tuple[Request, ...]
    connections: int = 8
    claims: dict[str, Any] | None = None


def _get(path: str) -> Request:
    return Request("GET", f"ui/api/{path}")


def _do(data: dict[str, Any], kind: str = "x", headers: dict[str, str] | None = None) -> Request:
    body = json.dumps({"kind": kind, "data": data}).encode()
    return Request("POST", "ui/api/do", body, {**_PAGE, **(headers or {})})


def _recorded(store: rc.Store, call: Callable[[], object]) -> list[bytes]:
    """The lines of a recording of one call."""
    trace = io.BytesIO()
    with store.record(trace):
        call()
    return trace.getvalue().splitlines(keepends=True)


def _far_recording() -> bytes:
    """A recording of one completed job of 1970; the instants of its other lines are the last one."""
    store = rc.Store(clock=rc.ManualClock(1000))
    store.jobs.enqueue("t", {}, id="a.j1", queue="a.q")
    (job,) = store.jobs.claim("a.q", worker="w", lease=1000, start=1)
    store.jobs.complete("a.j1", job.version)
    first, *rest = _recorded(store, lambda: store.promises.get("a.j1"))
    return first + b"".join(json.dumps({**json.loads(line), "now": 2**63 - 1}).encode() + b"\n" for line in rest)


def _long_recording(size: int) -> bytes:
    """A recording of many short lines."""
    store = rc.Store(clock=rc.ManualClock(0))
    first, second, *_ = _recorded(store, lambda: store.promises.create("a", FAR))
    return first + second * (size // len(second))


def _upload(body: bytes) -> Request:
    return Request("POST", "ui/api/travel", body, _UPLOAD, then=lambda made: f"ui/api/overview?travel={made['travel']}")


_OPERATES_A = {"prefix": "a.", "role": "operate"}
_READS_A = {"prefix": "a.", "role": "read"}


def attacks() -> dict[str, Attack]:
    """The attacks by name; `quiet` sends nothing."""
    return {
        "quiet": Attack("nothing", (), 0),
        "patterns": Attack(
            "views of texts that a pattern meets again and again", (_get("jobs"), _get("job?id=a.text")), claims=_READS_A
        ),
        "strangers": Attack(
            "posts of 2 MB and long headers without a token",
            (_do({"a": "token" * 390_000}), _do({}, headers={"content-type": "token" * 6000})),
        ),
        "hidden values": Attack("a job with 600 hidden values", (_get("job?id=a.hidden"),), claims=_READS_A),
        "far instants": Attack("a recording from 1970 to the last instant", (_upload(_far_recording()),), 2, _READS_A),
        "refused posts": Attack("posts of 1.9 MB that are refused", (_do({"tags": {"x": "A" * 1_900_000}}),), 4, _OPERATES_A),
        "uploads": Attack("recordings of 8 MB", (_upload(_long_recording(8_000_000)),), 4, _READS_A),
        "streams": Attack("64 streams", (Request("GET", "ui/api/events", stream=True),), 64, _READS_A),
        "searches": Attack("80 searches at a time", (_get("jobs?arg=nosuchtext%21"),), 80, _READS_A),
    }


def fill(store: rc.Store) -> None:
    """Puts into the store what the attacks and the second tenant need."""
    store.jobs.enqueue("t", "token" * 14_000, id="a.text", queue="a.q")
    hidden = ["a" * (i + 4) + "b" for i in range(600)]
    store.jobs.enqueue("t", {"password": hidden, "note": "a" * 20_000}, id="a.hidden", queue="a.q")
    for begin in range(0, _JOBS, 1000):
        ids = [f"a.j{number:06}" for number in range(begin, begin + 1000)]
        store.jobs.enqueue_many("t", [{"order": id} for id in ids], ids=ids, queue="a.q")
    store.jobs.enqueue_many("t", [{"order": i} for i in range(100)], ids=[f"b.j{i}" for i in range(100)], queue="b.q")
