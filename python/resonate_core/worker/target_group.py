"""Calls of programs of the published SDKs, by `rpc` with a target: each runs as a job of this package (WIRE 7).

A caller makes a promise with the tag `resonate:target` and the param ``{"func", "args", "kwargs", "version"}``, and the store
offers its task to the workers of the group. A worker acquires the task, enqueues the job ``ID:1``, and suspends the task on it: no worker
holds it while the job waits and runs. Once the job is settled, the store offers the task again, and a worker of the group fulfils it
with the outcome. Each request may be the last one of a worker: the next one finds what it did.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Awaitable, Callable, Generator
from itertools import islice
from typing import TYPE_CHECKING, Any

from .._core import Job, Jobs, Promise, Tasks
from .._foreign_text import excerpt
from ..base.instants import NEVER
from ..base.release_delay import Damper
from ..base.states import UNFINISHED
from ..base.stopwatch import doubled
from ..calls.call import Call
from ..calls.made import call
from ..calls.values import milliseconds
from ..calls.wakeup import Wakeup
from ..errors import Conflict, Invalid, NotFound, ResonateError, StoreError, Unprocessable
from .job_source import Execute, Inbox
from .settings import WorkerParts

if TYPE_CHECKING:
    from .tasks import WorkerTask

__all__ = ["TargetGroup", "TargetServer"]

_log = logging.getLogger("resonate_core.worker")

#: Requests that wait for their answers; it gets them, each of which may be the error that refuses it.
_Requests = Generator[list[Call[Any]], list[Any], None]
#: The most calls whose requests are sent together.
_TOGETHER = 100
#: The shortest retention of a job over a URL (ms): it must still be there when the task is suspended on it.
_SHORTEST_RETENTION = 60_000
#: The first and the longest pause after a round on a store that fails (s), doubled each time.
_FIRST_RETRY, _LONGEST_RETRY = 0.1, 30.0
#: Seconds after which all messages are read again: functions that were unknown may have been registered.
_READ_ALL = 5.0
#: The most names of functions that are remembered, so that each is logged once.
_MOST_NAMES = 1000
#: The promise's state by the state of a job, and its error if the promise of the job has no value.
_ENDS = {
    "completed": ("resolved", None),
    "cancelled": ("rejected_canceled", ("Cancelled", "job {} was cancelled")),
    "failed": ("rejected", ("TimeoutError", "the deadline of job {} has passed")),
    "expired": ("rejected", ("Expired", "job {} has expired before its start")),
}


class _Refused(Exception):
    """A call that cannot be served, here or by another worker: its promise is rejected with this code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Step:
    """One execute on its way: the requests that it makes next."""

    __slots__ = ("_answers", "_requests", "calls", "execute")

    def __init__(self, requests: _Requests, execute: Execute | None = None) -> None:
        self.execute = execute  # not yet acquired
        self.calls = next(requests)
        self._requests = requests
        self._answers: list[Any] = []  # to those before them

    def take(self, answers: list[Any]) -> StoreError | None:
        """Take the answers up to a failure of the store, which is returned: the requests from there on are to be sent again."""
        for number, answer in enumerate(answers):
            if isinstance(answer, StoreError):
                self._answers += answers[:number]
                del self.calls[:number]
                return answer
        self._answers += answers
        return None

    def go_on(self) -> bool:
        """Return whether there are further requests, now that all are answered."""
        self.execute = None
        answers, self._answers = self._answers, []
        try:
            self.calls = self._requests.send(answers)
        except StopIteration:
            return False
        return True


