"""Options of which the store is the judge: an empty store in memory refuses them when they are given, not at each job."""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import Repr
from typing import Any

from .._core import ManualClock, Store
from ..errors import Invalid

__all__ = ["refuse_claim", "refuse_options"]

_short = Repr()
_short.maxstring = _short.maxother = 100


def refuse_options(type: str, options: Mapping[str, Any]) -> None:
    """Refuse options of jobs that no store accepts.

    Args:
        type: Of the jobs.
        options: As of `Store.jobs.enqueue`. A ``unique_for`` may lack its key, and ``after_failed`` its ``after``, which a job can add.

    Raises:
        Invalid: An option out of its range.
        TypeError: An option of the wrong type.
    """
    _probe(type, options)


def _probe(type: str, options: Mapping[str, Any]) -> None:
    added = {"unique_key": "any"} if options.get("unique_for") is not None and options.get("unique_key") is None else {}
    if options.get("after_failed") is not None:
        added["after"] = "any"
    with Store(clock=ManualClock()) as store:
        store.promises.create("any", timeout=1)
        try:
            store.jobs.enqueue(type, **{**options, **added})
        except (TypeError, Invalid) as error:
            if len(options) > 1:
                for name, value in options.items():  # a refused one is named with its value
                    _probe(type, {name: value})
                raise
            raise _with_values(error, options) from error


def _with_values(error: Exception, options: Mapping[str, Any]) -> Exception:
    """The error, which also shows the options by the names and the values that the caller gave."""
    kind = TypeError if isinstance(error, TypeError) else Invalid
    return kind(f"{error} ({', '.join(f'{name}={_short.repr(value)}' for name, value in options.items())})")


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
        try:
            store.jobs.claim(queues, 1, **options)
        except (TypeError, Invalid) as error:
            raise _with_values(error, {"queues": queues, "name": options["worker"]}) from error
