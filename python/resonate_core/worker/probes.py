"""Options of which the store is the judge: an empty store in memory refuses them when they are given, not at each job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._core import ManualClock, Store

__all__ = ["refuse_claim", "refuse_options"]


def refuse_options(type: str, options: Mapping[str, Any]) -> None:
    """Refuse options of jobs that no store accepts.

    Args:
        type: Of the jobs.
        options: As of `Store.jobs.enqueue`. A ``unique_for`` may lack its key, which a job can add.

    Raises:
        Invalid: An option out of its range.
        TypeError: An option of the wrong type.
    """
    key = {"unique_key": "any"} if options.get("unique_for") is not None else {}
    with Store(clock=ManualClock()) as store:
        store.jobs.enqueue(type, **{**key, **options})


def refuse_claim(queues: Any, **options: Any) -> None:
    """Refuse options of a claim that no store accepts.

    Args:
        queues: As of `Store.jobs.claim`.
        options: As there.

    Raises:
        Invalid: An option out of its range.
        TypeError: An option of the wrong type.
    """
    with Store(clock=ManualClock()) as store:
        store.jobs.claim(queues, 1, **options)
