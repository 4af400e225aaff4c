"""Rules for the options of tasks and jobs that concern several options, or their names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import Invalid
from .signature import is_async, is_generator

__all__ = ["RetryOn", "refuse_unknown", "require_key", "retry_predicate"]

RetryOn = type[BaseException] | tuple[type[BaseException], ...] | Callable[[BaseException], bool]


def retry_predicate(retry_on: RetryOn | None) -> Callable[[BaseException], bool]:
    """Return the function that says whether an exception is retried.

    Raises:
        TypeError: It is neither exceptions nor such a function.
    """
    if retry_on is None:
        return lambda error: True
    kinds = (retry_on,) if isinstance(retry_on, type) else retry_on
    if isinstance(kinds, tuple) and all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
        types: tuple[type[BaseException], ...] = kinds
        return lambda error: isinstance(error, types)
    if isinstance(kinds, tuple) or not callable(kinds) or is_async(kinds) or is_generator(kinds):
        raise TypeError(f"retry_on must be types of exceptions or a synchronous function of one, got {retry_on!r}")
    return kinds


def require_key(type: str, options: Mapping[str, Any]) -> None:
    """Refuse a unique_for without a unique_key, which would have no effect.

    Args:
        type: Of the job.
        options: Of the job, those of its task among them.

    Raises:
        Invalid: There is a unique_for and no unique_key.
    """
    if options.get("unique_for") is not None and options.get("unique_key") is None:
        raise Invalid(
            f"unique_for needs a unique_key, got none for a job of type {type!r}: "
            "give the job a unique_key, or leave out unique_for, also of the task"
        )


def refuse_unknown(whose: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options that do not exist.

    Args:
        whose: The owner of the options, such as ``a job``.
        given: Their names.
        known: The names that exist.

    Raises:
        TypeError: A name is not known; the error has the closest one.

    Example:
        >>> from resonate_core.worker.task_rules import refuse_unknown
        >>> refuse_unknown("a job", ["max_retrys"], ["max_retries", "queue"])
        Traceback (most recent call last):
        ...
        TypeError: a job has no option max_retrys, did you mean max_retries? There are max_retries, queue
    """
    names = sorted(known)
    unknown = sorted(set(given).difference(names))
    if unknown:
        near = difflib.get_close_matches(unknown[0], names, 1)
        hint = f", did you mean {near[0]}?" if near else "."
        raise TypeError(f"{whose} has no option {', '.join(unknown)}{hint} There are {', '.join(names)}")
