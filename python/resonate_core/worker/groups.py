"""Groups of exceptions, as an `asyncio.TaskGroup` raises them: what their members mean for an attempt."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["is_retried", "members"]


def members(error: BaseException) -> list[BaseException]:
    """Return the exceptions of a group, those of groups in it included, in order; of any other exception, itself.

    Python 3.10 has no groups of its own; there those of the package `exceptiongroup` count.

    Example:
        >>> from resonate_core.worker.groups import members
        >>> members(ValueError("no"))
        [ValueError('no')]
    """
    return list(_members(error, _kind_of_groups()))


def _kind_of_groups() -> Any:
    kind = getattr(builtins, "BaseExceptionGroup", None)
    return kind or getattr(sys.modules.get("exceptiongroup"), "BaseExceptionGroup", ())


def _members(error: BaseException, groups: Any) -> Iterator[BaseException]:
    if isinstance(error, groups):
        for each in error.exceptions:
            yield from _members(each, groups)
    else:
        yield error


def is_retried(error: BaseException, retries: Callable[[BaseException], bool]) -> bool:
    """Return whether an exception is retried: a group is if it is retried itself, or if each of its members is.

    Args:
        error: What the handler raised.
        retries: The ``retry_on`` of its task, as a function.
    """
    if retries(error):
        return True
    found = members(error)
    return found[0] is not error and all(retries(each) for each in found)
