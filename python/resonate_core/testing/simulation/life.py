"""A process of a simulation, from its start to its crash: the next start is another life."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from .abandoned import abandon

__all__ = ["Crashed", "Life", "current_life"]

current_life: ContextVar[Life] = ContextVar("resonate_core_simulated_life")


class Crashed(BaseException):
    """Leaves the functions of a worker that make requests, when its process has crashed. No code of a program sees it."""


class Life:
    """One life of a process.

    Args:
        name: Of the process.
        number: How many lives of it were before.

    Attributes:
        dead: Whether it is over: nothing of it runs any more.
        dying: Whether it is over at the end of the present step.
        line: Its callbacks that wait for the one before.
        line_busy: Whether one of them is ready.
        mortal: Whether it can crash: it is a process.
        skew: What its clock is ahead, in ms.
    """

    __slots__ = ("dead", "dying", "end", "line", "line_busy", "line_name", "mortal", "name", "number", "skew", "tasks", "unwinds")

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
        self.unwinds = False  # inside of a function that `Crashed` may leave
        self.end: Callable[[], None] = _never

    def __repr__(self) -> str:
        return f"<Life {self.number} of {self.name!r}{' (over)' if self.dead else ''}>"

    def bury(self, tasks: list[asyncio.Task[Any]]) -> None:
        """Keep the tasks of this life, none of which runs again, and let nothing of them run when they are freed."""
        self.dead = True
        self.tasks = tasks
        frames = []
        for task in tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine = task.get_coro()
            if coroutine is not None:
                frames.append(coroutine)
        abandon(frames)


def _never() -> None:
    raise AssertionError("this life cannot end")
