"""A store whose workers crash at their requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from resonate_core.testing.simulation.abandoned import abandon
from resonate_core.worker.store_client import StoreClient

__all__ = ["Crash", "CrashingStore", "bury"]


class Crash(KeyboardInterrupt):
    """Ends a drain, or an event loop, in the middle of a request, as the end of its process does.

    Attributes:
        tasks: Those of the event loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        with contextlib.suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
            self._tasks = asyncio.all_tasks(self._loop)

    @property
    def tasks(self) -> set[asyncio.Task[Any]]:
        """The tasks, with those that others have begun before the event loop stood still."""
        return self._tasks if self._loop is None else self._tasks | asyncio.all_tasks(self._loop)


def bury(tasks: Iterable[asyncio.Task[Any]], parked: Iterable[object] = ()) -> None:
    """Let go of what a crash has left, without running any of it."""
    left: list[object] = list(parked)
    for task in tasks:
        if not task.done():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            left.append(task.get_coro())
    abandon(left)


class _CrashingClient(StoreClient):
    """A client that crashes before or after a request, and answers none after that."""

    def __init__(self, store: Any, crashes: Callable[[], str | None]) -> None:
        super().__init__(store)
        self._crashes = crashes
        self._over = False

    def _around(self, ask: Callable[[], Any]) -> Any:
        if self._over:
            raise Crash
        when = self._crashes()
        if when == "before":
            self._over = True
            raise Crash
        answer = ask()
        if when == "after":
            self._over = True
            raise Crash
        return answer


def _with_crashes(name: str) -> Any:
    plain = getattr(StoreClient, name)
    return lambda self, *args: self._around(lambda: plain(self, *args))


for _name in (
    "exchange",
    "claim",
    "start_many",
    "complete_many",
    "end_many",
    "report",
    "run",
    "send",
    "record",
    "history",
    "promises",
):
    setattr(_CrashingClient, _name, _with_crashes(_name))


class CrashingStore:
    """A store whose workers crash at their requests.

    Args:
        store: The store.
        crashes: Returns whether the worker crashes `before` or `after` the next request; None: neither.
    """

    def __init__(self, store: Any, crashes: Callable[[], str | None]) -> None:
        self._store = store
        self._crashes = crashes

    def worker_client(self) -> StoreClient:
        """Return the client of a worker."""
        return _CrashingClient(self._store, self._crashes)
