"""Child jobs of workflows: a task that the code of a workflow calls or starts."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, overload

from .._core import Job, Jobs
from ..calls.call import Call
from ..calls.made import call
from ..errors import Invalid
from .calling import BatchCall, HandlerCall
from .context import JobContext, current
from .workflows.calls import ChildCall
from .workflows.records import Reader
from .workflows.scope import scope_here

__all__ = ["ChildJobs"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")


class ChildJobs(Generic[P, R_co]):
    """The calls of a task in the code of a workflow."""

    type: str
    handler: HandlerCall | BatchCall
    _preset: dict[str, Any]
    _reader: Reader | None = None  # of results

    def payload(self, payload: Any) -> Any:
        """Return a payload as the store takes it."""
        raise NotImplementedError

    def _payload_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def _merged(self, options: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    @overload
    def call(self: ChildJobs[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> ChildCall[T]: ...

    @overload
    def call(self: ChildJobs[P, T], *args: P.args, **kwargs: P.kwargs) -> ChildCall[T]: ...

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as a child job of the workflow that calls this: another worker may run it.

        Await it for its result; in a `def` workflow, `result` waits.

        Its options come by `using`; its id is that of the call. If it fails it is `failed`, unless ``on_exhausted`` says otherwise,
        and it is cancelled with the workflow, unless ``cancel_with_awaiters`` is False.

        Args:
            args: As of the function.
            kwargs: As of the function.

        Raises:
            RuntimeError: No workflow runs here: use `delay`.
            StepFailed: When awaited: the job has failed, was cancelled, or was refused (such as by its unique key).

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.task("order:pack", max_retries=5)
            ... def pack(order: str) -> str:
            ...     return f"parcel of {order}"
            >>> @worker.workflow("order:fulfil")
            ... async def fulfil(order: str) -> str:
            ...     return await pack.call(order)
            >>> _ = fulfil.using(id="w").delay("7")
            >>> [(run.id, run.outcome, run.result) for run in worker.run_until_idle()]
            [('w', 'suspended', None), ('w:1', 'completed', 'parcel of 7'), ('w', 'completed', 'parcel of 7')]
        """
        made = self._child(args, kwargs)
        if made.run.blocking:  # nothing awaits it, which would begin it
            made.begin()
        return made

    @overload
    def start(self: ChildJobs[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> ChildCall[T]: ...

    @overload
    def start(self: ChildJobs[P, T], *args: P.args, **kwargs: P.kwargs) -> ChildCall[T]: ...

    def start(self, *args: Any, **kwargs: Any) -> Any:
        """Enqueue a child job of the workflow that calls this, now; return its handle, which has `id` and `cancel`, and can be awaited.

        Args:
            args: As of `call`.
            kwargs: As of `call`.

        Raises:
            RuntimeError: No workflow runs here: use `delay`.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> pack = worker.task("order:pack")(lambda order: f"parcel of {order}")
            >>> @worker.workflow("order:fulfil")
            ... async def fulfil(order: str) -> str:
            ...     packing = pack.start(order)
            ...     return f"{packing.id}: {await packing}"
            >>> _ = fulfil.using(id="w").delay("7")
            >>> worker.run_until_idle().runs[-1].result
            'w:1: parcel of 7'
        """
        made = self._child(args, kwargs)
        made.begin()
        return made

    def _child(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ChildCall[Any]:
        scope = scope_here(f"{self.type}.call")
        if scope is None:
            raise RuntimeError(
                f"call() and start() of task {self.type!r} make a child job of a workflow, and no workflow runs here (a step is no part "
                "of it): use delay()"
            )
        if "id" in self._preset:
            raise Invalid(f"id of a child job is that of its call, got id={self._preset['id']!r} by using()")
        return ChildCall(scope, self, self.payload(self._payload_of(args, kwargs)), self._result_reader())

    def _result_reader(self) -> Reader:
        found = self._reader
        if found is None:
            hint = self.handler.hints.get("return", inspect.Parameter.empty)
            found = self._reader = Reader(hint, f"result of task {self.type!r}")
        return found

    def child_request(self, payload: Any, id: str, parent: Mapping[str, Any], tags: dict[str, str]) -> Call[Job]:
        """Return the request that enqueues a child job, whose spans are below that of the workflow.

        Args:
            payload: Its payload.
            id: Its id.
            parent: Id and version of the workflow.
            tags: Beside its own.
        """
        running = current.get()
        carried = running.trace.carried() if isinstance(running, JobContext) and running.trace is not None else {}
        return self.awaited_request(payload, id, carried | tags, parent=parent)

    def awaited_request(self, payload: Any, id: str, tags: Mapping[str, str], **more: Any) -> Call[Job]:
        """Return the request that enqueues a job for whose outcome someone waits: if it fails it is `failed`, not archived.

        Args:
            payload: Its payload.
            id: Its id.
            tags: Beside its own.
            more: Options that it has in any case.
        """
        merged = {**self._merged({}), **more}
        merged["tags"] = {**(merged.get("tags") or {}), **tags}
        if merged.get("on_exhausted") is None:
            merged["on_exhausted"] = "failed"
        if merged.get("cancel_with_awaiters") is None:
            merged["cancel_with_awaiters"] = True
        return call(Jobs.enqueue, self.type, payload, id=id, **merged)

    def _refuse_in_workflow(self, called: str) -> None:
        """Refuse what a replay would do again.

        Raises:
            RuntimeError: The code of a workflow calls it, not a step.
        """
        if scope_here(f"{self.type}.{called}") is not None:
            raise RuntimeError(
                f"{called}() of task {self.type!r} in the code of a workflow would enqueue again in each replay: use start(), or a step"
            )
