"""A failure that a loop of the server meets in every round, logged once: an outage of the store would fill the log otherwise."""

from __future__ import annotations

import logging

__all__ = ["Outage"]

_log = logging.getLogger("resonate_core.server")


class Outage:
    """Logs a failure when it begins or changes, and when it is over.

    Attributes:
        problem: The failure, as it was logged; None if the last round did not fail.

    Args:
        failure: The beginning of the record of an error, such as "the store could not be driven"; the error follows it.
        end: The record of the first round that passes, such as "the store is driven again".
        pause: Seconds between two rounds that fail.
    """

    def __init__(self, failure: str, end: str, pause: float) -> None:
        self.problem: str | None = None
        self._failure = failure
        self._end = end
        self._pause = pause

    def failed(self, error: Exception) -> None:
        """Log the error of a round, if the round before it did not fail in the same way."""
        problem = f"{self._failure}: {str(error) or type(error).__name__}"
        if problem != self.problem:
            _log.error("%s; tried every %.0f s", problem, self._pause, exc_info=error)
        self.problem = problem

    def passed(self) -> None:
        """Log that the failure is over, if there was one."""
        if self.problem is not None:
            _log.info("%s", self._end)
        self.problem = None
