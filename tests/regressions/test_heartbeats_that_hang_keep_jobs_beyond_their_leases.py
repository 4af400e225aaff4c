"""While one heartbeat had no answer, no second one was sent, and jobs continued beyond the ends of their leases: a server, or a database, that
does not answer one request made two workers run a job at once.

A lease ends by the worker's own clock, and a heartbeat may take a third of a lease. No request of another kind holds it up.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from enemy_server import Asked, enemy, envelope, http
from resonate_core.worker import JobContext, Worker
from resonate_core.worker.environment import Environment
from resonate_core.worker.own_leases import OwnLeases
from resonate_core.worker.store_client import StoreClient

STORE = rc.Store(clock=rc.ManualClock())
STORE.jobs.enqueue("t", 1, id="a", queue="q")
(_JOB,) = STORE.jobs.claim("q", worker="w", lease=10**9, start=1)
JOB = _JOB.to_dict()


class Called:
    """A job that runs until it is called off, and why it was."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.began = threading.Event()
        self.ended = threading.Event()

    async def run(self, job: JobContext) -> None:
        self.began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            self.reason = job.reason
            self.ended.set()


def _server(silent: Callable[[Asked, int], bool], released: threading.Event, asked: list[str]) -> Callable[[Asked], bytes]:
    """A server with one job, which does not answer some requests; `silent` also gets how many of the kind there were."""

    def answer(one: Asked) -> bytes:
        kind = one.envelope["kind"]
        asked.append(kind)
        number = asked.count(kind)
        if kind and silent(one, number):
            released.wait(60)
        if not kind:
            return http(b"", status="404 Not Found")  # it has no streams
        jobs = [JOB] if kind == "job.claim" and number == 1 else []
        return http(envelope(one, {"jobs": jobs, "job": JOB, "cancelled": [], "lost": []}))

    return answer


def test_a_server_that_answers_no_heartbeat() -> None:
    released, asked, called = threading.Event(), list[str](), Called()
    with enemy(_server(lambda one, number: one.envelope["kind"] == "job.heartbeat", released, asked)) as server:
        worker = Worker(server.url, queues="q", name="w", lease=6000, grace=10)
        worker.task("t")(called.run)
        with closing(worker), worker:
            try:
                assert called.ended.wait(40)
                assert called.reason == "lost"
                assert asked.count("job.heartbeat") >= 2
            finally:
                released.set()


def test_a_store_that_answers_no_heartbeat(tmp_path: Path) -> None:
    store = rc.Store(tmp_path / "app.db")
    released, called = threading.Event(), Called()

    class Silent(StoreClient):
        def heartbeat(self, worker: str, held: Sequence[tuple[str, int]]) -> tuple[list[str], list[str]]:
            released.wait(60)
            return [], []

    worker = Worker(store, environment=Environment(connect=lambda *_: Silent(store)), lease=1000, grace=10)
    worker.task("t", max_retries=0)(called.run).enqueue()
    with store, worker:
        try:
            assert called.ended.wait(20)
            assert called.reason == "lost"
        finally:
            released.set()


def test_other_requests_that_hang_hold_up_no_heartbeat() -> None:
    """The second claim, the report of the job and its periodic sister have no answer."""
    released, asked, called = threading.Event(), list[str](), Called()
    beaten = threading.Event()

    def silent(one: Asked, number: int) -> bool:
        kind = one.envelope["kind"]
        if kind == "job.heartbeat" and number == 8 and {"job.report", "job.search"} < set(asked) and asked.count("job.claim") > 1:
            beaten.set()
        return kind in ("job.report", "job.search") or (kind == "job.claim" and number > 1)

    with enemy(_server(silent, released, asked)) as server:
        worker = Worker(server.url, queues="q", name="w", lease=3000, heartbeat=200, grace=10, poll_interval=50)

        async def run(job: JobContext) -> None:
            job.report("it runs")
            await called.run(job)

        worker.task("t")(run)
        worker.periodic("@yearly", worker.task("sister")(lambda: None))
        with closing(worker), worker:
            try:
                assert beaten.wait(20), asked
                assert not called.ended.is_set()
            finally:
                released.set()


def test_jobs_that_came_later_have_longer_leases() -> None:
    leases = OwnLeases(30)
    leases.look([("a", 1)], 10)
    leases.look([("a", 1), ("b", 1)], 20)
    assert leases.over(29) == [] and leases.over(30) == [("a", 1)] and leases.first_end == 40
    leases.renew([("a", 1), ("gone", 1)], 35)
    assert leases.over(40) == [("b", 1)] and leases.first_end == 65
    leases.look([], 50)
    assert leases.first_end == float("inf")


def test_a_worker_that_was_held_up_asks_first() -> None:
    leases = OwnLeases(30)
    leases.look([("a", 1)], 0)
    leases.wait_until(100)
    assert leases.over(99) == [] and leases.over(100) == [("a", 1)]


@pytest.mark.parametrize("limits", [(0.2, 60.0), (60.0, 0.2)])
def test_a_limit_within_a_limit_ends_no_later(limits: tuple[float, float]) -> None:
    from resonate_core.http.deadline import left, within

    with within(limits[0]), within(limits[1]):
        found: Any = left(None)
        assert found <= 0.2
    assert left(None) is None
