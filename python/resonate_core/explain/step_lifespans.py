"""The records of workflows as lives: a step lives from its first attempt on, and its attempts are spans with the worker that ran them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..base.instants import NEVER
from ..calls.workflow_records import attempts_in, began_at, called_in, failure_in, kind_of, retry_in
from .lifespans import Life, RecordLife, Span

__all__ = ["join_steps", "record_life"]

_OUTCOMES = {"resolved": "completed", "rejected_canceled": "cancelled"}

Wakes = list[tuple[int, str, str]]


def record_life(record: Mapping[str, Any]) -> RecordLife | None:
    """Return what a record of a workflow tells about its life; None if it is none.

    Args:
        record: A promise as on the wire, or a row of a snapshot.

    Example:
        >>> from resonate_core.explain.step_lifespans import record_life
        >>> record = {"id": "o:1", "state": "rejected", "createdAt": 5, "tags": {"resonate:name": "charge"}, "value": {}}
        >>> record_life(record), record_life({**record, "tags": {}})
        (RecordLife(kind='step', name='charge', began_at=5, attempts=1, code='Rejected'), None)
    """
    kind = kind_of(record)
    if kind is None:
        return None
    name = called_in(record).removeprefix("job " if kind == "job" else "")
    retry = retry_in(record)
    error = failure_in(record) if retry is None else retry.error
    attempts = attempts_in(record) if retry is None else retry.failed
    return RecordLife(kind, name, began_at(record), attempts, None if error is None else error.code)


def join_steps(lives: dict[str, Life], wakes: Wakes) -> Wakes:
    """Join the timers between the attempts of a step to the life of the step, and leave out what the library records for itself.

    Args:
        lives: All lives, by id; they are changed.
        wakes: The instants at which a promise has woken its awaiter.

    Returns:
        The wakes, those by such timers as wakes by their steps.
    """
    joined: dict[str, str] = {}
    found = {life.id: life.of_workflow for life in lives.values() if life.of_workflow is not None}
    for id, record in found.items():
        if record.kind == "own":
            del lives[id]
        elif record.kind == "step":
            _add_last(lives, lives[id], record)
        elif record.kind == "retry":
            joined[id] = _add_failed(lives, lives[id], record)
    for timer in joined:
        del lives[timer]
    for id in (*found, *joined.values()):
        life = lives.get(id)
        if life is not None and life.of_workflow is not None and life.of_workflow.kind == "step":
            life.spans.sort(key=lambda span: span.start)
            life.created_at = min(life.created_at, *(span.start for span in life.spans))
    return [(at, joined.get(id, id), awaiter) for at, id, awaiter in wakes]


def _add_last(lives: Mapping[str, Life], life: Life, record: RecordLife) -> None:
    """Add the last attempt of a step, which its record tells."""
    owner = lives.get(life.parent or "")
    begun = max(record.began_at, 0 if owner is None else owner.created_at)  # what a fork has copied began with it
    outcome = None if life.settled_at is None else _OUTCOMES.get(life.state, "failed")
    life.spans.append(Span("running", begun, life.settled_at, _worker(owner, begun), record.attempts, outcome, record.code))


def _add_failed(lives: dict[str, Life], timer: Life, record: RecordLife) -> str:
    """Add the failed attempt before a timer, and the wait after it; return the id of the step."""
    id, owner = timer.id.rpartition(":")[0], lives.get(timer.parent or "")
    if id not in lives:  # a step is recorded when it has ended
        step = lives[id] = Life(id, record.began_at, NEVER, timer.tags, parent=timer.parent)
        step.of_workflow = replace(record, kind="step", name=record.name.removeprefix("retry "))
        if owner is not None and owner.settled_at is not None:
            step.settle("rejected_canceled", owner.settled_at)
    step, begun = lives[id], min(record.began_at, timer.created_at)
    step.spans.append(Span("running", begun, timer.created_at, _worker(owner, begun), record.attempts, "failed", record.code))
    step.spans.append(Span("retry", timer.created_at, timer.settled_at))
    return id


def _worker(owner: Life | None, at: int) -> str | None:
    """Return the worker that ran a job at an instant; None if that is not known."""
    spans = () if owner is None else reversed(owner.spans)
    attempts = (span for span in spans if span.number is not None and span.start <= at)
    return next((span.pid for span in attempts if span.end is None or at <= span.end), None)
