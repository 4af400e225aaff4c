"""The calls of a `def` workflow, without ``await``. The rest is in `resonate_core.workflow`.

Example:
    >>> from datetime import timedelta
    >>> from resonate_core.workflow import step
    >>> from resonate_core.workflow.blocking import sleep
    >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
    >>> @step(retries=3)
    ... def charge(order: str) -> str:
    ...     return f"receipt of {order}"
    >>> @worker.workflow("order:fulfil")
    ... def fulfil(order: str) -> str:
    ...     receipt = charge(order)
    ...     sleep(timedelta(days=1))
    ...     return receipt
    >>> _ = fulfil.delay("7")
    >>> worker.run_until_idle(advance=True).runs[-1].result
    'receipt of 7'
"""

from __future__ import annotations

from ..worker.workflows.blocking_api import (
    first,
    gather,
    now,
    patched,
    promise,
    random,
    receive,
    result,
    rpc,
    run,
    sleep,
    sleep_until,
    start,
    start_over,
    uuid4,
)
from ..worker.workflows.transaction import transaction_in_thread as transaction

__all__ = [
    "first",
    "gather",
    "now",
    "patched",
    "promise",
    "random",
    "receive",
    "result",
    "rpc",
    "run",
    "sleep",
    "sleep_until",
    "start",
    "start_over",
    "transaction",
    "uuid4",
]
