"""Steps that happen exactly once in the application's own database.

The effects of such a step and the note that it happened, a row of the table `resonate_steps`, are one transaction. Another attempt finds
the row, and takes the result from it. Databases are SQLite and PostgreSQL, through the usual libraries.
"""

from __future__ import annotations

from .key import StepKey
from .once import run_once, run_once_async
from .plain import run_in_transaction, run_in_transaction_async
from .problems import AnotherStep, StepUnsettled
from .pruning import prune_steps, prune_steps_async
from .statements import steps_sql
from .tables import steps_table

__all__ = [
    "AnotherStep",
    "StepKey",
    "StepUnsettled",
    "prune_steps",
    "prune_steps_async",
    "run_in_transaction",
    "run_in_transaction_async",
    "run_once",
    "run_once_async",
    "steps_sql",
    "steps_table",
]
