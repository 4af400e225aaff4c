"""The steps of a workflow that run, and its records in words: the report of its job and its records tell of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .._core import Promise
from ..base.instants import length, when
from ..base.step_lines import ToldStep, read_lines
from ..calls.workflow_records import Step, called_in, kind_of, retry_in

__all__ = ["outcome_of", "record_in_words", "steps_that_run", "told"]

#: The most steps that a sentence names.
_NAMED = 3
#: The words for the states of a record that has ended.
_ENDS = {"rejected": "failed", "rejected_canceled": "was cancelled", "rejected_timedout": "timed out"}
_RESOLVED = {"step": "succeeded", "retry": "was due", "own": "was recorded"}


def steps_that_run(job: Mapping[str, Any], settled: Callable[[list[str]], Iterable[str]]) -> list[ToldStep]:
    """Return the steps of a running workflow that have run for a while, and those that wait a moment for their next attempt.

    Args:
        job: Its record.
        settled: Returns those of several ids whose promises are settled: these steps have ended.

    Example:
        >>> from resonate_core.explain.workflow_steps import steps_that_run
        >>> line = {"at": 7000, "attempt": 1, "text": "step charge (o:1), attempt 2: runs since 1970-01-01T00:00:05.000Z"}
        >>> job = {"id": "o", "state": "running", "attempts": [{"number": 1}], "report": {"lines": [line]}}
        >>> [(step.name, step.attempt, step.since) for step in steps_that_run(job, lambda ids: [])], steps_that_run(job, lambda ids: ids)
        ([('charge', 2, 5000)], [])
    """
    attempts, lines = job.get("attempts"), job.get("report", {}).get("lines")
    if job["state"] != "running" or not attempts or not lines:
        return []
    found = [step for step in read_lines(job["id"], lines).values() if step.job_attempt == attempts[-1]["number"]]
    ended = set(settled([step.id for step in found])) if found else set()
    return [step for step in found if step.id not in ended]


def told(steps: list[ToldStep], now: int, shown: Callable[[str], str] = lambda error: error) -> str:
    """Return in words what steps do that run; empty if there are none.

    Args:
        steps: The steps.
        now: The present instant, in Unix ms.
        shown: Returns an error as it may be shown.

    Example:
        >>> from resonate_core.base.step_lines import ToldStep
        >>> from resonate_core.explain.workflow_steps import told
        >>> told([ToldStep("o:1", "charge", 1, 1, since=5000)], 8000)
        'step charge (o:1) runs since 1970-01-01T00:00:05.000Z (3s ago)'
        >>> told([ToldStep("o:2", "pack", 1, 3, since=5000, error="OSError: jam")], 8000)
        'attempt 3 of step pack (o:2) runs since 1970-01-01T00:00:05.000Z (3s ago), after OSError: jam'
    """
    parts = [_told(step, now, shown) for step in steps[:_NAMED]]
    more = len(steps) - len(parts)
    return "; ".join([*parts, f"{more} other steps run"] if more else parts)


def _told(step: ToldStep, now: int, shown: Callable[[str], str]) -> str:
    name = f"step {step.name} ({step.id})"
    who = name if step.attempt == 1 else f"attempt {step.attempt} of {name}"
    if step.since is not None:
        does = f"runs since {when(step.since, now)}"
    elif step.begins_at is not None:
        does = f"{'begins' if step.begins_at > now else 'began'} at {when(step.begins_at, now)}"
    else:
        does = "runs"
    return f"{who} {does}" + ("" if step.error is None else f", after {shown(step.error)}")


def record_in_words(promise: Mapping[str, Any]) -> str | None:
    """Return what a record of a workflow is, with its id; None if it is no record of a call.

    Args:
        promise: As on the wire, or a row of a snapshot.

    Example:
        >>> from resonate_core.explain.workflow_steps import record_in_words
        >>> record_in_words({"id": "o:1", "tags": {"resonate:name": "charge"}}), record_in_words({"id": "o", "tags": {}})
        ('Step charge (o:1)', None)
    """
    kind = kind_of(promise)
    if kind is None or kind == "message":
        return None
    retry = retry_in(promise)
    if retry is not None:
        return f"Attempt {retry.failed + 1} of step {retry.name} ({retry.step})"
    return f"{'Step' if kind == 'step' else 'Call'} {called_in(promise)} ({promise['id']})"


def outcome_of(promise: Mapping[str, Any], now: int, shown: Callable[[str], str] = lambda error: error) -> str:
    """Return how a settled record has ended: the verb, when, its failure, and how long and how often it was tried.

    Args:
        promise: As on the wire.
        now: The present instant, in Unix ms.
        shown: Returns an error as it may be shown.
    """
    step, kind = Step.of(Promise.from_dict(dict(promise))), kind_of(promise)
    end = _RESOLVED.get(kind or "", "was resolved") if step.state == "resolved" else _ENDS[step.state]
    said = f"{end} at {when(promise['settledAt'], now)}"
    if kind == "retry" and step.error is not None:
        return f"{said}, after {shown(str(step.error))}"
    if kind == "step":
        said += f", in attempt {step.attempts}" if step.attempts > 1 else ""
        said += f", which took {length(step.took or 0)}"
    return said + (f": {shown(str(step.error))}" if step.error is not None and step.state != "resolved" else "")
