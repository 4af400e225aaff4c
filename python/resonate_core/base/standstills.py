"""Workers of this process that stand still: all of their slots are held by jobs that cannot end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .per_process import PerProcess

if TYPE_CHECKING:
    from .._core import Store

__all__ = ["HeldSlot", "Standstill", "awaiting", "awaits", "note", "standstill_line", "standstills_of"]

#: The most jobs that a sentence names.
_MOST_NAMED = 10

#: The ids for which the handler of the running attempt waits; None: no handler runs here.
awaits: ContextVar[list[str] | None] = ContextVar("resonate_core_awaits", default=None)


@contextmanager
def awaiting(id: str) -> Iterator[None]:
    """While the block runs, note for the worker that its handler waits for a promise or a job."""
    ids = awaits.get()
    if ids is None:
        yield
        return
    ids.append(id)
    try:
        yield
    finally:
        ids.remove(id)


class HeldSlot(NamedTuple):
    """A slot of a worker, and why its handler does not return.

    Attributes:
        id: The id of the job; in a batch, of the first job.
        type: The type of the job.
        reason: Why the attempt is over, such as ``timeout``; None: the handler waits for other jobs.
        awaits: The ids for which the handler waits.
    """

    id: str
    type: str
    reason: str | None
    awaits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standstill:
    """A worker whose slots are all held by jobs that cannot end.

    Attributes:
        worker: Its name.
        queues: The queues that it claims from.
        since: When the standstill was found, in Unix ms.
        held: Its slots.
    """

    worker: str
    queues: tuple[str, ...]
    since: int
    held: tuple[HeldSlot, ...]

    def sentence(self, sees: Callable[[str], bool] = lambda id: True) -> str:
        """Return a sentence that names the jobs that hold the slots.

        Args:
            sees: Returns whether the reader may see an id.

        Example:
            >>> from resonate_core.base.standstills import HeldSlot, Standstill
            >>> Standstill("w", ("default",), 0, (HeldSlot("a", "t", "timeout", ()),)).sentence()
            "worker 'w' stands still, its slots are held by: job a (t), whose attempt is over (timeout) and whose function has not returned"
        """
        named = [_described(each, sees) for each in self.held[:_MOST_NAMED]]
        more = len(self.held) - len(named)
        rest = [f"and {more} more"] if more else []
        return f"worker {self.worker!r} stands still, its slots are held by: {'; '.join([*named, *rest])}"


def standstill_line(worker: str) -> str:
    """Return the line that such a worker adds to the reports of its jobs, so that other processes know of the standstill.

    Example:
        >>> from resonate_core.base.standstills import standstill_line
        >>> standstill_line("w")
        "worker 'w' stands still: all of its slots are held by jobs that wait or do not return"
    """
    return f"worker {worker!r} stands still: all of its slots are held by jobs that wait or do not return"


def _described(slot: HeldSlot, sees: Callable[[str], bool]) -> str:
    job = f"job {slot.id} ({slot.type})" if sees(slot.id) else "another job"
    if slot.reason is not None:
        return f"{job}, whose attempt is over ({slot.reason}) and whose function has not returned"
    return f"{job}, which waits for {', '.join(id if sees(id) else 'another job' for id in slot.awaits)}"


#: The standstills of this process, by place and worker. A forked child has none, since it runs no worker of its parent.
_of_process: PerProcess[dict[str | int, dict[str, Standstill]]] = PerProcess(dict)


def _place(store: Store) -> str | int:
    """Return the file or database of a store, which several stores of a process may share."""
    return os.path.realpath(store.path) if store.path is not None else store.url or id(store)


def note(store: Store, worker: str, standstill: Standstill | None) -> None:
    """Note that a worker stands still, or, with None, that it does not any more."""
    place, by_place = _place(store), _of_process.get()
    if standstill is not None:
        by_place.setdefault(place, {})[worker] = standstill
    elif worker in by_place.get(place, ()):
        del by_place[place][worker]
        if not by_place[place]:
            del by_place[place]


def standstills_of(store: Store) -> list[Standstill]:
    """Return the workers of this process that stand still and claim from a store."""
    return list((_of_process.made or {}).get(_place(store), {}).values())
