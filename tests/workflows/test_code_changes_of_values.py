"""Changed code: the last rules; see `test_code_changes`."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_code_changes import charge, deployed, pack
from workflow_runs import drained, records

import resonate_core as rc
from resonate_core.workflow import sleep

THIS = Path(__file__).name


def test_a_workflow_that_is_not_deterministic_is_found_by_its_first_drain(store: rc.Store) -> None:
    ran: list[int] = []

    async def code() -> str:
        ran.append(1)
        await (charge() if len(ran) % 2 else pack())
        await sleep(1000)
        return "done"

    worker = deployed(store, code)
    worker.enqueue("w", id="w")
    ended = drained(worker)[-1]
    assert ended.error is not None and ended.error.code == "NonDeterministic"


def test_too_many_calls_archive_the_job(store: rc.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resonate_core.worker.workflows.scope.MOST_CALLS", 5)

    async def code() -> None:
        while True:
            await charge()

    worker = deployed(store, code)
    worker.enqueue("w", id="w")
    (ended,) = drained(worker)
    assert ended.error is not None and ended.error.code == "HistoryTooLong" and "start_over()" in ended.error.message
    assert store.jobs.get("w").state == "archived"
    assert len(records(store, "w")) == 5
