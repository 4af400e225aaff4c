"""`Worker.periodic` with another expression and another queue left the waiting job of the old ones, which then ran as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import resonate_core as rc
from resonate_core.worker import Worker
from server.live_server import serving


@pytest.fixture(params=["store", "url"])
def make(request: pytest.FixtureRequest, make_store: Callable[..., rc.Store]) -> Iterator[Callable[[], Worker]]:
    store = make_store() if request.param == "store" else make_store(clock=rc.SystemClock())
    if request.param == "store":
        yield lambda: Worker(store)
        return
    with serving(store) as live:
        made: list[Worker] = []

        def worker() -> Worker:
            made.append(Worker(f"http://127.0.0.1:{live.port}"))
            return made[-1]

        yield worker
        for each in made:
            each.close()


def declare(worker: Worker, cron: str, queue: str | None, name: str | None = None) -> list[tuple[str, str]]:
    """Declare a periodic job, let its worker enqueue, and return expressions and queues of what waits."""
    options = {} if queue is None else {"queue": queue}
    worker.periodic(cron, "report", name=name, **options).ensure(worker.client)
    return sorted((job.tags["periodic:cron"], job.queue) for job in worker.client.scheduled("*", {}))


TWO, FIVE = "0 2 * * *", "0 5 * * *"


def test_another_expression_and_queue(make: Callable[[], Worker]):
    assert declare(make(), TWO, None) == [(TWO, "default")]
    assert declare(make(), FIVE, "reports") == [(FIVE, "reports")]
    assert declare(make(), TWO, "reports") == [(TWO, "reports")]
    assert declare(make(), TWO, None) == [(TWO, "default")]
    assert declare(make(), FIVE, None) == [(FIVE, "default")]


def test_jobs_of_other_names_stay(make: Callable[[], Worker]):
    declare(make(), TWO, None, "a")
    assert declare(make(), TWO, "other", "b") == [(TWO, "default"), (TWO, "other")]
    assert declare(make(), FIVE, "other", "b") == [(TWO, "default"), (FIVE, "other")]
