"""Durable calls of a scenario, and waiting for their ends."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ..._core import Promise
from ...base.failed_attempts import failed_attempts
from ...base.instants import NEVER
from ...errors import Invalid, StoreBusy, Unreachable
from ...worker.tasks import WorkerTask
from .population import Population
from .spans import Span, span
from .world_base import is_settled

__all__ = ["Calls"]

#: The deadline of a durable function that a scenario calls.
_YEAR = timedelta(days=365)


class Calls(Population):
    """The calls of a scenario."""

    async def call(self, id: str, what: Any, /, *args: Any, timeout: Span | None = None, **kwargs: Any) -> None:
        """Start a durable call, as a client does: ask until the store has acknowledged it.

        Args:
            id: Of the job.
            what: A task of a worker, its function, or its type; or a function of a program of the SDK, or its name. A task may have
                options: ``task.using(max_retries=0)``.
            args: As of the function.
            timeout: The time after which a durable function times out, by default a year; or the time limit of each attempt of a job, by
                default that of its task. A function that has a parameter of this name gets it by position.
            kwargs: As of the function.

        Raises:
            Invalid: No worker and no program of this simulation has it; or `timeout` is given for a function that has a parameter
                ``timeout``.
            TypeError: The function cannot be called so.

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
            ...     await world.call("sum", "add", 1, b=2, timeout="10 s")
            ...     return (await world.settled("sum", within="1 h")).value.json()
            >>> simulate(scenario).value
            3
        """
        length = None if timeout is None else span("timeout", timeout)
        task = what if isinstance(what, WorkerTask) else self._tasks.get(what)
        function = task.function if task is not None else what
        if length is not None and _has_parameter(function, "timeout"):
            raise Invalid(
                f"timeout must be left out for {function!r}, which has a parameter of this name, got {timeout!r}: pass the argument of the "
                "function by position"
            )
        self._followed.setdefault(id, None)
        if task is None:
            await self._call_program(id, what, args, kwargs, _YEAR if length is None else timedelta(milliseconds=length))
            return
        payload = task.payload(task._payload_of(args, kwargs))
        options = task._merged({"id": id} if length is None else {"id": id, "timeout": length})
        while True:
            try:
                await self._network.call(
                    self._client_incarnation, f"job.enqueue {id}", lambda: self.store.jobs.enqueue(task.type, payload, **options)
                )
                self._follow(id)
                return
            except (Unreachable, StoreBusy):
                await asyncio.sleep(0.1)

    async def _call_program(self, id: str, what: Any, args: tuple[Any, ...], kwargs: dict[str, Any], timeout: timedelta) -> None:
        """Dispatch a function of the SDK, as a client of it does."""
        for name, (group, register) in self._programs.items():
            context = self._context  # without faults: a client of the SDK does not ask again
            client = self._clients.get(name)
            if client is None:
                client = self._clients[name] = context.copy().run(self._sdk_client, register)
            dispatch = client.options(target=group, timeout=timeout).rpc
            try:
                if callable(what):
                    args, kwargs = _bound(what, args, kwargs)
                handle = context.copy().run(dispatch, id, what, *args, **kwargs)
            except Exception as error:
                if type(error).__name__ != "FunctionNotFoundError":
                    raise
                continue
            await handle.id()  # raises what keeps the promise from being created
            while self._follow(id) is None:
                await self._change_after(self._changes, 1.0)
            return
        raise Invalid(
            f"what must be a task of a worker, or a function of a program, of this simulation, its name or its type, got {what!r}"
        )

    def _sdk_client(self, register: Callable[[Any], Any]) -> Any:
        from ...connection import Connection

        client = Connection(self._process_store(self._incarnation), "client", "client").resonate(sources=[])  # type: ignore[arg-type]
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
        failed = [f"; {one.told(self.now, one.error)}" for one in failed_attempts(self.store).of_all() if id in (one.id, one.task)]
        for read in (self.store.jobs.get, self.store.tasks.get):
            with contextlib.suppress(Exception):
                return f"{read(id)!r}{''.join(failed)}"
        return f"{promise!r}{''.join(failed)}"


def _has_parameter(function: Any, name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a name, or a C function without a signature
        return False


def _bound(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a durable function, as many as possible by position: a client of the SDK has keywords of its own.

    Raises:
        TypeError: It cannot be called so. Without this, each of its attempts would fail.
    """
    try:
        bound = inspect.signature(function).bind(None, *args, **kwargs)  # the context is its first argument
    except TypeError as error:
        raise TypeError(f"{function.__name__}: {error}") from error
    return bound.args[1:], bound.kwargs


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
