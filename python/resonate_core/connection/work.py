"""The durable tasks that a worker executes, from its requests and replies.

A worker holds a task from the reply that gave it the lease until it suspends, fulfills or releases it. Manual time may
not move while held work is waiting for something real (a thread, a socket); it may while that work only waits for
time itself. To tell the two apart, every asyncio task that works on a durable task carries that `Work` in its context:
the variable is set where the reply arrives, and asyncio hands contexts down to the tasks that a task creates.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from types import CodeType
from typing import Any, Protocol

__all__ = ["Ledger", "Member", "Work", "current_work", "tasks_of"]


class Member(Protocol):
    """A worker of one store and event loop: a `Connection`."""

    group: str
    stopped: bool

    @property
    def pid(self) -> str:
        """The pid under which it holds leases."""

    @property
    def receives(self) -> bool:
        """Whether it takes messages."""

    def receive(self, message: str) -> None:
        """Hand one message to it."""


class Work:
    """One lease of one durable task in one worker, or with no task id the worker's heartbeat loop."""

    __slots__ = ("__weakref__", "connection", "task_id")

    def __init__(self, connection: Member, task_id: str | None) -> None:
        self.connection = connection
        self.task_id = task_id

    def __repr__(self) -> str:
        return f"Work({self.task_id!r} on {self.connection.pid!r})"


current_work: ContextVar[Work | None] = ContextVar("resonate_core_work", default=None)


def tasks_of(loop: asyncio.AbstractEventLoop) -> list[tuple[asyncio.Task[Any], Work]]:
    """Return the unfinished asyncio tasks of the loop that work on a durable task, each with that work."""
    found = []
    for task in asyncio.all_tasks(loop):
        work = task.get_context().get(current_work)
        if work is not None:
            found.append((task, work))
    return found


class Ledger:
    """The leases that the workers of one exchange hold."""

    def __init__(self) -> None:
        self._held: dict[tuple[Member, str], Work] = {}
        self._timeless: set[CodeType] = set()

    def waits_for_time(self, code: CodeType) -> None:
        """Declare that a coroutine with this code waits for time or promises, never for something real."""
        self._timeless.add(code)

    def note(self, connection: Member, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Record one request and its reply; called in the asyncio task that made the request."""
        kind = request["kind"]
        if kind == "task.heartbeat":
            # The loop inherited the context of the first task that it keeps alive, and outlives that task.
            current_work.set(Work(connection, None))
            return
        status, data = reply["head"]["status"], reply["data"]
        if kind in ("task.create", "task.acquire"):
            if status == 200 and data["task"]["state"] == "acquired" and not _pending_timer(data["promise"]):
                work = Work(connection, data["task"]["id"])
                self._held[connection, data["task"]["id"]] = work
                current_work.set(work)
        elif kind == "task.release" or (kind in ("task.suspend", "task.fulfill") and status == 200):
            # A release that is refused means that the lease was lost already.
            self._held.pop((connection, request["data"]["id"]), None)

    def holds(self, work: Work) -> bool:
        """Whether this lease is held still."""
        return work.task_id is not None and self._held.get((work.connection, work.task_id)) is work

    def drop(self, connection: Member) -> None:
        """Forget the leases of a worker that is gone."""
        for key in [key for key in self._held if key[0] is connection]:
            del self._held[key]

    def busy(self, loop: asyncio.AbstractEventLoop) -> dict[Work, list[asyncio.Task[Any]]]:
        """Return the held work that waits for something real, with its asyncio tasks. Call it on an idle loop."""
        if not self._held:
            return {}
        running: dict[Work, list[asyncio.Task[Any]]] = {work: [] for work in self._held.values()}
        resting: set[Work] = set()
        for task, work in tasks_of(loop):
            if work in running:
                running[work].append(task)
                if self._is_timeless(task):
                    resting.add(work)
        for key, work in list(self._held.items()):
            if not running[work]:  # its execution ended without giving the task up: only the lease is left
                del self._held[key]
                resting.add(work)
        return {work: tasks for work, tasks in running.items() if work not in resting}

    def _is_timeless(self, task: asyncio.Task[Any]) -> bool:
        awaited: Any = task.get_coro()
        while awaited is not None:
            if getattr(awaited, "cr_code", None) in self._timeless:
                return True
            awaited = getattr(awaited, "cr_await", None)
        return False


def _pending_timer(promise: dict[str, Any]) -> bool:
    """Return whether a promise is a pending timer. The SDK drops its task without a request, since the deadline settles the promise."""
    return bool(promise["state"] == "pending" and promise["tags"].get("resonate:timer") == "true")
