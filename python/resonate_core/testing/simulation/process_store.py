"""The store as a process of a simulation sees it: with the typed calls of `Store`, through the network."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..._core import Jobs as CoreJobs, ManualClock, Promise, Promises as CorePromises, Store
from ...aio import AsyncStoreJobs, AsyncStorePromises
from ...calls.async_faces import AsyncQueues, AsyncSchedules, AsyncTasks
from ...calls.call import Call, Together, answers_together, envelope
from ...calls.faces import AsyncRunner, Runner, sent
from ...calls.outcome import Seconds, still_pending, timeout_seconds, value_of
from ...calls.retries import Retries
from ...calls.sync_faces import Jobs, Promises, Queues, Schedules, Tasks
from ...errors import StoreBusy, Unreachable
from .worker_client import WorkerClient

if TYPE_CHECKING:
    from ...calls.wakeup import Watching
    from .incarnation import Incarnation
    from .world_interface import WorldInterface

__all__ = ["AsyncProcessStore", "ProcessStore"]

T = TypeVar("T")
_ID = "sim"
_KIND = re.compile(r'"kind":\s*"([a-z_.]+)"')
_RETRY_FOR = 30.0  # as `resonate_core.connect`


class _Calls:
    """The requests that both runners make."""

    def __init__(self, store: ProcessStore) -> None:
        self.store = store

    def __repr__(self) -> str:
        return repr(self.store)

    def one(self, call: Call[Any]) -> Callable[[], tuple[int, Any]]:
        call.settle_deadline(lambda: self.store.now)
        world, envelopes = self.store._world, [envelope(call.kind, call.data, _ID)]
        return lambda: world.store._run_calls(envelopes)[0]

    def all(self, calls: Together[Any]) -> Callable[[], list[Any]]:
        for call in calls.calls:
            call.settle_deadline(lambda: self.store.now)
        world, envelopes = self.store._world, [envelope(call.kind, call.data, _ID) for call in calls.calls]
        return lambda: answers_together(world.store.apply(envelopes, atomic=True))


class _Runner(_Calls, Runner):
    """Makes requests within a step. Like a store in this process, it makes each of them once."""

    def run(self, call: Call[T]) -> T:
        return call.result(*self.store._now(call.kind, self.one(call)))

    def run_together(self, calls: Together[T]) -> T:
        kind = f"{len(calls.calls)} of {calls.calls[0].kind}" if calls.calls else "nothing"
        return calls.gather(self.store._now(kind, self.all(calls)))

    in_parts = run_together


class _AsyncRunner(_Calls, AsyncRunner):
    """Makes requests that take time. Like a client of a server, it makes one again that got no reply, where that is safe."""

    async def run(self, call: Call[T]) -> T:
        execute = self.one(call)
        histories = self.store._world._histories
        if histories is None:
            return call.result(*await self._again(call.kind, execute, call.again))
        request = envelope(call.kind, call.data, _ID)

        async def once() -> tuple[int, Any]:
            end = histories.begin(self.store._incarnation.name, request)
            answer = await self.store._call(call.kind, execute)
            end(answer)
            return answer

        return call.result(*await self._until_answered(once, call.again))

    async def _again(self, kind: str, execute: Callable[[], T], again: bool) -> T:
        return await self._until_answered(lambda: self.store._call(kind, execute), again)

    async def _until_answered(self, once: Callable[[], Awaitable[T]], again: bool) -> T:
        retries = Retries(again, _RETRY_FOR)
        while True:
            try:
                return await once()
            except Unreachable as error:
                await asyncio.sleep(retries.pause_after(error))
            except StoreBusy as error:
                busy = Unreachable(str(error), 503)
                busy.executed = False
                await asyncio.sleep(retries.pause_after(busy))

    async def run_together(self, calls: Together[T]) -> T:
        kind = f"{len(calls.calls)} of {calls.calls[0].kind}" if calls.calls else "nothing"
        return calls.gather(await self._again(kind, self.all(calls), all(call.again for call in calls.calls)))

    async def in_parts(self, calls: Together[T]) -> T:
        return await self.run_together(calls)


class _Promises(Promises):
    """The calls of `Store.promises`."""

    __slots__ = ()

    create_many = sent(CorePromises.create_many)
    settle_many = sent(CorePromises.settle_many)


class _Jobs(Jobs):
    """The calls of `Store.jobs`."""

    __slots__ = ()

    enqueue_many = sent(CoreJobs.enqueue_many)


class AsyncProcessStore:
    """The calls of a `ProcessStore`, for asyncio."""

    def __init__(self, store: ProcessStore) -> None:
        runner = _AsyncRunner(store)
        self._store = store
        self.promises = AsyncStorePromises(runner)
        self.tasks = AsyncTasks(runner)
        self.schedules = AsyncSchedules(runner)
        self.jobs = AsyncStoreJobs(runner)
        self.queues = AsyncQueues(runner)

    def __repr__(self) -> str:
        return f"Async{self._store!r}"

    async def wait(self, id: str, *, timeout: Seconds | None = None) -> Promise:
        """Wait until a promise or a job is settled, and return its promise; see `Store.aio.wait`."""
        limit = timeout_seconds(timeout)
        until = None if limit is None else self._store._world._loop.time() + limit
        while True:
            seen = self._store._world._changes
            promise = await self.promises.get(id)
            if promise.state != "pending":
                return promise
            due = max(promise.timeout_at - self._store._world.now, 1) / 1000
            left = due if until is None else until - self._store._world._loop.time()
            if left <= 0:
                assert limit is not None
                raise still_pending(id, limit)
            await self._store._world._change_after(seen, min(left, due))

    async def result(self, id: str, *, timeout: Seconds | None = None) -> Any:
        """Wait until a promise or a job is settled, and return its value; see `Store.aio.result`."""
        return value_of(await self.wait(id, timeout=timeout))


class ProcessStore:
    """The store as one process of a simulation sees it: the face of `Store`, and the faults of the network.

    The calls of `aio` may be late, and are made again where that is safe, as `resonate_core.connect` does. Other calls are made within
    one step: they may fail, and are never late. `Worker`, `connection.Connection` and the apps of this package take it as a store.

    Args:
        world: The simulation.
        incarnation: Of the process.
    """

    shared = True
    path = None
    url = None
    paused = False

    def __init__(self, world: WorldInterface, incarnation: Incarnation) -> None:
        self._world = world
        self._incarnation = incarnation
        runner = _Runner(self)
        self.promises = _Promises(runner)
        self.tasks = Tasks(runner)
        self.schedules = Schedules(runner)
        self.jobs = _Jobs(runner)
        self.queues = Queues(runner)
        self._aio: AsyncProcessStore | None = None

    def __repr__(self) -> str:
        return f"<ProcessStore of {self._incarnation.name!r}>"

    @property
    def of_simulation(self) -> Store[ManualClock]:
        """The store of the simulation, which this one is a view of."""
        return self._world.store

    @property
    def aio(self) -> AsyncProcessStore:
        """The same calls, for asyncio."""
        if self._aio is None:
            self._aio = AsyncProcessStore(self)
        return self._aio

    @property
    def now(self) -> int:
        """The present instant by the clock of this process, in Unix ms."""
        return max(0, self._world.clock.now + self._incarnation.skew)

    @property
    def clock(self) -> ProcessStore:
        """The clock of this process, which is not moved by hand."""
        return self

    @property
    def closed(self) -> bool:
        """Whether it is closed; it never is."""
        return False

    def _now(self, kind: str, execute: Callable[[], T], *, reply_arrives: bool = False) -> T:
        try:
            made: T = self._world._network.call_now(self._incarnation, kind, execute, reply_arrives=reply_arrives)
            return made
        except Unreachable:
            self._world._line(self._incarnation).lost = True
            raise

    def _call(self, kind: str, execute: Callable[[], T]) -> Awaitable[T]:
        made: Awaitable[T] = self._world._network.call(self._incarnation, kind, execute)
        return made

    def worker_client(self) -> WorkerClient:
        """Return the client of a worker of this process."""
        return WorkerClient(self._world, self._incarnation, self._world._line(self._incarnation))

    # -- envelopes ------------------------------------------------------------------------------------------------------

    def apply(self, envelope: Any, now: Any = None, atomic: bool = False) -> Any:
        """As `Store.apply`."""
        return self._now(_kind(envelope), lambda: self._world.store.apply(envelope, atomic=atomic))

    def apply_json(self, envelope: Any, now: Any = None, atomic: bool = False) -> Any:
        """As `Store.apply_json`."""
        return self._now(_kind(envelope), lambda: self._world.store.apply_json(envelope, atomic=atomic))

    async def apply_async(self, envelope: Any, now: Any = None, atomic: bool = False) -> Any:
        """As `Store.apply_async`."""
        return await self._call(_kind(envelope), lambda: self._world.store.apply(envelope, atomic=atomic))

    def call_async(self, function: Callable[..., T], *args: Any) -> Awaitable[T]:
        """Run a function that uses this store, as a thread would: its requests may be late.

        Args:
            function: The function; it runs as one step.
            args: Its arguments.
        """
        made: Awaitable[T] = self._world._line(self._incarnation).run_in_simulation(self._world._loop, function, args)
        return made

    def take_messages(self, *args: Any, **kwargs: Any) -> Any:
        """As `Store.take_messages`. The messages that were taken always arrive: of those to a stream the server knows what was sent."""
        return self._now("the messages", lambda: self._world.store.take_messages(*args, **kwargs), reply_arrives=True)

    def __getattr__(self, name: str) -> Any:
        """Make another call of `Store`, such as `messages` and `tick`, at once and through the network."""
        if name.startswith("_"):
            raise AttributeError(name)
        plain = getattr(self._world.store, name)
        if not callable(plain):
            return plain

        def method(*args: Any, **kwargs: Any) -> Any:
            return self._now(name, lambda: getattr(self._world.store, name)(*args, **kwargs))

        method.__name__ = name
        return method

    def next_due(self) -> int | None:
        """As `Store.next_due`."""
        return self._world.store.next_due()

    def watch(self, descriptor: int, **options: Any) -> Watching:
        """As `Store.watch`."""
        return self._world._watch(self._incarnation, descriptor, **options)

    def close(self) -> None:
        """Has no effect: the store is the simulation's."""


def _kind(envelope: Any) -> str:
    if isinstance(envelope, dict):
        return str(envelope.get("kind", "a request"))
    if isinstance(envelope, str | bytes):
        found = _KIND.search(envelope if isinstance(envelope, str) else envelope.decode(errors="replace"))
        return found[1] if found else "a request"
    return f"{len(envelope)} requests" if isinstance(envelope, Sequence) else "a request"
