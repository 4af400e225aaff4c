"""What a step is known by in the application's database."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

__all__ = ["StepKey"]


class StepKey(NamedTuple):
    """The key of a step: two attempts with equal keys are attempts of one step.

    Attributes:
        job: The id of the job.
        created_at: The instant at which the job was created, in ms: an id may be used again once its job was removed.
        restarts: How many runs of the job have ended with `start_over`: each has an empty history, and counts its steps from 1.
        step: The place of the step in its run, such as ``3`` or ``3:1:2``.

    Example:
        >>> from resonate_core.worker.transactions import StepKey
        >>> StepKey("order-7", 0, 0, "3").digest[:8]
        '8b882e0d'
    """

    job: str
    created_at: int
    restarts: int
    step: str

    @property
    def digest(self) -> str:
        """The primary key of its row, 64 hexadecimal digits: ids of jobs have any length, keys of an index have not."""
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()

    def __str__(self) -> str:
        return f'step {self.step} of "{self.job}"'
