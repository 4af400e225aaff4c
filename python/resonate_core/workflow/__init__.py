"""Workflows: jobs whose function is durable, in plain Python.

A `Worker.workflow` calls these with ``await``; a `def` workflow imports them from `resonate_core.workflow.blocking`, without it.

Example:
    >>> from datetime import timedelta
    >>> from resonate_core.workflow import sleep, step
    >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
    >>> @step(retries=3)
    ... async def charge(order: str, cents: int) -> str:
    ...     return f"receipt of {order}"
    >>> @worker.workflow("order:fulfil")
    ... async def fulfil(order: str, cents: int) -> str:
    ...     receipt = await charge(order, cents)
    ...     await sleep(timedelta(days=1))
    ...     return receipt
    >>> _ = fulfil.delay("7", 1200)
    >>> worker.run_until_idle(advance=True).runs[-1].result
    'receipt of 7'
"""

from __future__ import annotations

from ..worker.replays import History, NextCall, Replayed, replay
from ..worker.transactions import AnotherStep, StepUnsettled, prune_steps, prune_steps_async, steps_sql, steps_table
from ..worker.workflows.api import first, gather, patched, run, start_over
from ..worker.workflows.calls import Call, ChildCall
from ..worker.workflows.determinism import NonDeterministicWarning
from ..worker.workflows.drawn import now, random, uuid4
from ..worker.workflows.failures import Dropped, HistoryTooLong, NonDeterministic, StepFailed, StepInterrupted, StepTimeout
from ..worker.workflows.steps import step
from ..worker.workflows.transaction import transaction
from ..worker.workflows.waits import promise, receive, result, rpc, sleep, sleep_until

__all__ = [
    "AnotherStep",
    "Call",
    "ChildCall",
    "Dropped",
    "History",
    "HistoryTooLong",
    "NextCall",
    "NonDeterministic",
    "NonDeterministicWarning",
    "Replayed",
    "StepFailed",
    "StepInterrupted",
    "StepTimeout",
    "StepUnsettled",
    "first",
    "gather",
    "now",
    "patched",
    "promise",
    "prune_steps",
    "prune_steps_async",
    "random",
    "receive",
    "replay",
    "result",
    "rpc",
    "run",
    "sleep",
    "sleep_until",
    "start_over",
    "step",
    "steps_sql",
    "steps_table",
    "transaction",
    "uuid4",
]
