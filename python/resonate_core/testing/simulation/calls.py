"""Durable calls of a scenario, and waiting for their ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ..._core import Promise
from ..._instants import NEVER
from ...errors import Invalid, StoreBusy, Unreachable
from ...worker.tasks import WorkerTask
from .ground import is_settled
from .population import Population
from .spans import Span, span

__all__ = ["Calls"]

#: The deadline of a durable function that a scenario calls.
_YEAR = timedelta(days=365)


class Calls(Population):
    """The calls of a scenario."""

    async def call(self, id: str, what: Any, *args: Any, **kwargs: Any) -> None:
        """Start a durable call, as a client does: ask until the store has acknowledged it.

        Args:
            id: Of the job.
            what: A task of a worker, its function, or its type; or a function of a program of the SDK, or its name.
            args: As of the function.
            kwargs: As of the function.

        Raises:
            Invalid: No worker and no program of this simulation has it.

        Example:
            >>> from resonate_core.testing import simulate
            >>> from resonate_core.worker import Worker
            >>> def make_worker(store):
            ...     worker = Worker(store)
            ...     worker.task("add")(lambda a, b: a + b)
            ...     return worker
            >>> async def scenario(world):
            ...     world.worker("a", make_worker)
            ...     world.faults(lose_reply=0.5)
            ...     await world.call("sum", "add", 1, b=2)
            ...     return (await world.settled("sum", within="1 h")).value.json()
            >>> simulate(scenario).value
            3
        """
        self._followed.setdefault(id, None)
        task = what if isinstance(what, WorkerTask) else self._tasks.get(what)
        if task is None:
            await self._call_program(id, what, args, kwargs)
            return
        payload = task.payload(task.call.payload_of(*args, **kwargs))
        options = task._merged({"id": id})
        while True:
            try:
                await self._network.call(
                    self._client_life, f"job.enqueue {id}", lambda: self.store.jobs.enqueue(task.type, payload, **options)
                )
                self._follow(id)
                return
            except (Unreachable, StoreBusy):
                await asyncio.sleep(0.1)

    async def _call_program(self, id: str, what: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Dispatch a function of the SDK, as a client of it does."""
        for name, (group, register) in self._programs.items():
            context = self._context  # without faults: a client of the SDK does not ask again
            client = self._clients.get(name)
            if client is None:
                client = self._clients[name] = context.copy().run(self._sdk_client, register)
            try:
                context.copy().run(client.options(target=group, timeout=_YEAR).rpc, id, what, *args, **kwargs)
            except Exception as error:
                if type(error).__name__ != "FunctionNotFoundError":
                    raise
                continue
            while self._follow(id) is None:
                await self._change_after(self._changes, 1.0)
            return
        raise Invalid(
            f"what must be a task of a worker, or a function of a program, of this simulation, its name or its type, got {what!r}"
        )

    def _sdk_client(self, register: Callable[[Any], Any]) -> Any:
        from ...connection import Connection

        client = Connection(self._process_store(self._life), "client", "client").resonate(sources=[])  # type: ignore[arg-type]
        register(client)
        return client

    async def settled(self, id: str, *, within: Span) -> Promise:
        """Wait until a promise or a job is settled, and return its promise.

        Args:
            id: Of the promise or job.
            within: The time from now on.

        Raises:
            AssertionError: It is not settled by then.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.store.promises.create("p", timeout=1000)
            ...     await world.settled("p", within="0.5 s")
            >>> simulate(scenario)
            Traceback (most recent call last):
            AssertionError: 'p' is not settled within 500 ms: ...
        """
        length = span("within", within)
        until = self.now + length
        while True:
            seen = self._changes
            promise = self._follow(id)
            if promise is not None and promise.state != "pending":
                return promise
            left = until - self.now
            if left <= 0:
                raise AssertionError(f"{id!r} is not settled within {length} ms: {self._state(id, promise)}")
            due = left if promise is None else max(promise.timeout_at - self.now, 1)  # a deadline may pass without a step
            await self._change_after(seen, min(left, due) / 1000)

    def _completed(self, text: str) -> None:
        """Remember the jobs of a recorded completion that a scenario waits for: one without a retention is deleted at once."""
        for id, promise in self._followed.items():
            if not is_settled(promise) and f'"id":{json.dumps(id)}' in text:
                data = json.loads(text)["res"]["data"]
                for answer in data.get("jobs", [data]) if isinstance(data, dict) else []:
                    job = answer.get("job")
                    if job is not None and job["id"] == id:
                        self._followed[id] = _promise_of(job, promise)

    def _state(self, id: str, promise: Promise | None) -> str:
        if promise is None:
            return "it does not exist"
        for read in (self.store.jobs.get, self.store.tasks.get):
            with contextlib.suppress(Exception):
                return repr(read(id))
        return repr(promise)


def _promise_of(job: dict[str, Any], before: Promise | None) -> Promise:
    """The promise of a completed job."""
    return Promise.from_dict(
        {
            "id": job["id"],
            "state": "resolved",
            "param": job.get("payload", {}),
            "value": job.get("result", {}),
            "tags": job["tags"],
            "timeoutAt": NEVER if before is None else before.timeout_at,
            "createdAt": job.get("enqueuedAt", 0),
            "settledAt": job["completedAt"],
        }
    )
