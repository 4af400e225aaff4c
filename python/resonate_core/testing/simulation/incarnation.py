"""A process of a simulation from one start to its crash; the next start begins another incarnation."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from .abandoned import abandon

__all__ = ["Crashed", "Incarnation", "current_incarnation"]

current_incarnation: ContextVar[Incarnation] = ContextVar("resonate_core_simulated_incarnation")


class Crashed(BaseException):
    """Raised by a request of a worker whose process has crashed, to end the calls of the worker. Code of the program never sees it."""


class Incarnation:
    """One incarnation of a process.

    Args:
        name: The name of the process.
        number: The number of its incarnations before this one.

    Attributes:
        dead: Whether it has ended: no code of it runs any more.
        dying: Whether it ends with the present step.
        line: Its callbacks that wait until an earlier one has run, in order.
        line_busy: Whether a callback of the line is ready to run.
        mortal: Whether it can crash: a process can, the scenario cannot.
        skew: How far its clock is ahead, in ms.
    """

    __slots__ = (
        "dead",
        "dying",
        "end",
        "line",
        "line_busy",
        "line_name",
        "mortal",
        "name",
        "number",
        "parked",
        "skew",
        "tasks",
        "unwinds",
    )

    def __init__(self, name: str, number: int = 0) -> None:
        self.name = name
        self.number = number
        self.line_name = f"{name}:callbacks"
        self.dead = False
        self.dying = False
        self.line: deque[Any] = deque()
        self.line_busy = False
        self.mortal = False
        self.skew = 0
        self.tasks: list[asyncio.Task[Any]] = []  # kept once it is dead
        self.unwinds = False  # whether a function runs that `Crashed` may end
        self.parked: Callable[[], Iterable[object]] = tuple  # coroutines that no task waits for
        self.end: Callable[[], None] = _never

    def __repr__(self) -> str:
        return f"<Incarnation {self.number} of {self.name!r}{' (over)' if self.dead else ''}>"

    def bury(self, tasks: list[asyncio.Task[Any]]) -> None:
        """End this incarnation. Its tasks are kept and never run again, not even when they are freed."""
        self.dead = True
        self.tasks = tasks
        frames: list[object] = list(self.parked())
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine = task.get_coro()
            if coroutine is not None:
                frames.append(coroutine)
        abandon(frames)


def _never() -> None:
    raise AssertionError("this incarnation cannot end")
