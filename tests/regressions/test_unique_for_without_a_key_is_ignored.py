"""A task's unique_for was ignored if a job had no unique_key: nothing was unique, and there was no error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import Worker
from server.live_server import serving


@pytest.fixture(params=["store", "url"])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    with rc.Store() as store:
        if request.param == "store":
            yield Worker(store)
            return
        with serving(store) as live:
            made = Worker(f"http://127.0.0.1:{live.port}")
            yield made
            made.close()


PATHS: dict[str, Callable[[Worker], Any]] = {
    "task": lambda worker: worker.task("t", unique_for=1000)(print).enqueue(1),
    "task, many": lambda worker: worker.task("t", unique_for=1000)(print).enqueue_many([1, 2]),
    "batch task": lambda worker: worker.batch_task("t", unique_for=1000)(print).enqueue(1),
    "job of a task": lambda worker: worker.task("t")(print).enqueue(1, unique_for=1000),
    "worker": lambda worker: worker.enqueue("t", 1, unique_for=1000),
    "client": lambda worker: worker.client.enqueue("t", 1, {"unique_for": 1000}),
    "periodic task": lambda worker: worker.periodic("@daily", worker.task("t", unique_for=1000)(print)),
    "periodic type": lambda worker: worker.periodic("@daily", "t", unique_for=1000),
    "cron": lambda worker: worker.cron("@daily", unique_for=1000)(print),
}


HEAD = {"corrId": "1", "version": "2026-04-01"}
KEYLESS = {"type": "t", "uniqueFor": 1000}


def refusal(answer: Any) -> int:
    """Returns the error of the first item of a request with several."""
    status: int = answer["data"]["jobs"][0]["status"]
    return status


@pytest.mark.parametrize("path", PATHS)
def test_it_is_refused_on_every_path(worker: Worker, path: str):
    with pytest.raises(rc.errors.Invalid, match=r"unique_for needs a unique_key|uniqueFor needs a uniqueKey"):
        PATHS[path](worker)


def test_it_is_refused_by_a_store():
    store = rc.Store()
    for refused in (
        lambda: store.jobs.enqueue("t", unique_for=1000),
        lambda: store.schedules.create("s", "@daily", promise_timeout=1000, job={"type": "t", "uniqueFor": 1000}),
        lambda: store.queues.set("default", defaults={"uniqueFor": 1000}),
    ):
        with pytest.raises(rc.errors.Invalid, match="uniqueFor"):
            refused()
    many = {"kind": "job.enqueue_many", "head": HEAD, "data": {"jobs": [KEYLESS]}}
    assert refusal(store.apply(many)) == 400
    assert [len(store.jobs.search()), len(store.schedules.search())] == [0, 0]


def test_it_is_refused_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from resonate_core.cli import main

    path = str(tmp_path / "jobs.db")
    rc.Store(path).close()
    for command in (
        ["jobs", "enqueue", "t", "--unique-for", "1s"],
        ["schedules", "create", "s", "--cron", "@daily", "--timeout", "1d", "--job-type", "t", "--job-unique-for", "1s"],
    ):
        assert main([command[0], command[1], "--db", path, *command[2:]]) != 0
        assert "uniqueFor needs a uniqueKey" in capsys.readouterr().err


def test_a_key_makes_it_good():
    worker = Worker(rc.Store(clock=rc.ManualClock()))
    task = worker.task("t", unique_for=1000)(print)
    assert task.enqueue(1, unique_key="k").unique_for == 1000
    with pytest.raises(rc.errors.Conflict):
        task.enqueue(2, unique_key="k")
