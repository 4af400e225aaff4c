"""A job whose type no worker has a handler for waited among the scheduled jobs, and the list of what is stuck did not name it.

Such a job is put back again and again, later each time, so nothing of it is pending for long.
"""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import Worker
from ui.ui_client import client_of

MINUTE = 60_000


@pytest.fixture
def store(make_store: Any) -> Any:
    return make_store(clock=rc.ManualClock(start=0))


def stuck(store: Any) -> dict[str, Any]:
    return {one["id"]: one for one in client_of(store).see("stuck")["items"]}


def test_it_is_listed_until_a_worker_has_the_type(store: Any) -> None:
    worker = Worker(store, name="old")

    @worker.task("known")
    def known() -> None: ...

    store.jobs.enqueue("new", id="n")
    store.jobs.enqueue("known", id="k", process_in=600 * MINUTE)
    worker.run_until_idle(advance=True, until=MINUTE // 2)
    assert store.jobs.get("n").state == "scheduled" and stuck(store) == {}, "a deploy may be under way"
    worker.run_until_idle(advance=True, until=5 * MINUTE)
    store.clock.advance_to(5 * MINUTE)
    found = stuck(store)
    assert list(found) == ["n"], "a job that waits for its time is not stuck"
    assert (found["n"]["since"], found["n"]["needsPerson"]) == (0, False)
    assert "worker 'old' has no handler for type 'new'" in found["n"]["sentence"]
    assert ("start a worker that has a handler for type 'new'", None) in rc.why(store, "n").advice

    renewed = Worker(store, name="new")

    @renewed.task("new")
    def new() -> None: ...

    renewed.run_until_idle(advance=True, until=20 * MINUTE)
    assert stuck(store) == {}


def test_a_handler_that_snoozes_its_job_is_not_listed(store: Any) -> None:
    from resonate_core.worker import Snooze

    worker = Worker(store)

    @worker.task("patient")
    def patient() -> None:
        raise Snooze(10 * MINUTE)

    store.jobs.enqueue("patient", id="p")
    worker.run_until_idle()
    store.clock.advance(2 * MINUTE)
    assert stuck(store) == {} and not any("handler" in text for text, _ in rc.why(store, "p").advice)
