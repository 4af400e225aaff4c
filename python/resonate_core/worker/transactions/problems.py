"""Why a step has no outcome."""

from __future__ import annotations

from ...errors import Conflict, ResonateError

__all__ = ["AnotherStep", "StepUnsettled"]


class StepUnsettled(ResonateError):
    """Whether the step took effect, now or in an earlier attempt, is not known: its row could neither be written nor be read.

    The session was in a transaction, the database or the table was not there, it did not answer, or not to the commit. This is not the
    failure of the step, so it must not be recorded as one: a later attempt finds out.
    """


class AnotherStep(Conflict):
    """The row of the step was written by another function: the code of the workflow has changed since then.

    Attributes:
        recorded: The name of the function that wrote it.
        called: The name of the function that was called.
    """

    def __init__(self, message: str, recorded: str, called: str) -> None:
        super().__init__(message)
        self.recorded = recorded
        self.called = called

    def __reduce__(self) -> tuple[type[AnotherStep], tuple[object, ...]]:
        return type(self), (self.message, self.recorded, self.called)
