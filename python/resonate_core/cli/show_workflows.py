"""How the steps of a workflow are printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from resonate_core.calls.workflow_records import Step
from resonate_core.cli.jobs_table import Column, fitted, text
from resonate_core.cli.show import COLOURS, Output, beside, length, moment, payload_text, put
from resonate_core.cli.values import now

__all__ = ["show_steps", "step_document"]

_STEP = ("id", "name", "state", "startedAt", "settledAt", "took", "attempts", "result")
#: The most characters of a result that a person sees.
_LONGEST = 200


def step_document(step: Step) -> dict[str, Any]:
    """Return a step for programs: the promise as on the wire, with what its record says.

    Example:
        >>> from resonate_core.calls.workflow_records import Step
        >>> from resonate_core.cli.show_workflows import step_document
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> promise = store.promises.create("order-7:1", timeout=1000, tags={"resonate:name": "charge"})
        >>> shown = step_document(Step.of(promise))
        >>> shown["id"], shown["timeoutAt"], shown["name"], shown["startedAt"], shown["attempts"]
        ('order-7:1', 1000, 'charge', 0, 1)
    """
    shown = {**step.promise.to_dict(), "name": step.name, "startedAt": step.started_at, "attempts": step.attempts}
    if step.took is not None:
        shown["durationMs"] = step.took
    if step.error is not None:
        shown["error"] = {"code": step.error.code, "message": step.error.message, "data": step.error.data}
    return shown


def _outcome(step: Step) -> str:
    """Return the result of a step, or why it failed."""
    return payload_text(step.promise.value.to_dict()) if step.error is None else str(step.error)


def show_steps(out: Output, steps: Iterable[Step]) -> None:
    """Print steps, a line each, the first one first; to a pipe each begins with the word step."""
    if not out.is_rich:
        for step in steps:  # one by one: a history may be long
            cells = (step.id, step.name, step.state, step.started_at, step.settled_at, step.took, step.attempts, _outcome(step))
            out.table(("kind", *_STEP), [("step", *cells)])
        return
    found = list(steps)
    if not found:
        return
    present = now()

    def outcome(step: Step) -> str:
        shown = _outcome(step)
        return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}… ({len(shown)} characters; --json has all)"

    def ends(step: Step) -> str:
        return "" if step.settled_at is not None or step.timeout_at is None else beside(step.timeout_at, present)

    columns = [
        Column("step", lambda step: text(step.id)),
        Column("name", lambda step: text(step.name), always=False),
        Column("state", lambda step: text(step.state, COLOURS[step.state])),
        Column("started", lambda step: text(moment(step.started_at)[:19].replace("T", " ") + "Z"), spared=1),
        Column("took", lambda step: text("" if step.took is None else length(step.took)), right=True),
        Column("ends", lambda step: text(ends(step)), spared=2, always=False),
        Column("attempts", lambda step: text("" if step.attempts == 1 else step.attempts), right=True, always=False),
        Column("result", lambda step: text(outcome(step)), elastic=True, always=False),
    ]
    put()
    out.draw(fitted(columns, found, out.console.width))
