"""What the tests of workflows ask of stores and drains."""

from __future__ import annotations

from typing import Any

import resonate_core as rc
from resonate_core.worker import DrainedRun, Worker

__all__ = ["drained", "error_of", "last", "names", "records", "states"]


def records(store: rc.Store, id: str) -> dict[str, str]:
    """The names of the records of a workflow, by id without that of the workflow."""
    return {step.id.removeprefix(f"{id}:"): step.name for step in store.workflows.history(id)}


def names(store: rc.Store, id: str) -> list[str]:
    """The names of the records of a workflow, in order of their ids."""
    return [name for _, name in sorted(records(store, id).items())]


def states(store: rc.Store, id: str) -> dict[str, str]:
    """The states of the records of a workflow, by id without that of the workflow."""
    return {step.id.removeprefix(f"{id}:"): step.state for step in store.workflows.history(id)}


def drained(worker: Worker, **options: Any) -> list[DrainedRun]:
    """Run all that can run, and move the clock to what waits for time."""
    return worker.run_until_idle(**{"advance": True, **options}).runs


def last(worker: Worker, **options: Any) -> Any:
    """The result of the last run of a drain, which has completed."""
    run = drained(worker, **options)[-1]
    assert run.outcome == "completed", run
    return run.result


def error_of(store: rc.Store, id: str) -> dict[str, Any]:
    """The last error of a job."""
    found: dict[str, Any] = store.jobs.get(id).attempts[-1]["error"]
    return found
