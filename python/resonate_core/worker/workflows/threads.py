"""Runs the function of a `def` workflow in its thread. At a wait the job is suspended and the function is dropped; a replay continues."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from threading import get_ident
from typing import Any, TypeVar

from ..._core import Promise
from ...base.stopwatch import seconds as seconds_now
from ...errors import Conflict, NotFound, ResonateError, Unprocessable
from ..context import JobContext
from ..outcomes import JobCancelled
from .calls import Call
from .failures import Dropped, RunEnded, StepTimeout
from .operations import Invoke, Operation, Pause, Record, Refused, Wait
from .records import is_pending, settled
from .requests import NotHeld
from .scope import Scope, inside
from .support import WorkflowSupport
from .thread_requests import ThreadRequests

__all__ = ["ThreadRun"]

_log = logging.getLogger("resonate_core.workflow")
_T = TypeVar("_T")

#: Seconds between two looks at promises while a step works, and at whether the attempt was called off.
_LOOK, _GLANCE = 0.5, 0.05
#: The most ids that one suspension names.
_MOST_AWAITED = 10_000


class _Later(BaseException):
    """A step in a thread of its own waits: its thread ends, and another one continues once a promise is settled.

    Args:
        id: Of the promise.
    """

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.id = id


class _GivenUp(BaseException):
    """A step in a thread of its own has lost against another one: its outcome is ignored."""


class ThreadRun(ThreadRequests):
    """A run of a `def` workflow.

    Args:
        support: Of the worker.
        context: Of the attempt.
        records: The history.
    """

    def __init__(self, support: WorkflowSupport, context: JobContext, records: dict[str, Promise]) -> None:
        super().__init__(support, context, records)
        self.suspended = False
        self._ended = threading.Condition(self._lock)
        self._under_way: dict[Call[Any], threading.Thread] = {}  # steps in threads of their own
        self._later: dict[Call[Any], str] = {}  # steps whose thread has ended, and the promises that they wait for
        self._given_up: set[int | None] = set()  # threads of steps that have lost

    def run(self, scope: Scope, function: Callable[[], Any]) -> Any:
        """Run the function to its end, or until the job waits.

        Raises:
            RunEnded: The job waits, or the run is over.
        """
        self.stepping = scope
        try:
            result = scope.context.run(function)
        except Exception as error:
            scope.finish(error)
            raise
        if self.fatal is not None:
            raise self.fatal
        self._join()
        scope.finish()
        self.send_all()
        return result

    def check(self) -> None:
        """Raise if the run is over, or the attempt was called off."""
        if self._given_up and get_ident() in self._given_up:
            raise _GivenUp
        if self.fatal is not None:
            raise self.fatal
        if self.context.cancelled:
            if self.context.reason in ("cancelled", "timeout"):
                self.over = "cancelled"
                raise JobCancelled(self.context.reason or "cancelled")
            raise self.end(Dropped())

    # -- calls ---------------------------------------------------------------------------------------------------------------------

    def begin(self, call: Call[Any]) -> None:
        """Begin a step in a thread of its own, if the worker has threads; otherwise run it now."""
        record = self.records.get(call.id)
        if call.is_done or (record is not None and not is_pending(record)):
            return
        if self.support.threads is None:
            self._attempt(call)
            return
        thread = threading.Thread(target=self._attempt_beside, args=(call,), name=f"{self.job.id}-step", daemon=True)
        with self._lock:
            self._under_way[call] = thread
        thread.start()

    def _attempt(self, call: Call[Any]) -> None:
        try:
            self.perform(call)
        except Exception:  # kept in the call
            return

    def _attempt_beside(self, call: Call[Any]) -> None:
        try:
            with self.support.thread_slot:
                self.perform(call)
        except _GivenUp:
            return
        except _Later as later:
            with self._lock:
                if get_ident() not in self._given_up:
                    self._later[call] = later.id
        except BaseException as error:
            if isinstance(error, RunEnded):
                self.end(error)
            elif not call.is_done:
                call.set_error(error)
        finally:
            with self._ended:
                self._given_up.discard(get_ident())
                if self._under_way.get(call) is threading.current_thread():
                    del self._under_way[call]
                self._ended.notify_all()

    def _join(self) -> None:
        """Wait for the steps that were begun and not awaited."""
        while self._under_way or self._later:
            with self._ended:
                while self._under_way:
                    self._ended.wait(_GLANCE)
            for call in list(self._later):
                with contextlib.suppress(Exception):  # kept in the call
                    self.outcome_of(call)

    def _give_up(self, calls: Iterable[Call[Any]]) -> None:
        """Listen no more to steps that have lost."""
        with self._lock:
            for call in calls:
                self._later.pop(call, None)
                thread = self._under_way.pop(call, None)
                if thread is not None:
                    self._given_up.add(thread.ident)

    def _go_on(self) -> list[str]:
        """Continue the steps whose promise is settled now; return the promises of the others."""
        with self._lock:
            due = [call for call, id in self._later.items() if self._is_settled(id)]
            for call in due:
                del self._later[call]
        for call in due:
            self.begin(call)
        return list(self._later.values())

    def outcome_of(self, call: Call[Any]) -> Any:
        """Wait for a call, and return its value."""
        self.check()
        with self._ended:
            while call in self._under_way:
                self.check()
                self._ended.wait(_GLANCE)
            self._later.pop(call, None)  # this thread waits for it now
        return self.perform(call)

    def perform(self, call: Call[Any]) -> Any:
        """Perform a call, and set its outcome."""
        self.check()
        if call.is_done:
            return call.outcome()
        record = self.records.get(call.id)
        if record is not None and not is_pending(record) and call.by_record:
            call.settle(record)
            return call.outcome()
        operations = call.perform()
        try:
            operation = operations.send(None)
            while True:
                try:
                    answer = self._do(operation)
                except (Exception, CancelledError) as error:
                    operation = operations.throw(error)
                else:
                    operation = operations.send(answer)
        except StopIteration as ended:
            return call.set_value(ended.value)
        except Exception as error:
            call.set_error(error)
            raise
        finally:
            operations.close()

    def _do(self, operation: Operation) -> Any:
        if isinstance(operation, Record):
            return self.record(operation.steps)
        if isinstance(operation, Invoke):
            return self._invoke(operation)
        if isinstance(operation, Wait):
            return self._wait(operation)
        assert isinstance(operation, Pause)
        return self._pause(operation.delay / 1000)

    def _invoke(self, step: Invoke) -> Any:
        if self.outbox.is_urgent:
            self.send_all()
        under_way = self.support.under_way
        span = under_way.begin(self.context, step)
        try:
            if step.timeout is None or self.support.threads is None:
                return inside(step.scope, lambda: step.function(*step.args, **step.kwargs), span)
            made = self.support.threads.submit(inside, step.scope, lambda: step.function(*step.args, **step.kwargs), span)
            self._wait_for_end(made, step.timeout)
            if not made.done():
                made.cancel()
                raise StepTimeout(step.name, step.timeout)
            return made.result()
        except BaseException as error:
            if span is not None:
                span.failed(error)
            raise
        finally:
            if span is not None:
                span.end()
            under_way.end(step)

    def _wait_for_end(self, made: Future[Any], timeout: int) -> None:
        """Wait until a function has ended, or so many ms have passed."""
        ends_at = seconds_now() + timeout / 1000
        while not made.done() and (left := ends_at - seconds_now()) > 0:
            self.check()
            wait([made], min(left, _LOOK))

    def _pause(self, seconds: float) -> None:
        ends_at = seconds_now() + seconds
        while (left := ends_at - seconds_now()) > 0:
            self.check()
            time.sleep(min(left, _GLANCE))

    # -- waiting -------------------------------------------------------------------------------------------------------------------

    def _wait(self, wait: Wait) -> Promise:
        """Wait for a promise. A thread beside that of the function does not wait, but ends."""
        if get_ident() == self.thread:
            return self.wait_for([wait])[wait.id]
        self._make([wait], set())
        if not self._is_settled(wait.id):
            raise _Later(wait.id)
        return self.records[wait.id]

    def wait_for(self, waits: Sequence[Wait]) -> dict[str, Promise]:
        """Wait until one of these promises is settled; return those that are, by id. If nothing works here, the job is suspended.

        Raises:
            Dropped: The job waits.
            Refused: The store refuses to make one of them, or there is none.
        """
        made: set[str] = set()
        while True:
            self.check()
            found = {one.id: self.records[one.id] for one in waits if self._is_settled(one.id)}
            if found:
                return found
            later = self._go_on()
            with self._lock:
                works = bool(self._under_way)
            if works:
                self._make(waits, made)
                with self._ended:
                    if self._under_way:
                        self._ended.wait(_LOOK)
                self._look([*later, *(one.id for one in waits)])
                continue
            self._suspend([*map(Wait, later), *waits], made)

    def _is_settled(self, id: str) -> bool:
        record = self.records.get(id)
        return record is not None and not is_pending(record)

    def _make(self, waits: Sequence[Wait], made: set[str]) -> None:
        for one in waits:
            if one.request is not None and one.id not in made and one.id not in self.records:
                made.add(one.id)
                with self._lock:
                    _, answer = self._send(self.outbox.take((), one.request))
                self._take_made(answer)
        self.send_all()

    def _take_made(self, answer: Any) -> None:
        if isinstance(answer, ResonateError):
            raise Refused(answer)
        if isinstance(answer, Promise):
            self.keep(answer)

    def _suspend(self, waits: Sequence[Wait], made: set[str]) -> None:
        *before, last = waits
        self._make(before, made)
        own = last.request if last.id not in made and last.id not in self.records else None
        ids = [one.id for one in waits][:_MOST_AWAITED]
        with self._lock:
            sent = self.outbox.take((), own)
            self.outbox.suspend(sent, ids, self.context.progress)
            answers = self._sent(sent.requests)
            try:
                _, answer = sent.answered(self, answers[:-1])
            except NotHeld:
                self._lost()
        if own is not None:
            made.add(last.id)
            self._take_made(answer)
        suspension = answers[-1]
        if isinstance(suspension, (Conflict, NotFound)):
            self._lost()
        if isinstance(suspension, ResonateError):
            if not isinstance(suspension, Unprocessable):  # of these ids one does not exist
                raise suspension
        elif suspension.state != "running":
            self.suspended = True
            raise self.end(Dropped())
        self._look(ids)
        if not any(map(self._is_settled, ids)) and self.support.threads is not None:
            time.sleep(0.01)

    def _look(self, ids: Sequence[str]) -> None:
        for id, promise in zip(ids, self._answered(lambda: self.client.promises(ids)), strict=True):
            if promise is None:
                if not id.startswith(f"{self.job.id}:"):
                    raise Refused(NotFound(f'promise "{id}" does not exist'))
                continue
            self.keep(promise)

    # -- side by side --------------------------------------------------------------------------------------------------------------

    def combine(self, scope: Scope, calls: Sequence[Call[Any]], first: bool, return_exceptions: bool) -> Any:
        """Do as `gather` or `first`, over handles."""
        name = "first" if first else "gather"
        for each in calls:
            if not isinstance(each, Call):
                raise TypeError(f"{name} takes handles of start(), got {each!r}")
        id = scope.take(name)
        record = self.records.get(id)
        if record is not None:
            index = record.value.json()["index"]
            if not 0 <= index < len(calls):
                raise self.diverged(f"{id} is a {name} of {len(calls)} branches, and branch {index} is recorded to have decided")
            value = self.outcome_of(calls[index])
            if not first:
                raise self.diverged(f"branch {index} of {id} has not failed, and its failure is recorded: the code has changed")
            return (index, value)
        decided = self._first_decided(calls, first, return_exceptions)
        if decided is None:
            return [each.outcome() if each.is_done and each._error is None else each._error for each in calls]
        losers = [each for each in calls if not each.is_done]
        self._give_up(losers)
        cancelled = [step for loser in losers for step in self.cancellations(loser.id)]
        self.record([*cancelled, settled(id, name, "resolved", {"index": calls.index(decided)})])
        return (calls.index(decided), decided.outcome())

    def _first_decided(self, calls: Sequence[Call[Any]], first: bool, return_exceptions: bool) -> Call[Any] | None:
        while True:
            self.check()
            later = self._go_on()
            for each in calls:
                with self._lock:
                    works = each in self._under_way
                if not works and not each.is_done and self._is_settled(each.id):
                    each.settle(self.records[each.id])
                if each.is_done and (first or (each._error is not None and not return_exceptions)):
                    return each
            left = [each for each in calls if not each.is_done]
            if not left:
                return None
            waits = []
            with self._lock:
                working = [each for each in left if each in self._under_way]
            for each in left:
                if each not in working:
                    waits.append(Wait(self._later.get(each, each.id)))
            if working:
                self.send_all()
                with self._ended:
                    if any(each in self._under_way for each in working):
                        self._ended.wait(_LOOK)
                if waits or later:
                    self._look([*later, *(one.id for one in waits)])
            elif waits:
                self.wait_for(waits)
