"""Waiting for a promise of a store in this process: threads block, asyncio tasks share one watcher."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from .._core import ManualClock, Promise, Store
from ..base.instants import NEVER
from ..base.standstills import awaiting
from ..base.stopwatch import seconds
from ..errors import NotFound
from .call import VERSION, refusal
from .outcome import Seconds, still_pending, timeout_seconds, value_of
from .store_threads import run_apart
from .values import text
from .wakeup import Wakeup

__all__ = ["FOREIGN_INTERVAL", "result", "result_async", "wait", "wait_async"]

#: Seconds between two reads of a store that other processes can use: a settlement of another process is seen this much later, at most.
FOREIGN_INTERVAL = 0.05
#: Seconds between two reads of a store with a manual clock, whose deadlines may pass without a commit.
_MANUAL_INTERVAL = 0.01
#: The longest pause between two reads (s): meanwhile the clock may have been set, or the store closed.
_LONGEST_PAUSE = 1.0
#: The most promises that one transaction reads: it holds the GIL while it makes the records.
_READ_AT_ONCE = 128
#: The share of the time of one thread that reads without a commit may take.
_BUSY_SHARE = 0.2
#: After a read that took longer than this (s), the next one waits as long as the read took, even if there are commits.
_LONG_READ = 0.002
_HEAD = {"corrId": "wait", "version": VERSION}
_LOOKS_ANYWAY = 0  # an instant that has passed, so that only messages and settlements wake, and no timer


def _pause(store: Store, due: int) -> float:
    """Return the seconds until the promises must be read again, if there is no commit of this process before.

    Args:
        store: The store.
        due: The earliest deadline of the promises, in Unix ms.
    """
    if isinstance(store.clock, ManualClock):
        return _MANUAL_INTERVAL
    longest = FOREIGN_INTERVAL if store.shared else _LONGEST_PAUSE
    return min(max((due - store.now) / 1000, 0.001), longest)


def _watching(store: Store) -> Wakeup:
    return Wakeup(lambda descriptor: store.watch(descriptor, settled=True))


def wait(store: Store, id: str, timeout: Seconds | None = None) -> Promise:
    """Block the thread until a promise is settled; see `Store.wait`."""
    limit = timeout_seconds(timeout)
    until = None if limit is None else seconds() + limit
    promise = store.promises.get(id)
    if promise.state != "pending":
        return promise
    with awaiting(id), _watching(store) as wakeup:
        while True:
            wakeup.rearm(_LOOKS_ANYWAY)
            try:
                promise = store.promises.get(id)
            except NotFound as error:
                raise deleted(id) from error
            if promise.state != "pending":
                return promise
            left = float("inf") if until is None else until - seconds()
            if left <= 0:
                assert limit is not None
                raise still_pending(id, limit)
            wakeup.wait(min(left, _pause(store, promise.timeout_at)))


def result(store: Store, id: str, timeout: Seconds | None = None) -> Any:
    """Block the thread until a promise is settled, and return its value; see `Store.result`."""
    return value_of(wait(store, id, timeout))


def deleted(id: str) -> NotFound:
    """Return the error for a promise that was deleted while a call waited for it."""
    return NotFound(f'promise "{id}" was deleted while it was awaited; keep a job after it completed with retention')


class _Waiter:
    """One call that waits: its future, and the timer of its timeout. It times out only after the promise was read since its beginning."""

    __slots__ = ("future", "late", "timer", "was_read")

    def __init__(self, future: asyncio.Future[Promise]) -> None:
        self.future = future
        self.timer: asyncio.TimerHandle | None = None
        self.was_read = False
        self.late: TimeoutError | None = None

    def time_out(self, id: str, limit: float) -> None:
        """End it with an error, now or once the promise is read."""
        self.late = still_pending(id, limit)
        self._end_if_late()

    def read(self) -> None:
        """The promise was read, and its outcome is set if it is settled."""
        self.was_read = True
        self._end_if_late()

    def _end_if_late(self) -> None:
        if self.was_read and self.late is not None and not self.future.done():
            self.future.set_exception(self.late)


class _Watcher:
    """The waits of one loop for one store. They share a wake-up and the reads."""

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self.loop = loop
        self.waiting: dict[str, dict[_Waiter, None]] = {}  # the waiters of each id, in order
        self.fresh: dict[str, list[_Waiter]] = {}  # those that no read has followed yet
        self.due: dict[str, int] = {}  # the deadlines of the promises that were read, in Unix ms
        self.woken = asyncio.Event()
        self.committed = False
        self.moves_clock = bool(
            getattr(loop, "moves_clock", False)
        )  # whether this is the loop of a simulation, where each commit wakes
        self.task = loop.create_task(self.work())

    def add(self, id: str) -> _Waiter:
        waiter = _Waiter(self.loop.create_future())
        self.waiting.setdefault(id, {})[waiter] = None
        self.fresh.setdefault(id, []).append(waiter)
        self.woken.set()
        return waiter

    def discard(self, id: str, waiter: _Waiter) -> None:
        if waiter.timer is not None:
            waiter.timer.cancel()
        waiters = self.waiting.get(id, {})
        waiters.pop(waiter, None)
        if not waiters:
            self.forget(id)
            if not self.waiting:
                self.woken.set()  # the task ends

    def forget(self, id: str) -> dict[_Waiter, None]:
        self.fresh.pop(id, None)
        self.due.pop(id, None)
        return self.waiting.pop(id, {})

    def commit_seen(self) -> None:
        self.committed = True
        self.woken.set()

    async def work(self) -> None:
        failure: BaseException = asyncio.CancelledError()
        try:
            await asyncio.sleep(0)  # until the first wait is added
            with _watching(self.store).listen(self.loop, self.commit_seen) as wakeup:
                await self.watch(wakeup)
        except Exception as error:
            failure = error
        finally:
            _watchers[self.loop].pop(id(self.store), None)
            for waited in list(self.waiting):
                self.end(waited, failure)

    async def watch(self, wakeup: Wakeup) -> None:
        next_look = 0.0
        while self.waiting:
            self.woken.clear()
            began = seconds()
            everything = self.committed or began >= next_look
            if everything:
                self.committed = False
                wakeup.rearm(_LOOKS_ANYWAY)  # before the read: a later commit wakes again
            fresh, self.fresh = self.fresh, {}
            ids = list(self.waiting if everything else fresh)
            for at in range(0, len(ids), _READ_AT_ONCE):
                await self.read(ids[at : at + _READ_AT_ONCE])
            for waiters in fresh.values():
                for waiter in waiters:
                    waiter.read()
            if not self.waiting:
                return
            took = seconds() - began
            due = min(self.due.values(), default=NEVER)
            pause = max((due - self.store.now) / 1000, 0) if self.moves_clock else _pause(self.store, due)
            if everything:
                next_look = seconds() + max(pause, took / _BUSY_SHARE)
                if took > _LONG_READ:
                    await asyncio.sleep(took)
            else:
                next_look = min(next_look, seconds() + pause)
            await self.sleep(next_look - seconds())

    async def sleep(self, length: float) -> None:
        timer = self.loop.call_later(max(length, 0), self.woken.set)
        try:
            await self.woken.wait()
        finally:
            timer.cancel()

    async def read(self, ids: list[str]) -> None:
        """Read promises, and end the waits of those that are settled."""
        requests = [{"kind": "promise.get", "head": _HEAD, "data": {"id": one}} for one in ids]
        answers = await run_apart(self.loop, self.store, self.store._run_calls, requests)
        for waited, (status, answer) in zip(ids, answers, strict=True):
            if status == 404 and waited in self.due:
                self.end(waited, deleted(waited))
            elif status >= 300:
                self.end(waited, refusal(status, answer))
            elif answer.state != "pending":
                self.end(waited, answer)
            elif waited in self.waiting:
                self.due[waited] = answer.timeout_at

    def end(self, waited: str, outcome: Promise | BaseException) -> None:
        for waiter in self.forget(waited):
            if waiter.future.done():
                continue
            if isinstance(outcome, BaseException):
                waiter.future.set_exception(outcome)
            else:
                waiter.future.set_result(outcome)


# By loop, then by the identity of the store, which its watcher holds while a task waits.
_watchers: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, _Watcher]] = WeakKeyDictionary()


async def wait_async(store: Store, waited: str, timeout: Seconds | None = None) -> Promise:
    """Wait until a promise is settled; see `AsyncStore.wait`."""
    text("id", waited)
    limit = timeout_seconds(timeout)
    loop = asyncio.get_running_loop()
    watchers = _watchers.setdefault(loop, {})
    watcher = watchers.get(id(store))
    if watcher is None:
        watcher = watchers[id(store)] = _Watcher(store, loop)
    waiter = watcher.add(waited)
    if limit is not None:
        waiter.timer = loop.call_later(limit, waiter.time_out, waited, limit)
    try:
        with awaiting(waited):
            return await waiter.future
    finally:
        watcher.discard(waited, waiter)


async def result_async(store: Store, waited: str, timeout: Seconds | None = None) -> Any:
    """Wait until a promise is settled, and return its value; see `AsyncStore.result`."""
    return value_of(await wait_async(store, waited, timeout))
