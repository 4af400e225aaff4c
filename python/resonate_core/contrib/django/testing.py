"""Tests of programs that enqueue tasks: a backend whose store is in memory, on a clock that the test moves.

    TASKS = {"default": {"BACKEND": "resonate_core.contrib.django.ResonateTestBackend"}}

Tasks and workflows run when the test calls `run_until_idle`, in the thread of the test, so a `django.test.TestCase` sees their changes
and rolls them back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timezone as zones
from typing import Any
from unittest import mock

from django.core.checks import CheckMessage
from django.db import connections
from django.utils import timezone

from resonate_core import ManualClock, Promise, Store
from resonate_core.calls.call import Call
from resonate_core.worker import Drained
from resonate_core.worker.job_source import Claim, Claimed
from resonate_core.worker.store_client import StoreClient

from .backend import ResonateBackend
from .backends import resonate_backends
from .framework import TaskResult, task_backends
from .handlers import make_worker
from .instants import to_ms
from .pending import Pending, take, waiting
from .results import result_of
from .stores import close_stores

__all__ = ["FreshStore", "ResonateTestBackend", "close_stores", "enqueued", "reset_stores", "run_until_idle", "travel"]

_stores: dict[str, Store] = {}
_lock = threading.Lock()


def _renew() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew)


class ResonateTestBackend(ResonateBackend):
    """A backend for tests: its store is in memory, on a manual clock that begins at the present instant.

    A task that is enqueued inside of a transaction, the one of a `TestCase` included, waits for its commit: for
    `captureOnCommitCallbacks(execute=True)`, or for `run_until_idle`. It is dropped if its own `atomic` block is rolled back.
    OPTIONS are those of `ResonateBackend`, so that settings can differ in BACKEND alone; where the store is does not count.
    """

    @property
    def in_database(self) -> bool:
        """False: no table is made anywhere."""
        return False

    @property
    def store(self) -> Store:
        """The store in memory; all threads of the process share it until `reset_stores`."""
        with _lock:
            if self.alias not in _stores:
                _stores[self.alias] = Store(clock=ManualClock(to_ms(timezone.now())))
            return _stores[self.alias]

    @property
    def clock(self) -> ManualClock:
        """The clock of the store."""
        clock = self.store.clock
        assert isinstance(clock, ManualClock)
        return clock

    def now(self) -> int:
        """The instant of the clock, in Unix ms."""
        return self.store.now

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """Report bad settings, except for the place of the store, which does not count here."""
        return [
            each for each in super().check(**kwargs) if each.id in ("resonate.E001", "resonate.E002") and "DATABASE" not in each.msg
        ]


def _backend(alias: str) -> ResonateTestBackend:
    backend = task_backends[alias]
    if not isinstance(backend, ResonateTestBackend):
        raise TypeError(f"TASKS[{alias!r}]['BACKEND'] must be resonate_core.contrib.django.ResonateTestBackend, got {backend!r}")
    return backend


def _own_blocks(backend: ResonateTestBackend) -> bool:
    """Whether a transaction of the program is open, besides that of the test."""
    return any(not getattr(block, "_from_testcase", False) for block in connections[backend.settings.database].atomic_blocks)


def _send_committed(backend: ResonateTestBackend) -> None:
    """Send what waits for the commit of the test's own transaction, which is never committed."""
    pending: list[Pending] = take(backend.settings.database, backend.alias)
    for each in pending:
        each()


class _TestClient(StoreClient):
    """The client of a worker of a test: what a task or a step has enqueued is sent before its next request, as if it had committed.

    Args:
        backend: The backend.
    """

    def __init__(self, backend: ResonateTestBackend) -> None:
        super().__init__(backend.store)
        self._backend = backend

    def _send_committed(self) -> None:
        if not _own_blocks(self._backend):
            _send_committed(self._backend)

    def claim(self, claim: Claim) -> Claimed:
        """Claim, after what was enqueued."""
        self._send_committed()
        return super().claim(claim)

    def promises(self, ids: Sequence[str]) -> list[Promise | None]:
        """Read, after what was enqueued."""
        self._send_committed()
        return super().promises(ids)

    def send(self, calls: Sequence[Call[Any]]) -> list[Any]:
        """Send, after what was enqueued."""
        self._send_committed()
        return super().send(calls)


class _TestStore:
    """The store of a backend for tests, as its worker sees it.

    Args:
        backend: The backend.
    """

    def __init__(self, backend: ResonateTestBackend) -> None:
        self._backend = backend

    def worker_client(self) -> _TestClient:
        """Return the client of a worker."""
        return _TestClient(self._backend)


def run_until_idle(
    backend: str = "default", *, advance: bool = False, until: datetime | None = None, limit: int | None = None
) -> Drained:
    """Run the tasks and workflows that can run now, one after the other in this thread.

    What the test's own transaction has enqueued runs too, as if it was committed, and so does what tasks and steps enqueue.

    Args:
        backend: The name of the backend in TASKS.
        advance: Move the clock from instant to instant, until no task waits: deferred tasks and retries run as well.
        until: Move the clock up to this instant.
        limit: How many attempts at most.

    Returns:
        What was done: its `runs`, and `outcomes` by kind.

    Raises:
        RuntimeError: The test is inside of an `atomic` block of its own.
        TypeError: The backend is not one for tests.
    """
    found = _backend(backend)
    if _own_blocks(found):
        raise RuntimeError("the test must leave its atomic() blocks first: what they have enqueued may still be rolled back")
    _send_committed(found)
    worker = make_worker(found, _TestStore(found), name="test")
    return worker.run_until_idle(limit, advance=advance, until=None if until is None else to_ms(until))


def enqueued(backend: str = "default") -> list[TaskResult]:
    """Return the tasks that were enqueued since the store was made, in order, also those of the open transaction.

    Args:
        backend: The name of the backend in TASKS.
    """
    found = _backend(backend)
    results, cursor = [], None
    while True:
        page = found.store.jobs.search(cursor=cursor, limit=1000)
        results += [result for job in page if (result := result_of(job, backend)) is not None]
        cursor = page.cursor
        if cursor is None:
            break
    open_ones = (each.result for each in waiting(found.settings.database, backend))
    return results + [replace(result) for result in open_ones if result is not None]


def reset_stores() -> None:
    """Give each backend for tests a new, empty store."""
    with _lock:
        for store in _stores.values():
            store.close()
        _stores.clear()


@contextmanager
def travel(to: datetime | None = None) -> Iterator[ManualClock]:
    """Run a block with new, empty stores on one clock, which the block moves; `django.utils.timezone.now` reads it, too.

    Args:
        to: The first instant; None: now.

    Returns:
        The clock: `clock.advance(timedelta(hours=1))` runs what is due in the stores on the way. Tasks run by `run_until_idle`.
    """
    clock = ManualClock(to_ms(timezone.now() if to is None else to))

    def now() -> datetime:
        return datetime.fromtimestamp(clock.now / 1000, zones.utc)

    reset_stores()
    with _lock:
        for backend in resonate_backends():
            if isinstance(backend, ResonateTestBackend):
                _stores[backend.alias] = Store(clock=clock)
    with ExitStack() as leaving:
        leaving.callback(reset_stores)
        leaving.enter_context(mock.patch.object(timezone, "now", now))
        yield clock


class FreshStore:
    """A mixin of test cases: each test begins with empty stores.

    Place it before Django's class: ``class OrderTests(FreshStore, TestCase)``.
    """

    def run(self, result: Any = None) -> Any:
        """Run the test with empty stores."""
        reset_stores()
        return super().run(result)  # type: ignore[misc]