class TargetGroup:
    """Serves the calls to a group by jobs.

    Args:
        parts: Of the worker.
        inbox: The messages to it.
        now: Seconds of a clock that does not go back.

    Attributes:
        served: How many messages it has handled.
    """

    def __init__(self, parts: WorkerParts, inbox: Inbox, now: Callable[[], float]) -> None:
        self._client = parts.client
        self._tasks = parts.registry.tasks
        self._name, self._lease = parts.settings.name, parts.settings.lease
        self._inbox = inbox
        self._now = now
        self._damper = Damper(now)
        self._open: list[_Step] = []
        self._read_all_at = -math.inf  # by `now`
        # Of tasks that were released for other workers: the version then, and the function that is not known here. A task with a later
        # version was acquired since.
        self._elsewhere: dict[str, tuple[int, str]] = {}
        self._later: list[tuple[float, str, int]] = []  # (when, id, version) of tasks that are held before they are released
        self._said: set[str] = set()
        self.served = 0

    @property
    def next_at(self) -> float:
        """When a task is to be released, by `now`; infinity for never."""
        return min((at for at, _, _ in self._later), default=math.inf)

    def round(self) -> bool:
        """Handle the messages that wait; return whether there were any.

        Raises:
            StoreError: The store has failed. The next round sends the unanswered requests again.
        """
        try:
            return self._round()
        except BaseException:
            self._read_all_at = -math.inf  # for messages that were not acknowledged
            raise

    def _round(self) -> bool:
        again = [step.execute for step in self._open if step.execute is not None]
        under_way = {one.number for one in again}
        taken = [one for one in self._take() if (one.number not in under_way or not one.number) and not self._is_elsewhere(one)]
        fresh = [one for one in taken if not one.stale]
        self._open += [_Step(self._serve(one), one) for one in fresh]
        self._release_due(self._now())
        try:
            self._send_all()
        finally:
            not_acquired = {step.execute.number for step in self._open if step.execute is not None}
            self._inbox.acknowledge([one for one in (*again, *taken) if one.number not in not_acquired])
        self.served += len(fresh)
        return bool(fresh)

    def _take(self) -> list[Execute]:
        now = self._now()
        if now < self._read_all_at:
            return self._inbox.take()
        self._inbox.read_again()
        found = self._inbox.take()
        self._read_all_at = now + _READ_ALL
        waiting = {one.id for one in found}
        self._elsewhere = {id: released for id, released in self._elsewhere.items() if id in waiting}
        return found

    def _is_elsewhere(self, execute: Execute) -> bool:
        """Whether this worker has released the task for others, and none has acquired it since."""
        version, func = self._elsewhere.get(execute.id, (-1, ""))
        return version == execute.version and func not in self._tasks

    def give_up(self) -> None:
        """Release the tasks that are held for a pause: the worker stops."""
        self._release_due(math.inf)
        self._send_all()

    def _release_due(self, now: float) -> None:
        due = [one for one in self._later if one[0] <= now]
        self._later = [one for one in self._later if one[0] > now]
        self._open += [_Step(self._release(id, version)) for _, id, version in due]

    def _send_all(self) -> None:
        waiting, self._open = self._open, []
        failure: StoreError | None = None
        while waiting:
            part, waiting = waiting[:_TOGETHER], waiting[_TOGETHER:]
            try:
                answers = iter(self._client.send([one for step in part for one in step.calls]))
            except BaseException:
                self._open += [*part, *waiting]
                raise
            going_on = []
            for step in part:
                failed = step.take(list(islice(answers, len(step.calls))))
                if failed is not None:
                    self._open.append(step)
                    failure = failed
                elif step.go_on():
                    going_on.append(step)
            waiting[:0] = going_on  # first: acquired tasks are held under a lease
        if failure is not None:
            raise failure

    # -- the requests of one call -----------------------------------------------------------------------------------------

    def _serve(self, execute: Execute) -> _Requests:
        """Acquire a task, and suspend it on its job or fulfil it."""
        id, child = execute.id, f"{execute.id}:1"
        acquire = call(Tasks.acquire, id, execute.version, pid=self._name, ttl=self._lease)
        claim, job = yield [acquire, call(Jobs.get, child)]
        if isinstance(claim, ResonateError) or (isinstance(job, ResonateError) and not isinstance(job, NotFound)):
            for refused in (claim, job):
                if isinstance(refused, ResonateError) and not isinstance(refused, (Conflict, NotFound)):
                    _log.warning("call %s is not served: %s", id, refused)
            return  # another worker has it, or its lease will expire
        promise, version = claim.promise, claim.task.version
        if isinstance(job, NotFound):
            job = yield from self._begin(promise, version, child)
        else:
            self._damper.run_ended("task.suspend", id)
        while isinstance(job, Job):
            if job.state not in UNFINISHED:
                yield [_fulfilment(id, version, job)]
                return
            (suspension,) = yield [call(Tasks.suspend, id, version, [child])]
            if isinstance(suspension, ResonateError) or suspension.suspended:
                return
            (job,) = yield [call(Jobs.get, child)]

    def _begin(self, promise: Promise, version: int, child: str) -> Generator[list[Call[Any]], list[Any], Job | None]:
        """Enqueue the job and suspend the task on it, in one transaction if the client can; return the job if it is settled already."""
        id = promise.id
        try:
            func, args, kwargs = _called(promise)
            task = self._tasks.get(func)
            if task is None:
                yield from self._not_here(id, version, func)
                return None
            request = self._request(promise, child, task, args, kwargs)
            self._damper.run_ended("task.suspend", id)
            enqueued, suspension = yield [request, call(Tasks.suspend, id, version, [child])]
            if isinstance(enqueued, (Invalid, Conflict, Unprocessable)):
                raise _Refused(type(enqueued).__name__, f"job {child} was refused: {enqueued.message}")
            if isinstance(enqueued, ResonateError):
                _log.warning("call %s is not served: %s", id, enqueued)
                return None
            if isinstance(suspension, Unprocessable):
                raise _Refused("OutcomeLost", f"job {child} has ended, and its queue does not keep outcomes")
        except _Refused as refused:
            yield [_rejection(id, version, refused.code, str(refused))]
            return None
        if isinstance(suspension, ResonateError) or suspension.suspended:
            return None
        (job,) = yield [call(Jobs.get, child)]
        return job if isinstance(job, Job) else None

    def _request(
        self, promise: Promise, child: str, task: WorkerTask[Any, Any], args: list[Any], kwargs: dict[str, Any]
    ) -> Call[Job]:
        """Return the request that enqueues the job of a call.

        Raises:
            _Refused: Its arguments do not fit the function.
        """
        more: dict[str, Any] = {}
        if promise.timeout_at < NEVER:
            more["deadline"] = promise.timeout_at
        if not self._client.local and (kept := _kept_longer(task.options)) is not None:
            more["retention"] = kept
        try:
            payload = task.payload(task.handler.payload_of(*args, **kwargs))
            return task.awaited_request(payload, child, _lineage(promise, child), **more)
        except Invalid as error:
            raise _Refused("InvalidPayload", str(error)) from error
        except Exception as error:  # of the code that binds, upcasts or converts the arguments
            raise _Refused("InvalidPayload", f"{task.type}: {error}") from error

    def _not_here(self, id: str, version: int, func: str) -> _Requests:
        """Release a task for other workers.

        Shared messages are left to them from then on. Others may come here again: the task is then released after pauses that grow with
        each repetition, and that differ, so that several such tasks do not take turns with each other for ever.
        """
        if func not in self._said and len(self._said) < _MOST_NAMES:
            self._said.add(func)
            _log.warning("%s calls %s, for which this worker has no task: another one of its group may have it", id, func)
        if self._inbox.shared:
            self._elsewhere[id] = (version, func)
            yield from self._release(id, version)
            return
        pause = min(self._damper.wait(id) * random.uniform(0.5, 1), self._lease / 2000)
        if pause > 0:
            self._later.append((self._now() + pause, id, version))
        else:
            yield from self._release(id, version)

    def _release(self, id: str, version: int) -> _Requests:
        yield [call(Tasks.release, id, version)]
        self._damper.run_ended("task.release", id)


