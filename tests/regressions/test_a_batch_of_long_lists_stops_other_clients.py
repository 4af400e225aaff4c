"""One `POST /batch` of 15 `job.enqueue_many` with 10,000 jobs each was one commit and an answer of 45 MB in memory.

The create of another client waited 7 s, and with five such posts 29 s; the server took 1.5 GB. Requests that name many records now have
transactions of their own, which take turns with those of others, and the answer is sent in portions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from resonate_core import Envelope, ManualClock, RequestLimits, Store
from resonate_core.asgi import LimitSettings, create_app
from resonate_core.server.batcher import Answer, Batcher
from resonate_core.server.batches import LONG, MOST_RECORDS
from resonate_core.server.metrics import Metrics
from server.app_calls import call, scope_of

HEAD = {"corrId": "c", "version": "2026-04-01"}


def text(kind: str, **data: Any) -> bytes:
    return json.dumps({"kind": kind, "head": HEAD, "data": data}).encode()


def enqueue(jobs: int, type: str = "m") -> bytes:
    return text("job.enqueue_many", jobs=[{"type": type}] * jobs)


def create(id: str) -> bytes:
    return text("promise.create", id=id, timeoutAt=10**15)


class Runs:
    """A store that notes what it runs together: the kinds, and the records of all."""

    def __init__(self) -> None:
        self.store = Store(clock=ManualClock(1000))
        self.path, self.shared, self.debug = self.store.path, self.store.shared, False
        self.kinds: list[set[str]] = []
        self.records: list[int] = []

    def run(self, envelopes: list[Envelope]) -> list[Answer]:
        self.kinds.append({envelope.kind for envelope in envelopes})
        self.records.append(sum(envelope.records for envelope in envelopes))
        return self.store.run(envelopes)


@pytest.mark.parametrize(
    ("kind", "data", "records"),
    [
        ("job.enqueue_many", {"jobs": [{"type": "m"}] * 7}, 7),
        ("task.heartbeat", {"pid": "p", "tasks": [{"id": "a", "version": 1}] * 5}, 5),
        ("job.heartbeat", {"worker": "w", "lease": 1000, "jobs": [{"id": "a", "version": 1}] * 4}, 4),
        ("job.claim", {"queues": ["q"], "worker": "w", "lease": 1000, "count": 9}, 9),
        ("promise.get", {"id": "a"}, 1),
    ],
)
def test_the_records_of_a_request_are_counted(kind: str, data: dict[str, Any], records: int) -> None:
    envelope = Envelope(text(kind, **data), RequestLimits())
    assert (envelope.refused, envelope.records) == (False, records)


def test_long_requests_take_turns_with_the_others() -> None:
    async def main() -> None:
        batcher = Batcher(runs, Metrics())  # type: ignore[arg-type]
        texts = [*(enqueue(MOST_RECORDS) for _ in range(4)), create("a"), create("b")]
        first = [batcher.submit(Envelope(one, RequestLimits())) for one in texts]
        await first[-1]
        later = batcher.submit(Envelope(create("c"), RequestLimits()))
        assert {(await one)[0] for one in [*first, later]} == {200}
        assert batcher.in_flight == 0
        batcher.close()

    runs = Runs()
    asyncio.run(main())
    assert runs.kinds[0] == {"promise.create"} and runs.kinds.index({"promise.create"}, 1) <= 3
    assert runs.records[0] == 2 and max(runs.records) == MOST_RECORDS
    assert len(runs.kinds) == 6


def test_requests_share_a_commit_up_to_a_number_of_records() -> None:
    async def main() -> None:
        batcher = Batcher(runs, Metrics())  # type: ignore[arg-type]
        texts = [enqueue(LONG) for _ in range(20)] + [enqueue(600) for _ in range(5)]
        assert {
            status for status, _ in await asyncio.gather(*(batcher.submit(Envelope(one, RequestLimits())) for one in texts))
        } == {200}
        batcher.close()

    runs = Runs()
    asyncio.run(main())
    assert max(runs.records) <= MOST_RECORDS and sum(runs.records) == 20 * LONG + 3000
    assert len(runs.records) == 5


async def ask(app: Any, body: bytes) -> tuple[list[dict[str, Any]], list[bytes]]:
    """The replies to a batch, and the pieces of the answer as they were sent."""
    pieces: list[bytes] = []
    started: list[dict[str, Any]] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return waiting.pop()

    async def send(message: dict[str, Any]) -> None:
        (started if message["type"] == "http.response.start" else pieces).append(
            message if "status" in message else message["body"]
        )

    await app(scope_of("POST", "/batch"), receive, send)
    (start,) = started
    assert start["status"] == 200
    named = dict(start["headers"])
    assert named[b"content-type"] == b"application/x-ndjson"
    assert (b"content-length" in named) == (len(pieces) == 1)
    return [json.loads(line) for line in b"".join(pieces).splitlines()], pieces


def serving(store: Store, body: Callable[[Any], Any]) -> Any:
    async def main() -> Any:
        app = create_app(store)
        async with app.lifespan():
            return await body(app)

    return asyncio.run(main())


def test_the_answer_to_a_batch_is_sent_in_portions() -> None:
    store = Store(clock=ManualClock(1000))
    body = b"\n".join(
        [create("a"), enqueue(3000, "x"), enqueue(1500, "y"), enqueue(1500, "z"), create("b"), b"no JSON", create("c")]
    )
    replies, pieces = serving(store, lambda app: ask(app, body))
    assert [reply["head"]["status"] for reply in replies] == [200, 200, 200, 200, 200, 400, 200]
    assert [len(reply["data"]["jobs"]) for reply in replies[1:4]] == [3000, 1500, 1500]
    assert [piece.count(b"\n") for piece in pieces] == [1, 1, 1, 1, 3]
    assert store.queues.stats("default")[0]["counts"]["pending"] == 6000


def test_a_batch_of_short_requests_is_one_portion() -> None:
    store = Store(clock=ManualClock(1000))
    replies, pieces = serving(store, lambda app: ask(app, b"\n".join(create(f"p{number}") for number in range(128))))
    assert {reply["head"]["status"] for reply in replies} == {200}
    assert len(pieces) == 1


def test_few_long_requests_are_decoded_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits as its text: decoded, it takes many times the memory."""
    most = 0
    submit = Batcher.submit

    def noted(self: Batcher, envelope: Envelope) -> Any:
        nonlocal most
        future = submit(self, envelope)
        most = max(most, self.in_flight)
        return future

    async def body(app: Any) -> list[Any]:
        return await asyncio.gather(*(call(app, "POST", "/", enqueue(LONG + 1)) for _ in range(40)))

    monkeypatch.setattr(Batcher, "submit", noted)
    store = Store(clock=ManualClock(1000))
    answers = serving(store, body)
    assert {answer.status for answer in answers} == {200} and len(answers) == 40
    assert most == 4
    assert store.queues.stats("default")[0]["counts"]["pending"] == 40 * (LONG + 1)


def test_long_requests_that_wait_count_as_under_way() -> None:
    async def body(app: Any) -> list[Any]:
        return await asyncio.gather(*(call(app, "POST", "/", enqueue(LONG + 1)) for _ in range(12)))

    async def main() -> list[Any]:
        app = create_app(store, limits=LimitSettings(requests_in_flight=6))
        async with app.lifespan():
            return await body(app)

    store = Store(clock=ManualClock(1000))
    statuses = [answer.status for answer in asyncio.run(main())]
    assert statuses.count(200) == 6 and statuses.count(429) == 6
