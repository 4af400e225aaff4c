"""Any request to the store, in the transaction of the caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .backends import backend_of

__all__ = ["submit"]


def submit(kind: str, data: Mapping[str, Any], *, backend: str | None = None) -> None:
    """Send a request that changes the store, such as the start of a workflow: at once, or inside of a transaction with its commit.

    Args:
        kind: Of the request, such as ``promise.create`` or ``promise.settle`` (PROTOCOL 5, JOBS 5).
        data: Its data, as on the wire.
        backend: The name of a backend in TASKS; None: the first of this package.

    Raises:
        LookupError: There is no such backend.
        Invalid: The request breaks a rule.
        ResonateError: The store refuses it; only outside of a transaction. A request that it refuses after the commit is one of
            `Store.problems`, which ``manage.py resonate_health`` reports.
    """
    backend_of(backend).send(kind, data)