def _called(promise: Promise) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the function, the arguments and the keywords of a call. Programs in TypeScript have no keywords.

    Raises:
        _Refused: The param has another form.
    """
    try:
        param = promise.param.json()
    except (Invalid, RecursionError) as error:
        raise _Refused("InvalidPayload", f"the param of {promise.id} is no JSON: {error}") from error
    if isinstance(param, dict):
        func, args, kwargs = param.get("func"), param.get("args") or [], param.get("kwargs") or {}
        if isinstance(func, str) and isinstance(args, list) and isinstance(kwargs, dict):
            return func, args, kwargs
    raise _Refused(
        "InvalidPayload", f"the param of {promise.id} must have func, args and perhaps kwargs, got {excerpt(str(param))}"
    )


def _lineage(promise: Promise, child: str) -> dict[str, str]:
    """Return the tags by which the job belongs to the tree of its caller."""
    tags = promise.tags
    found = {"resonate:origin": tags.get("resonate:origin", promise.id), "resonate:parent": promise.id, "resonate:branch": child}
    if "resonate:prefix" in tags:
        found["resonate:prefix"] = tags["resonate:prefix"]
    return {**found, "resonate:scope": "global"}


def _kept_longer(options: Any) -> int | None:
    """Return the retention of a job that would not be kept until its task is suspended on it; None: it is kept."""
    retention = options.get("retention")
    if retention is None:
        return _SHORTEST_RETENTION if options.get("lifecycle") == "asynq" else None
    return None if isinstance(retention, str) else max(_SHORTEST_RETENTION, milliseconds("retention", retention))


def _fulfilment(id: str, version: int, job: Job) -> Call[Promise]:
    """Return the request that passes on the outcome of a job: errors are in the form of the SDKs already."""
    state, without_value = _ENDS[job.state]
    if without_value is not None and job.result.data is None:
        code, message = without_value
        return _rejection(id, version, code, message.format(job.id), state)
    return call(Tasks.fulfill, id, version, job.result, state=state)  # type: ignore[arg-type]


def _rejection(id: str, version: int, code: str, message: str, state: Any = "rejected") -> Call[Promise]:
    error = {"__type": "error", "name": code, "message": message, "code": code}
    return call(Tasks.fulfill, id, version, error, state=state)


class TargetServer:
    """Serves the calls to the group of a worker while the worker runs.

    Args:
        parts: Of the worker.
        request: Calls a function that makes requests, in a thread if they take time.
    """

    def __init__(self, parts: WorkerParts, request: Callable[[Callable[[], object]], Awaitable[object]]) -> None:
        self._parts = parts
        self._request = request
        self._woken = asyncio.Event()
        self._stopping = False

    def stop(self) -> None:
        """Take no further messages: other workers of the group get them."""
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Serve until `stop` is called."""
        loop, settings = asyncio.get_running_loop(), self._parts.settings
        opened: list[Inbox] = []

        def watch(descriptor: int) -> Inbox:
            opened.append(self._parts.client.inbox(settings.target_group or "", settings.name, descriptor))
            return opened[0]

        with Wakeup(watch).listen(loop, self._woken.set) as wakeup:
            group = TargetGroup(self._parts, opened[0], loop.time)
            failed = 0
            while not self._stopping:
                self._woken.clear()
                wakeup.rearm(None)
                pause = settings.poll_interval if self._parts.environment.polls else math.inf
                try:
                    await self._request(group.round)
                    failed, pause = 0, min(pause, max(0.0, group.next_at - loop.time()))
                except (ResonateError, OSError) as error:
                    pause = doubled(_FIRST_RETRY, failed, _LONGEST_RETRY)
                    failed += 1
                    _log.error("%r: %s; calls to its group are served again in %.1f s", self._parts.client, error, pause)
                    await self._sleep(pause)
                    continue
                await self._sleep(pause)
        with contextlib.suppress(ResonateError, OSError):
            await self._request(group.give_up)

    async def _sleep(self, pause: float) -> None:
        """Wait for a message, or for so many seconds."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._woken.wait(), None if pause == math.inf else pause)
