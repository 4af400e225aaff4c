"""What calls ask the driver of a run to do. A call is a generator of these, so that its rules are the same for both kinds of functions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...calls.call import Call as Request
from .records import Step

__all__ = ["Invoke", "Operation", "Pause", "Performance", "Record", "Refused", "Wait"]


@dataclass(frozen=True, slots=True)
class Record:
    """Record steps. Its result is their promises.

    Attributes:
        steps: The steps.
    """

    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until a promise is settled. Its result is the promise; a `Refused` is raised if there is none.

    Attributes:
        id: Of the promise.
        request: Makes the promise; None: it is there, or among the steps to be recorded.
    """

    id: str
    request: Request[Any] | None = None


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call a function of the program as a step, with calls that are plain ones. Its result is that of the function.

    Attributes:
        function: The function. The result of an asynchronous one is awaited.
        args: Its arguments.
        kwargs: Its keywords.
        scope: Whose context variables it gets.
        name: Of the step.
        is_async: Whether it is a coroutine function.
        timeout: How long it may take, in ms.
        id: Of the step.
        attempt: The number of this attempt.
        started: When it began, in Unix ms.
    """

    function: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    scope: Any
    name: str
    is_async: bool
    timeout: int | None = None
    id: str = ""
    attempt: int = 1
    started: int = 0


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait in this process.

    Attributes:
        delay: In ms.
    """

    delay: int


class Refused(Exception):
    """The store has refused to make what was to be waited for.

    Args:
        error: Why.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


Operation = Record | Wait | Invoke | Pause
Performance = Generator[Operation, Any, Any]
