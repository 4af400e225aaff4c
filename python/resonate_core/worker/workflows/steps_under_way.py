"""The steps that run in a worker: which of them run for a while, and their spans."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ...base.step_lines import running_line
from ..context import JobContext
from .operations import Invoke

__all__ = ["PATIENCE", "StepsUnderWay"]

#: Seconds between two looks at the steps that run. A step that both have seen is reported.
PATIENCE = 1.0


class StepsUnderWay:
    """The steps that run in one worker.

    A step that runs for a second or two adds a line to the report of its workflow, so that `why` knows of it: it is recorded once it has
    ended. A shorter one costs an entry in a dict: one timer looks at all of them.

    Args:
        later: Calls a function once, in the loop of the worker, after so many seconds; any thread may call it. None: nothing is
            reported, since no time passes while a step runs.
    """

    def __init__(self, later: Callable[[float, Callable[[], None]], object] | None) -> None:
        self._later = later
        self._by_id: dict[int, tuple[int, JobContext, Invoke]] = {}  # by the identity of the call, with the number of the next look
        self._reported: set[int] = set()
        self._next_look = 1
        self._is_watched = False
        self._watching = threading.Lock()

    def begin(self, context: JobContext, step: Invoke) -> Any:
        """Note that a step begins; return its span, or None.

        Args:
            context: Of the attempt of its workflow.
            step: The step.
        """
        if self._later is not None:
            self._by_id[id(step)] = (self._next_look, context, step)
            if not self._is_watched:
                self._watch()
        if context.trace is None:
            return None
        return context.trace.begin(step.scope.context, step.name, step.id, step.attempt)

    def end(self, step: Invoke) -> None:
        """Note that it has ended."""
        self._by_id.pop(id(step), None)
        if self._reported:
            self._reported.discard(id(step))

    def _watch(self) -> None:
        with self._watching:
            if not self._is_watched and self._later is not None:
                self._is_watched = True
                self._later(PATIENCE, self._look)

    def _look(self) -> None:
        look, self._next_look = self._next_look, self._next_look + 1
        for identity, (first_look, context, step) in list(self._by_id.items()):
            if first_look < look and identity not in self._reported:
                self._reported.add(identity)
                context.report(running_line(step.name, step.id, step.attempt, step.started))
        self._is_watched = False  # before what follows: a step that begins meanwhile has it watched
        if self._by_id:
            self._watch()
