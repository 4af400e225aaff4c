"""A workflow under its name: a task whose function is replayed."""

from __future__ import annotations

import contextvars
import types
from collections.abc import Callable, Generator, Mapping
from typing import Any, ParamSpec, TypeVar

from .._core import Job, Jobs, Promise
from ..calls.call import Call
from ..calls.made import call
from ..calls.workflow_records import WORKFLOW_TAG
from ..errors import Conflict
from .context import JobContext
from .outcomes import DROPPED, RESTARTED, SUSPENDED, Failure, JobCancelled, Outcome
from .tasks import WorkerTask
from .workflows.determinism import warn_of
from .workflows.driver import AsyncRun
from .workflows.failures import HistoryTooLong, NonDeterministic, Parked, RunEnded, StartedOver
from .workflows.records import JOB, is_pending, name_of
from .workflows.scope import Run, Scope
from .workflows.support import WorkflowSupport
from .workflows.threads import ThreadRun

__all__ = ["WorkflowTask"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class WorkflowTask(WorkerTask[P, R_co]):
    """A workflow under its name; `Worker.workflow` makes it. A call calls the function that it was made from, without any record.

    Example:
        >>> from resonate_core.workflow import run
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.workflow("greet")
        ... async def greet(name: str) -> str:
        ...     return await run("hello, {}".format, name)
        >>> greet.delay("ada").retry_policy["kind"]
        'fixed'
        >>> worker.run_until_idle().runs[0].result
        'hello, ada'
    """

    is_workflow = True

    def _bind(self, function: Callable[P, R_co], unpack: bool | None, upcast: Any, names: Mapping[str, Any]) -> None:
        super()._bind(function, unpack, upcast, names)
        warn_of(function, self.type)
        self._begin: Callable[[JobContext], Any] = self.handler.invoke  # type: ignore[assignment]

    def run_job(self, context: Any) -> Any:
        """Run a job of this workflow: the coroutine of its outcome, or the outcome."""
        return self._run_async(context) if self.is_async else self._run_in_thread(context)

    def _merged(self, options: Mapping[str, Any]) -> dict[str, Any]:
        merged = super()._merged(options)
        merged["tags"] = {**(merged.get("tags") or {}), WORKFLOW_TAG: "true"}
        return merged

    # -- an asynchronous function --------------------------------------------------------------------------------------------------

    async def _run_async(self, context: JobContext) -> Any:
        support: WorkflowSupport = context.workflows
        job = context.job
        parked = support.take(job)
        run = parked or AsyncRun(support, context, {})
        try:
            if parked is not None:
                run.resume(context)
                await run.refresh()
                assert run.main is not None
                scope = run.main
            else:
                run.payload_of = self._payload_of_call
                if job.steps:
                    run.replay(await run.history())
                scope = Scope(run, job.id, contextvars.copy_context(), _code_of(self.function))
                scope.coroutine = self._begin(context)
            return await run.run(scope)
        except Parked:
            support.park(run)
            if not support.live:
                await support.drop_all()
            return SUSPENDED
        except StartedOver as error:
            try:
                return await self._start_over_async(run, error)
            except RunEnded as over:
                return _outcome_of(run, over)
        except RunEnded as error:
            return _outcome_of(run, error)

    async def _start_over_async(self, run: AsyncRun, ended: StartedOver) -> Outcome:
        """End the run, once no child job of it runs any more."""
        ending = _ending(run, ended)
        request = next(ending)
        while True:
            try:
                request = ending.send((await run.requested([request]))[0] if request else _open_children(await run.history()))
            except StopIteration as over:
                outcome: Outcome = over.value
                return outcome

    # -- a synchronous function ----------------------------------------------------------------------------------------------------

    def _run_in_thread(self, context: JobContext) -> Any:
        support: WorkflowSupport = context.workflows
        run = ThreadRun(support, context, {})
        run.payload_of = self._payload_of_call
        try:
            if context.job.steps:
                run.replay(run.history())
            scope = Scope(run, context.job.id, contextvars.copy_context(), _code_of(self.function))
            return run.run(scope, lambda: self._begin(context))
        except StartedOver as error:
            try:
                return self._start_over(run, error)
            except RunEnded as over:
                return _outcome_of(run, over)
        except RunEnded as error:
            return _outcome_of(run, error)

    def _start_over(self, run: ThreadRun, ended: StartedOver) -> Outcome:
        ending = _ending(run, ended)
        request = next(ending)
        while True:
            try:
                request = ending.send(run.requested([request])[0] if request else _open_children(run.history()))
            except StopIteration as over:
                outcome: Outcome = over.value
                return outcome

    def _payload_of_call(self, *args: Any, **kwargs: Any) -> Any:
        return self.payload(self._payload_of(args, kwargs))


def _code_of(function: Callable[..., Any]) -> types.CodeType | None:
    code: types.CodeType | None = getattr(function, "__code__", None)
    return code


def _outcome_of(run: Run, error: RunEnded) -> Outcome:
    """Return the outcome of a run that was ended against the will of its function."""
    if isinstance(error, (NonDeterministic, HistoryTooLong)):
        return Outcome("failed", failure=Failure(error.code, str(error), retryable=False, archive=True), error=error)
    if getattr(run, "suspended", False):
        return SUSPENDED
    if run.context.reason is not None:
        raise JobCancelled(run.context.reason)
    run.context.cancel("lost")
    return DROPPED


def _open_children(records: Mapping[str, Promise]) -> list[str]:
    """Return the child jobs that are not final. Other children that are pending, such as promises, are removed with the history."""
    return [id for id, record in records.items() if is_pending(record) and name_of(record).startswith(JOB)]


def _ending(run: Run, ended: StartedOver) -> Generator[Call[Any] | None, Any, Outcome]:
    """End a run by `start_over`, after its child jobs. It yields requests and gets their answers; for None, the open child jobs."""
    run.fatal = None
    looked = False  # a request was refused, and no child was open then
    while True:
        answer = yield call(Jobs.start_over, run.job.id, run.version, ended.payload)
        if isinstance(answer, Job):
            return RESTARTED
        if not isinstance(answer, Conflict):
            raise answer
        children = yield None
        if children:
            suspension = yield call(Jobs.suspend, run.job.id, run.version, children[:10_000], until="all")
            if isinstance(suspension, Job):
                return SUSPENDED if suspension.state == "waiting" else Outcome("snoozed", delay=0)
        elif not looked:  # the last child may have ended since
            looked = True
            continue
        message = f"the run could not be started over: {answer}"
        return Outcome("failed", failure=Failure("StartOverRefused", message, retryable=False, archive=True))
