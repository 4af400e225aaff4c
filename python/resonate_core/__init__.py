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

from resonate_core import display, errors
from resonate_core._core import (
    Claim,
    Clock,
    Envelope,
    Fenced,
    Fired,
    ManualClock,
    Message,
    Page,
    Promise,
    PromiseBatch,
    PromisePage,
    Promises,
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
    Value,
    Violation,
    Watch,
    __version__,
    check_file,
    cron_next,
    replay,
)
from resonate_core._messages import Subscription
from resonate_core.errors import (
    Closed,
    Conflict,
    Invalid,
    InvariantViolation,
    NotFound,
    ReadOnly,
    ResonateError,
    StoreBusy,
    StoreError,
    Unprocessable,
    Unsupported,
)

__all__ = [
    "Claim",
    "Clock",
    "Closed",
    "Conflict",
    "Envelope",
    "Fenced",
    "Fired",
    "Invalid",
    "InvariantViolation",
    "ManualClock",
    "Message",
    "NotFound",
    "Page",
    "Promise",
    "PromiseBatch",
    "PromisePage",
    "Promises",
    "ReadOnly",
    "Recording",
    "Replay",
    "RequestLimits",
    "ResonateError",
    "Schedule",
    "SchedulePage",
    "Schedules",
    "Store",
    "StoreBusy",
    "StoreError",
    "Subscription",
    "Suspension",
    "SystemClock",
    "Task",
    "TaskPage",
    "Tasks",
    "Unprocessable",
    "Unsupported",
    "Value",
    "Violation",
    "Watch",
    "__version__",
    "check_file",
    "cron_next",
    "display",
    "errors",
    "replay",
]
