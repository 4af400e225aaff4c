"""The requests of a simulated worker: those of a store in this process, through the network."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..._core import Job, Message, Promise, PromisePage
from ...calls.call import Call
from ...errors import Unreachable
from ...worker.inboxes import StoreInbox
from ...worker.job_source import Claim, Claimed, Exchanged, Held, Queues, recorded_by_call
from ...worker.outcomes import Outcome
from ...worker.store_client import StoreClient

if TYPE_CHECKING:
    from ...calls.wakeup import Watching
    from .incarnation import Incarnation
    from .network import RequestLine
    from .world_interface import WorldInterface

__all__ = ["WorkerClient"]

_T = TypeVar("_T")


class WorkerClient:
    """A `JobSource` of the store of a simulation.

    Args:
        world: The simulation.
        incarnation: Of the process that makes the requests.
        line: The executor in which they are made, if there is one.
    """

    blocking = True
    local = True
    manual = False

    def __init__(self, world: WorldInterface, incarnation: Incarnation, line: RequestLine | None = None) -> None:
        self._world = world
        self._incarnation = incarnation
        self._line = line
        self._network = world._network
        self._known: StoreClient | None = None

    def __repr__(self) -> str:
        return f"the store of {self._incarnation.name!r}"

    @property
    def _store(self) -> StoreClient:
        known = self._known
        if known is None or known.store is not self._world.store:
            known = self._known = StoreClient(self._world.store)
        return known

    def _call(self, what: str, execute: Callable[[], _T]) -> _T:
        try:
            made: _T = self._network.call_now(self._incarnation, what, execute)
            return made
        except Unreachable:
            if self._line is not None:
                self._line.lost = True
            raise

    def now(self) -> int:
        return max(0, self._world.clock.now + self._incarnation.skew)

    def next_due(self) -> int | None:
        return self._store.next_due()

    def watch(self, descriptor: int, queues: Queues) -> Watching:
        """Commits of all processes are seen."""
        return self._world._watch(self._incarnation, descriptor)

    def inbox(self, group: str, pid: str, descriptor: int) -> StoreInbox:
        """The undelivered messages of the store."""

        def messages(after: int, addresses: Sequence[str]) -> Sequence[Message]:
            return self._call("messages", lambda: self._store.store.messages(after=after, addresses=addresses))

        def acknowledge(numbers: Sequence[int]) -> object:
            return self._call("acknowledge", lambda: self._store.store.acknowledge(numbers))

        return StoreInbox(group, pid, self._world._watch(self._incarnation, descriptor), messages, acknowledge)

    def fleet(self) -> int:
        return 0

    def enqueue(self, type: str, payload: Any, options: Mapping[str, Any]) -> Job:
        return self._call("job.enqueue", lambda: self._store.enqueue(type, payload, options))

    def enqueue_many(self, type: str, payloads: Sequence[Any], options: Mapping[str, Any]) -> Sequence[Job]:
        """Enqueue all or none."""
        return self._call("job.enqueue_many", lambda: self._store.enqueue_many(type, payloads, options))

    def exchange(self, results: Sequence[tuple[str, int, Any]], held: Sequence[Held], claim: Claim) -> Exchanged:
        named = {"job.complete": results, "job.start": held, "job.claim": claim.most}
        kinds = " and ".join(kind for kind, asked in named.items() if asked)
        return self._call(kinds, lambda: self._store.exchange(results, held, claim))

    def claim(self, claim: Claim) -> Claimed:
        return self._call("job.claim", lambda: self._store.claim(claim))

    def start_many(self, held: Sequence[Held], lease: int) -> list[int]:
        return self._call("job.start", lambda: self._store.start_many(held, lease))

    def complete_many(self, results: Sequence[tuple[str, int, Any]]) -> list[int]:
        return self._call("job.complete", lambda: self._store.complete_many(results))

    def end_many(self, held: Sequence[Held], outcome: Outcome) -> list[int]:
        return self._call(f"of attempts that {outcome.kind}", lambda: self._store.end_many(held, outcome))

    def report(self, id: str, version: int, progress: float | None, lines: Sequence[str]) -> int:
        return self._call("job.report", lambda: self._store.report(id, version, progress, lines))

    def heartbeat(self, worker: str, held: Sequence[Held]) -> tuple[list[str], list[str]]:
        return self._call("job.heartbeat", lambda: self._store.heartbeat(worker, held))

    def get(self, id: str) -> Job:
        return self._call("job.get", lambda: self._store.get(id))

    def delete(self, id: str) -> None:
        self._call("job.delete", lambda: self._store.delete(id))

    def run(self, call: Call[_T]) -> _T:
        return self._call(call.kind, lambda: self._store.run(call))

    def send(self, calls: Sequence[Call[Any]]) -> list[Any]:
        return self._call_of_run(_kinds(calls), lambda: self._store.send(calls))

    async def send_async(self, calls: Sequence[Call[Any]]) -> list[Any]:
        made: list[Any] = await self._network.call(self._incarnation, _kinds(calls), lambda: self._store.send(calls))
        return made

    def record(self, id: str, version: int, steps: Sequence[Mapping[str, Any]]) -> Sequence[Promise]:
        return self._call_of_run(f"job.record{_names(steps)}", lambda: self._store.record(id, version, steps))

    async def record_async(self, id: str, version: int, steps: Sequence[Mapping[str, Any]]) -> Sequence[Promise]:
        return await recorded_by_call(self, id, version, steps)

    def history(self, id: str, cursor: str | None) -> PromisePage:
        return self._call_of_run("job.history", lambda: self._store.history(id, cursor))

    def promises(self, ids: Sequence[str]) -> list[Promise | None]:
        return self._call_of_run("promise.get", lambda: self._store.promises(ids))

    def _call_of_run(self, what: str, execute: Callable[[], _T]) -> _T:
        """Make a request of the run of a workflow. A crash unwinds the function of a `def` workflow, as a run that is dropped does."""
        incarnation = self._incarnation
        outer, incarnation.unwinds = incarnation.unwinds, True
        try:
            return self._call(what, execute)
        finally:
            incarnation.unwinds = outer

    def scheduled(self, ids: str, tags: Mapping[str, str]) -> Sequence[Job]:
        return self._call("job.search", lambda: self._store.scheduled(ids, tags))

    def waiting(self, queues: Iterable[str]) -> int:
        return self._call("queue.stats", lambda: self._store.waiting(queues))

    def awaits_time(self, queues: Iterable[str]) -> bool:
        return self._call("queue.stats", lambda: self._store.awaits_time(queues))

    async def apart(self, function: Callable[[], _T]) -> _T:
        if self._line is None:
            return await asyncio.to_thread(function)
        made: _T = await asyncio.get_running_loop().run_in_executor(
            cast("Any", self._line), contextvars.copy_context().run, function
        )
        return made

    def close(self) -> None:
        """Has nothing to close: the store is the simulation's."""


def _kinds(calls: Sequence[Call[Any]]) -> str:
    return " and ".join(dict.fromkeys(map(_named, calls))) or "nothing"


def _named(call: Call[Any]) -> str:
    return f"{call.kind}{_names(call.data['steps'])}" if call.kind == "job.record" else call.kind


def _names(steps: Iterable[Mapping[str, Any]]) -> str:
    """The names of recorded steps, for the story."""
    names = dict.fromkeys(str((step.get("tags") or {}).get("resonate:name", "")) for step in steps)
    shown = ", ".join(filter(None, names))
    return f" ({shown})" if shown else ""
