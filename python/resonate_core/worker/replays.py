"""`replay`: checks the code of a workflow against a recorded history, without a step or a write."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from .._core import Job, ManualClock, Promise, PromisePage, Store
from ..base.page_progress import PageProgress
from ..calls.workflow_records import Step
from ..errors import Invalid
from .context import JobContext, current
from .dependencies import PromiseReader
from .workflow_task import WorkflowTask
from .workflows.failures import HistoryTooLong, NonDeterministic, RunEnded, StartedOver
from .workflows.rehearsed import NextCall, RehearsedRun, RehearsedThreadRun, rehearsal
from .workflows.scope import Scope

__all__ = ["History", "NextCall", "Replayed", "replay"]

T = TypeVar("T")
Outcome = Literal["continues", "waits", "returns", "raises", "starts over"]

#: The parent of a record: its job.
_PARENT_TAG = "resonate:parent"
#: Records of one page.
_PAGE = 1000
#: Seconds that code may await something that is no call.
_LIMIT = 10.0


class _Jobs(Protocol):
    def get(self, id: str) -> Job:
        """Return a job."""

    def history(self, id: str, *, cursor: str | None = None, limit: int | None = None) -> PromisePage:
        """Return a page of the children of a job."""


class _Store(Protocol):
    """A store in this process, or the client of a server."""

    @property
    def jobs(self) -> Any:
        """Its jobs."""


@dataclass(frozen=True)
class History:
    """A workflow and what is recorded of it, to be replayed: from a store, or from a file that a test keeps.

    Attributes:
        job: The workflow.
        records: Its records.

    Example:
        >>> from resonate_core.workflow import History, sleep
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> worker = rc.worker.Worker(store)
        >>> @worker.workflow("remind")
        ... async def remind(user: str) -> None:
        ...     await sleep(1000)
        >>> _ = remind.using(id="r").delay("ada")
        >>> _ = worker.run_until_idle()
        >>> history = History.of(store, "r")
        >>> history.job.payload.json(), [record.id for record in history.records]
        ({'user': 'ada'}, ['r:1'])
        >>> History.from_dict(history.to_dict()).job.id
        'r'
    """

    job: Job
    records: tuple[Promise, ...] = field(repr=False)

    @classmethod
    def of(cls, store: _Store, id: str) -> History:
        """Read a history.

        Args:
            store: The store, or `resonate_core.connect(url)`.
            id: Of the workflow.

        Raises:
            NotFound: It does not exist.
        """
        job = store.jobs.get(id)
        return cls(job, tuple(records_of(store.jobs, id)))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"job": self.job.to_dict(), "records": [record.to_dict() for record in self.records]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> History:
        """Return the history that `to_dict` has made.

        Raises:
            Invalid: It is none.
        """
        if not isinstance(data.get("job"), Mapping) or not isinstance(data.get("records"), list):
            raise Invalid("a history must be an object with the members job and records")
        return cls(Job.from_dict(dict(data["job"])), tuple(map(Promise.from_dict, data["records"])))

    def save(self, path: str | Path) -> None:
        """Write it to a file, as JSON.

        Args:
            path: The file.
        """
        Path(path).write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> History:
        """Read a file that `save` has written.

        Args:
            path: The file.

        Raises:
            Invalid: It is no history.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise Invalid(f"{path} must be the JSON of a history: {error}") from error
        return cls.from_dict(data if isinstance(data, dict) else {})


def records_of(jobs: Any, id: str) -> Iterable[Promise]:
    """Yield the records of a workflow, page by page."""
    progress, cursor = PageProgress("job.history"), None
    while True:
        page = jobs.history(id, limit=_PAGE, cursor=cursor)
        yield from page
        if page.cursor is None:
            return
        progress.check(page.cursor, len(page))
        cursor = page.cursor


