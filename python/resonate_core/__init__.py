"""Durable promises, tasks, schedules and timers: one deterministic engine in a Python variable.

Example:
    >>> import resonate_core as rc
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.promises.create("order:1", timeout=60_000, param={"amount": 3})
    >>> store.promises.resolve("order:1", "shipped").value.json()
    'shipped'
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from resonate_core import errors
from resonate_core._core import (
    Claim,
    Clock,
    DatabaseClock,
    Envelope,
    Fenced,
    Fired,
    Job,
    JobBatch,
    JobHeartbeat,
    Jobs,
    JobsFound,
    JobState,
    ManualClock,
    Message,
    Page,
    Promise,
    PromiseBatch,
    PromisePage,
    Promises,
    PromisesFound,
    PromiseState,
    Queues,
    Recording,
    Replay,
    RequestLimits,
    Schedule,
    SchedulePage,
    Schedules,
    Store,
    Suspension,
    SystemClock,
    Task,
    TaskPage,
    Tasks,
    TaskState,
    Value,
    Views,
    Violation,
    Watch,
    __version__,
    check_file,
    cron_next,
    database_counts,
    replay,
)
from resonate_core.errors import (
    Closed,
    Conflict,
    Invalid,
    InvariantViolation,
    NotFound,
    ReadOnly,
    Rejected,
    ResonateError,
    StoreBusy,
    StoreError,
    Unprocessable,
    Unreachable,
    Unsupported,
)

if TYPE_CHECKING:
    from resonate_core import display as display
    from resonate_core.base.queue_options import QueueDefaults, QueueGroups, QueueOptions, QueueRate
    from resonate_core.calls.delivery import Subscription
    from resonate_core.calls.graph import AsyncGraph, Graph
    from resonate_core.calls.graph_nodes import Node
    from resonate_core.calls.workflow_records import Step
    from resonate_core.client import connect
    from resonate_core.explain.diff import Diff, diff
    from resonate_core.explain.reasons import Why
    from resonate_core.explain.why import why
    from resonate_core.submission import submit

__all__ = [
    "AsyncGraph",
    "Claim",
    "Clock",
    "Closed",
    "Conflict",
    "DatabaseClock",
    "Diff",
    "Envelope",
    "Fenced",
    "Fired",
    "Graph",
    "Invalid",
    "InvariantViolation",
    "Job",
    "JobBatch",
    "JobHeartbeat",
    "JobState",
    "Jobs",
    "JobsFound",
    "ManualClock",
    "Message",
    "Node",
    "NotFound",
    "Page",
    "Promise",
    "PromiseBatch",
    "PromisePage",
    "PromiseState",
    "Promises",
    "PromisesFound",
    "QueueDefaults",
    "QueueGroups",
    "QueueOptions",
    "QueueRate",
    "Queues",
    "ReadOnly",
    "Recording",
    "Rejected",
    "Replay",
    "RequestLimits",
    "ResonateError",
    "Schedule",
    "SchedulePage",
    "Schedules",
    "Step",
    "Store",
    "StoreBusy",
    "StoreError",
    "Subscription",
    "Suspension",
    "SystemClock",
    "Task",
    "TaskPage",
    "TaskState",
    "Tasks",
    "Unprocessable",
    "Unreachable",
    "Unsupported",
    "Value",
    "Views",
    "Violation",
    "Watch",
    "Why",
    "__version__",
    "check_file",
    "connect",
    "cron_next",
    "database_counts",
    "diff",
    "display",
    "errors",
    "replay",
    "submit",
    "why",
]

#: Names that few programs use, each with its module. The module is imported at the first use of the name: these need more of the
#: standard library than the rest of the package.
_LATER = {
    "AsyncGraph": "resonate_core.calls.graph",
    "Diff": "resonate_core.explain.diff",
    "Graph": "resonate_core.calls.graph",
    "Node": "resonate_core.calls.graph_nodes",
    "QueueDefaults": "resonate_core.base.queue_options",
    "QueueGroups": "resonate_core.base.queue_options",
    "QueueOptions": "resonate_core.base.queue_options",
    "QueueRate": "resonate_core.base.queue_options",
    "Step": "resonate_core.calls.workflow_records",
    "Subscription": "resonate_core.calls.delivery",
    "Why": "resonate_core.explain.reasons",
    "connect": "resonate_core.client",
    "diff": "resonate_core.explain.diff",
    "submit": "resonate_core.submission",
    "why": "resonate_core.explain.why",
}

if not TYPE_CHECKING:  # a type checker that sees __getattr__ accepts every misspelt name

    def __getattr__(name):
        if name == "display":
            return import_module("resonate_core.display")
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_LATER[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if "IPython" in sys.modules:  # a notebook: lists of records are shown as tables
    import_module("resonate_core.display").register()
