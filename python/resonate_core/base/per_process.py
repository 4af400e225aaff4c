"""Objects that a forked child must not share with its parent."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["PerProcess"]

T = TypeVar("T")


class PerProcess(Generic[T]):
    """One object for each process, such as connections or threads: a forked child makes its own at its first use.

    Two processes that read one connection get each other's answers, and a child has no thread of its parent. The parent's object is
    not closed in the child: locks in it may be held by threads that the child does not have.

    Args:
        make: Makes the object. Threads that use it first at the same time may each make one; the last one stays.

    Example:
        >>> from resonate_core.base.per_process import PerProcess
        >>> of_process = PerProcess(list)
        >>> of_process.made, of_process.get() is of_process.get()
        (None, True)
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: tuple[int, T] | None = None

    def get(self) -> T:
        """The object of this process."""
        process, made = os.getpid(), self._made
        if made is None or made[0] != process:
            made = self._made = process, self._make()
        return made[1]

    @property
    def made(self) -> T | None:
        """The object of this process, if it was made."""
        return self._made[1] if self._made is not None and self._made[0] == os.getpid() else None