@dataclass(frozen=True)
class Replayed:
    """What code does with a history: `str` says it in words.

    Attributes:
        outcome: ``continues``: it would call something that is not recorded; ``waits``: for something that is pending; ``returns``;
            ``raises``; ``starts over``.
        next: The calls at which it stands, by id. It calls next the ones that have not begun.
        calls: How many calls the code has made.
        result: The result.
        error: The exception.
    """

    outcome: Outcome
    next: tuple[NextCall, ...] = ()
    calls: int = 0
    result: Any = None
    error: BaseException | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if self.outcome == "continues":
            return "continues with " + _said(each for each in self.next if not each.begun)
        if self.outcome == "waits":
            return f"waits for {_said(self.next)}"
        if self.outcome == "raises":
            return f"raises {type(self.error).__name__}: {self.error}"
        return self.outcome


def _said(calls: Iterable[NextCall]) -> str:
    return ", ".join(f"{each.name} ({each.id})" for each in calls)


def replay(
    workflow: WorkflowTask[..., Any],
    history: History | Iterable[Step | Promise],
    *args: Any,
    **kwargs: Any,
) -> Replayed:
    """Run the code of a workflow on what is recorded: no step runs, nothing is written, and no store is asked.

    A test of code that changes under running workflows keeps histories (`History.save`), or reads those of a store. The command
    ``resonate-core workflows rehearse`` does it for all workflows in flight.

    Args:
        workflow: The workflow, as `Worker.workflow` has made it.
        history: A `History`; or records, such as ``store.workflows.history(id)``, with the arguments of the workflow behind them.
        args: Of the workflow, if the history is none of its job.
        kwargs: As `args`.

    Returns:
        Its next calls, or how it ends.

    Raises:
        NonDeterministic: The code does not do what is recorded. The message has both names and the place.
        HistoryTooLong: It makes too many calls.
        TypeError: It is no workflow, or cannot be called with these arguments.
        TimeoutError: It awaits something that is no call, such as `asyncio.sleep`, for more than ten seconds.

    Example:
        >>> from resonate_core.workflow import History, NonDeterministic, replay, run, sleep
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> worker = rc.worker.Worker(store)
        >>> @worker.workflow("label")
        ... async def label(order: str) -> str:
        ...     await sleep(1000)
        ...     return await run(str.upper, order)
        >>> _ = label.using(id="l").delay("order-7")
        >>> _ = worker.run_until_idle()
        >>> str(replay(label, store.workflows.history("l"), "order-7"))
        'waits for sleep (l:1)'
        >>> _ = worker.run_until_idle(until=500), store.promises.resolve("l:1")
        >>> str(replay(label, History.of(store, "l")))
        'continues with upper (l:2)'
        >>> @rc.worker.Worker().workflow("label")
        ... async def changed(order: str) -> str:
        ...     return await run(str.upper, order)
        >>> try:
        ...     replay(changed, History.of(store, "l"))
        ... except NonDeterministic as diverged:
        ...     print(str(diverged).partition(" at ")[0])
        l:1 is upper
    """
    if not isinstance(workflow, WorkflowTask):
        raise TypeError(f"workflow must be made by Worker.workflow, got {workflow!r}")
    if not isinstance(history, History):
        records = [each.promise if isinstance(each, Step) else each for each in history]
        history = History(_job_of(workflow, records, args, kwargs), tuple(records))
    elif args or kwargs:
        raise TypeError("the arguments of a workflow are those of its job if a History is given")
    return rehearse(workflow, history.job, {record.id: record for record in history.records})


