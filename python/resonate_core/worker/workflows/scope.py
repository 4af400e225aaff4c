"""The numbers of calls, and the records of a run."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from contextvars import Context, ContextVar
from threading import get_ident
from types import CodeType
from typing import Any

from ..._core import Job, Promise
from ..context import JobContext
from ..tracebacks import described
from .failures import Dropped, HistoryTooLong, NonDeterministic, RunEnded
from .records import NAME_TAG, PATCHED, Step, is_pending, name_of, settled

__all__ = ["MOST_CALLS", "Run", "Scope", "current_scope", "place_outside", "scope_here"]

#: The name of a call that has no record itself, and inside of which other calls are recorded.
BRANCHES = "gather or first"

#: The most calls of one run.
MOST_CALLS = 100_000

#: The scope of the workflow's code that runs here; None in steps, and outside of workflows.
current_scope: ContextVar[Scope | None] = ContextVar("resonate_core_workflow_scope", default=None)

#: The folder of this library, whose frames are no place in a program.
_LIBRARY = __file__.rpartition("workflows")[0]


def place_outside() -> str:
    """Return file and line of the code of the program that calls the library."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARY):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def place_of_code(code: CodeType) -> str:
    """Return where a function begins."""
    return f"{code.co_filename}:{code.co_firstlineno}"


