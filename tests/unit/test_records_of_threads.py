"""`jobs.record` from several threads, and among other requests."""

from __future__ import annotations

import io
import json
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc

JOBS, STEPS = 6, 150


def running(store: rc.Store, jobs: int) -> dict[str, int]:
    """Returns id and version of so many running jobs."""
    for number in range(jobs):
        store.jobs.enqueue("t", id=f"j{number}", lifecycle="workflow")
    return {job.id: job.version for job in store.jobs.claim("default", jobs, worker="w", lease=60_000, start=jobs)}


def record_all(store: rc.Store, beside: Callable[[], None]) -> None:
    """Each job in a thread of its own records its steps; a function runs in this thread until all have ended."""
    failed: list[BaseException] = []

    def work(id: str, version: int) -> None:
        try:
            for number in range(STEPS):
                (step,) = store.jobs.record(id, version, [{"id": f"{id}:{number}", "state": "resolved", "value": number}])
                assert step.value.json() == number
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=one) for one in running(store, JOBS).items()]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        beside()
    assert failed == []
    assert {store.jobs.get(f"j{number}").steps for number in range(JOBS)} == {STEPS}
    assert store.check() == []


def fork() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads in a process that forks
        child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def search(store: rc.Store) -> None:
    store.jobs.search(limit=100)


@pytest.mark.parametrize("beside", [lambda store: fork(), search], ids=["forks", "searches"])
def test_threads_record_in_memory(beside: Callable[[rc.Store], None]) -> None:
    store = rc.Store()
    record_all(store, lambda: beside(store))


def test_each_record_is_in_a_recording() -> None:
    """A recording writes to Python under the lock of the engine."""
    store, written = rc.Store(), io.StringIO()
    with store.record(written):
        record_all(store, lambda: None)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    kinds = [line["kind"] for line in lines]
    assert kinds.count("job.record") == JOBS * STEPS


def test_a_record_request_runs_among_envelopes(tmp_path: Any) -> None:
    with rc.Store(tmp_path / "a.db", durability="normal") as store:
        running(store, 1)
        made = store.jobs._record_request("j0", 1, [{"id": "j0:1", "state": "resolved", "value": {"n": 7}}])
        lost = store.jobs._record_request("j0", 5, [])
        read = {"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "j0:1"}}
        (first, recorded), (conflict, _), (found, promise), (again, same) = store._run_calls([made, lost, read, made])
        assert (first, conflict, found, again) == (200, 409, 200, 200)
        assert recorded[0] == promise == same[0]
        assert promise.value.json() == {"n": 7}
        assert store.jobs.get("j0").steps == 1
        with pytest.raises(rc.errors.Invalid, match="steps has no member 'colour'"):
            store.jobs._record_request("j0", 1, [{"id": "j0:2", "colour": 1}])