def rehearse(
    workflow: WorkflowTask[..., Any],
    job: Job,
    records: dict[str, Promise],
    reader: PromiseReader | None = None,
    limit: float = _LIMIT,
) -> Replayed:
    """Do as `replay`.

    Args:
        workflow: The workflow.
        job: Its job.
        records: Its records, by id.
        reader: Reads what the job waited for before its start; None: that is an error, should the code ask for it.
        limit: Seconds that the code may await something that is no call.
    """
    now = job.created_at or 0
    context = JobContext(job, "rehearsal", now, None, lambda: now, reader)
    scope = contextvars.copy_context()
    scope.run(current.set, context)
    if workflow.is_async:
        return _run(lambda: scope.run(asyncio.ensure_future, _rehearsed(workflow, context, records, limit)))
    return scope.run(_rehearsed_here, workflow, context, records)


async def _rehearsed(workflow: WorkflowTask[..., Any], context: JobContext, records: dict[str, Promise], limit: float) -> Replayed:
    run = RehearsedRun(rehearsal(), context, {})
    _prepare(run, workflow, records)
    scope = Scope(run, context.id, contextvars.copy_context(), getattr(workflow.function, "__code__", None))
    try:
        scope.coroutine = workflow._begin(context)
    except Exception as error:  # its payload cannot be read
        return _raised(run, error)
    task = asyncio.ensure_future(run.run(scope))
    try:
        await asyncio.wait({task}, timeout=limit)
        if not task.done():
            place = run.place_of(f"{scope.id}:")
            task.cancel()
            await asyncio.wait({task}, timeout=limit)
            raise TimeoutError(f"workflow {context.id} awaits something that is no call for more than {limit:g} s, at {place}")
        raised = asyncio.CancelledError() if task.cancelled() else task.exception()
        return _ended(run, task.result()) if raised is None else _raised(run, raised)
    finally:
        run.drop()
        await run.support.drop_all(limit)


def _rehearsed_here(workflow: WorkflowTask[..., Any], context: JobContext, records: dict[str, Promise]) -> Replayed:
    run = RehearsedThreadRun(rehearsal(), context, {})
    _prepare(run, workflow, records)
    scope = Scope(run, context.id, contextvars.copy_context(), getattr(workflow.function, "__code__", None))
    try:
        return _ended(run, run.run(scope, lambda: workflow._begin(context)))
    except BaseException as error:
        return _raised(run, error)


def _prepare(run: RehearsedRun | RehearsedThreadRun, workflow: WorkflowTask[..., Any], records: dict[str, Promise]) -> None:
    run.payload_of = workflow._payload_of_call
    run.replay(records)


def _ended(run: RehearsedRun | RehearsedThreadRun, result: Any) -> Replayed:
    return Replayed("returns", calls=run.calls, result=result)


def _raised(run: RehearsedRun | RehearsedThreadRun, error: BaseException) -> Replayed:
    if isinstance(error, (NonDeterministic, HistoryTooLong)):
        raise error
    if isinstance(error, StartedOver):
        return Replayed("starts over", calls=run.calls)
    if run.suspended and isinstance(error, (RunEnded, asyncio.CancelledError)):
        found = tuple(sorted(run.stands_at.values()))
        continues = any(not each.begun for each in found)
        return Replayed("continues" if continues else "waits", found, run.calls)
    if not isinstance(error, Exception):
        raise error
    return Replayed("raises", calls=run.calls, error=error)


def _run(made: Callable[[], asyncio.Future[Replayed]]) -> Replayed:
    """Run a coroutine in an event loop of its own; in another thread if one runs here."""

    async def main() -> Replayed:
        return await made()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    return _in_thread(main())


def _in_thread(coroutine: Coroutine[Any, Any, T]) -> T:
    found: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(asyncio.run(coroutine))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="rehearsal")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return found[0]


def _job_of(workflow: WorkflowTask[..., Any], records: list[Promise], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Job:
    """Return a job with these arguments, to which the records belong."""
    id = next((record.tags.get(_PARENT_TAG) or record.id.rpartition(":")[0] for record in records), "replay")
    payload = workflow._payload_of_call(*args, **kwargs)
    with Store(clock=ManualClock()) as scratch:
        return scratch.jobs.enqueue(workflow.type, payload, id=id)