class Run:
    """One run of a workflow's function: its records, and those that it adds.

    Args:
        context: Of the attempt.
        records: The history, by id.

    Attributes:
        job: As it was claimed.
        context: Of the attempt that is under way.
        records: Records by id: all of a history that is replayed, and pending ones.
        unsent: Steps that must be recorded before, or together with, anything else.
        begun: The names of promises that are pending or were asked for, by id.
        over: Why calls are no calls of this run any more: `cancelled` (cleanup: they are plain), or `ended`.
        fatal: What ended the run against the function's will.
        stepping: The scope whose code runs now, in the thread `thread`.
    """

    blocking = False

    def __init__(self, context: JobContext, records: dict[str, Promise]) -> None:
        self.context = context
        self.job: Job = context.job
        self.version = context.job.version
        self.records = records
        self.unsent: Any = []
        self.begun: dict[str, str] = {}
        self.over: str | None = None
        self.fatal: RunEnded | None = None
        self.stepping: Scope | None = None
        self.thread = get_ident()
        self.calls = 0
        self.payload_of: Callable[..., Any] = lambda *args, **kwargs: None  # of the workflow's function
        self.replaying = bool(records)

    def replay(self, records: dict[str, Promise]) -> None:
        """Take the history that is replayed, before the function begins."""
        self.records = records
        self.replaying = bool(records)
        self.begun = {id: name_of(record) for id, record in records.items() if is_pending(record)}

    @functools.cached_property
    def under_way(self) -> dict[str, str]:
        """The names of calls that had begun when the history was read, by id: those of which something inside is recorded.

        A `gather` has no record unless it has failed, but its branches have; a step that waits for its next attempt has a timer.
        """
        found: dict[str, str] = {}
        own = len(self.job.id) + 1
        for id, record in self.records.items():
            parts = id[own:].split(":")
            if len(parts) == 1 or parts[0].startswith("@"):
                continue
            call = id
            if len(parts) % 2 == 0:  # of a step
                call = id.rpartition(":")[0]
                found[call] = name_of(record).partition(" ")[2]
            for _ in range((len(parts) - 1) // 2):
                call = call.rsplit(":", 2)[0]
                found.setdefault(call, BRANCHES)
        return found

    def end(self, error: RunEnded) -> RunEnded:
        """End the run by this error, which the function cannot prevent. Return the first one."""
        if self.fatal is None:
            self.fatal = error
        return self.fatal

    def diverged(self, text: str) -> RunEnded:
        """End the run, since the function did not do what is recorded."""
        return self.end(NonDeterministic(text))

    def is_called_off(self) -> bool:
        """Whether a step that was cancelled was so from outside; otherwise that is a failure of its own."""
        return False

    def place_of(self, id: str) -> str:
        """Return file and line at which the code waits for a call."""
        return place_outside()

    def now(self) -> int:
        """The present instant, in Unix ms."""
        return self.context.now()

    def note(self, records: Iterable[Promise | None]) -> None:
        """Keep what the store has answered."""
        for record in records:
            if record is not None:
                self.keep(record)

    def keep(self, record: Promise) -> None:
        """Keep a record as it is known now."""
        id = record.id
        self.records[id] = record
        if not is_pending(record):
            self.begun.pop(id, None)
        elif id not in self.begun:
            self.begun[id] = name_of(record)

    def cancellations(self, id: str) -> list[Step]:
        """Return the steps that cancel what a call, or the code of a scope, waits for.

        They have names, since one may be executed before the request that makes what it cancels.
        """
        return [
            {"id": each, "state": "rejected_canceled", "tags": {NAME_TAG: name}}
            for each, name in list(self.begun.items())
            if each == id or each.startswith(f"{id}:")
        ]


class Scope:
    """Numbers the calls of one coroutine: the n-th of them, from 1, is `ID:n`.

    Args:
        run: Its run.
        id: Of the workflow, or of a branch of it.
        context: The context variables of its code.
        code: Of its function, for messages.
    """

    __slots__ = ("code", "context", "coroutine", "count", "id", "run", "waits")

    def __init__(self, run: Run, id: str, context: Context, code: CodeType | None = None) -> None:
        self.run = run
        self.id = id
        self.count = 0
        self.context = context
        self.code = code
        self.coroutine: Any = None
        self.waits: Any = None  # the call at which the coroutine is parked
        context.run(current_scope.set, self)

    def take(self, name: str) -> str:
        """Return the id of the next call.

        Args:
            name: The name of the call.

        Raises:
            NonDeterministic: Another call is recorded here.
            HistoryTooLong: The run has too many calls.
        """
        run = self.run
        records = run.records
        while True:
            self.count += 1
            id = f"{self.id}:{self.count}"
            record = records.get(id)
            recorded: str | None
            if record is not None:
                recorded = name_of(record)
            else:
                recorded = run.under_way.get(id) if run.replaying else None
            if recorded is None or (recorded == BRANCHES and name in ("gather", "first")):
                break
            if recorded == name:
                break
            if not recorded.startswith(PATCHED):
                raise run.diverged(
                    f"{id} is {_said(name)} at {place_outside()}, and {_said(recorded)} is recorded: the code has changed, or is not "
                    "deterministic; keep the order of calls, or branch by patched()"
                )
        run.calls += 1
        if run.calls > MOST_CALLS:
            raise run.end(HistoryTooLong(f"{run.job.id} made more than {MOST_CALLS:,} calls: end runs by start_over()"))
        return id

    def patched(self, name: str) -> bool:
        """Whether the code that `patched` guards is to run.

        It is if its mark is recorded here, or if nothing is: then the mark is recorded. An earlier version of the code has recorded
        another call here, or a later one if this one was not finished.
        """
        records, mark = self.run.records, f"{PATCHED}{name}"
        at = self.count + 1
        record = records.get(f"{self.id}:{at}")
        if record is not None:
            if name_of(record) != mark:
                return False
            self.count = at
            return True
        if self.run.replaying and self._recorded_from(at):
            return False
        id = self.take(mark)
        self.run.unsent.append(settled(id, mark, "resolved", None))
        return True

    def _recorded_from(self, number_from: int) -> list[tuple[int, str]]:
        """Return number and name of what this scope has called from a number on, in order: finished, or under way."""
        prefix, run = f"{self.id}:", self.run
        found = dict(run.under_way)
        found.update((id, name_of(record)) for id, record in run.records.items() if id.startswith(prefix))
        numbers = ((id[len(prefix) :], name) for id, name in found.items() if id.startswith(prefix))
        return sorted((int(number), name) for number, name in numbers if number.isdecimal() and int(number) >= number_from)

    def finish(self, error: Exception | None = None) -> None:
        """Check, when its code has ended, that it made all calls that are recorded.

        Args:
            error: The exception that it has raised; None: it has returned.

        Raises:
            NonDeterministic: It did not.
        """
        run = self.run
        if not run.replaying or run.over is not None or run.fatal is not None:
            return
        for number, recorded in self._recorded_from(self.count + 1):
            if not recorded.startswith(PATCHED):
                where = "" if self.code is None else f" ({self.code.co_name}, {place_of_code(self.code)})"
                ended = "ended" if error is None else f"raised {described(error)}"
                raise run.diverged(
                    f"the code of {self.id}{where} has {ended} after {self.count} calls, and {_said(recorded)} is recorded as "
                    f"{self.id}:{number}: the code has changed, or is not deterministic"
                )


def _said(name: str) -> str:
    return name or "something that is no call of a workflow"


def scope_here(called: str) -> Scope | None:
    """Return the scope of a call; None: the call is a plain one, outside of workflows, in a step, or in the cleanup of a cancelled run.

    Args:
        called: The name of the call, for messages.

    Raises:
        RuntimeError: It is made in another asyncio task or thread than the workflow's.
        RunEnded: The run is over.
    """
    scope = current_scope.get()
    if scope is None:
        return None
    run = scope.run
    if run.fatal is not None:
        raise run.fatal
    if run.over is not None:
        if run.over == "cancelled":
            return None
        raise Dropped
    if run.stepping is not scope or run.thread != get_ident():
        raise RuntimeError(
            f"{called} of workflow {run.job.id} was called in another asyncio task or thread than the code of the workflow, so its "
            "order cannot be replayed: call it there, and run calls side by side by gather()"
        )
    return scope


def inside(scope: Scope, function: Callable[[], Any], span: Any = None) -> Any:
    """Call a function in a copy of the context of a scope, in which calls are plain ones.

    Args:
        scope: The scope.
        function: The function.
        span: That of the step that the function is; None: it has none.
    """
    context = scope.context.copy()
    context.run(current_scope.set, None)
    if span is not None:
        context.run(span.enter)
    return context.run(function)
