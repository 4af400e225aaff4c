"""`gather` and `first`: branches of a workflow that run side by side."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, MutableSet, Sequence
from typing import Any, Protocol

from ..._core import Promise
from ..results import close_coroutine
from .calls import Call
from .determinism import warn_of_coroutine
from .failures import RunEnded
from .records import Step, settled
from .scope import Scope

__all__ = ["Branch", "BranchRunner", "Branches"]


class BranchRunner(Protocol):
    """The run of branches.

    Attributes:
        busy: The number of branches that work, or wait for something foreign.
        records: Records by id.
        fatal: What ended the run.
        unwanted: The tasks of branches that were cancelled.
    """

    busy: int
    records: dict[str, Promise]
    fatal: RunEnded | None
    unwanted: MutableSet[asyncio.Future[None]]

    async def perform(self, call: Call[Any]) -> Any:
        """Perform a call."""

    async def drive(self, scope: Scope) -> Any:
        """Run the code of a scope."""

    async def record(self, steps: Sequence[Step]) -> Sequence[Promise]:
        """Record steps."""

    def cancellations(self, id: str) -> list[Step]:
        """Return the steps that cancel what a call, or the code of a scope, waits for."""

    async def quiet(self) -> None:
        """Suspend the job, if no branch works."""

    def joint(self) -> asyncio.Future[None]:
        """Return a future at which code waits for other code of the run, and for nothing else."""

    def diverged(self, text: str) -> RunEnded:
        """End the run, since the function did not do what is recorded."""


class Branch:
    """One branch: a call, or a coroutine with a scope of its own.

    Attributes:
        ended: Whether it has an outcome.
    """

    __slots__ = ("call", "ended", "error", "scope", "value")

    def __init__(self, call: Call[Any] | None, scope: Scope | None) -> None:
        self.call = call
        self.scope = scope
        self.ended = False
        self.value: Any = None
        self.error: BaseException | None = None

    async def run(self, run: BranchRunner) -> None:
        """Run it until it has an outcome.

        Raises:
            RunEnded: The run is over, or the job waits.
        """
        try:
            if self.call is not None:
                self.value = await run.perform(self.call)
            else:
                assert self.scope is not None
                try:
                    self.value = await run.drive(self.scope)
                except Exception as error:
                    self.scope.finish(error)
                    raise
                self.scope.finish()
        except RunEnded:
            raise
        except BaseException as error:
            self.error = error
        self.ended = True

    def cancellations(self, run: BranchRunner) -> list[Step]:
        """Return the steps that cancel what it waits for."""
        own = self.call if self.call is not None else self.scope
        return [] if own is None else run.cancellations(own.id)

    def give_up(self) -> None:
        """It is cancelled: a call that it has not awaited is no mistake."""
        if self.scope is not None and not self.ended:
            self.scope.given_up = True

    def close(self) -> None:
        """Let go of a coroutine that does not run any more, and has not begun."""
        if self.scope is not None:
            close_coroutine(self.scope.coroutine)
        elif isinstance(self.call, Branches):
            self.call.close()


class Branches(Call[Any]):
    """Runs branches side by side.

    Args:
        scope: Where it is made.
        awaitables: Calls, and coroutines of the program.
        first: Whether the first outcome ends it; otherwise the first failure does.
        return_exceptions: Whether failures are results.

    Raises:
        TypeError: One of the awaitables is neither.
    """

    __slots__ = ("_branches", "_first", "_losers", "_return_exceptions")

    by_record = False

    def __init__(self, scope: Scope, awaitables: Sequence[Awaitable[Any]], first: bool, return_exceptions: bool = False) -> None:
        name = "first" if first else "gather"
        for each in awaitables:
            if not isinstance(each, Call) and not inspect.iscoroutine(each):
                raise TypeError(
                    f"{name} takes calls of the workflow and coroutines, got {each!r}: an awaitable of something else belongs into a step"
                )
        super().__init__(scope, name)
        self._first = first
        self._return_exceptions = return_exceptions
        self._branches: list[Branch] = []
        self._losers: list[Branch] = []
        for at, each in enumerate(awaitables):
            if isinstance(each, Call):
                each.is_begun = True
                self._branches.append(Branch(each, None))
                continue
            coroutine: Any = each
            warn_of_coroutine(coroutine, scope.run.job.type)
            branch = Scope(scope.run, f"{self.id}:{at}", scope.context.copy(), coroutine.cr_code)
            branch.coroutine = coroutine
            self._branches.append(Branch(None, branch))

    def read(self, record: Any) -> Any:
        """As of `Call`."""
        raise NotImplementedError("a gather and a first run a branch again")

    def close(self) -> None:
        """Let go of coroutines that have not begun: else Python warns that they were never awaited."""
        for each in self._branches:
            each.close()

    async def combine(self, run: BranchRunner) -> Any:
        """Run the branches, and record which one has decided."""
        if not self._branches:
            return []
        decided = await self._run_all(run)
        if decided is None:
            return [each.value if each.error is None else each.error for each in self._branches]
        late = [step for each in self._losers for step in each.cancellations(run)]
        if late:  # what they have begun since
            await run.record(late)
        return self._outcome(decided, self._branches.index(decided))

    async def _decide(self, run: BranchRunner, decided: Branch) -> None:
        """Record which branch has decided, before the code of the others is cancelled: its cleanup may not change the decision."""
        self._losers = [each for each in self._branches if not each.ended]
        cancelled = [step for each in self._losers for step in each.cancellations(run)]
        index = self._branches.index(decided)
        await run.record([*cancelled, settled(self.id, self.name, "resolved", {"index": index})])

    async def again(self, run: BranchRunner, record: Any) -> Any:
        """Run the branch again that has decided, by the record."""
        index = record.value.json()["index"]
        if not 0 <= index < len(self._branches):
            raise run.diverged(
                f"{self.id} is a {self.name} of {len(self._branches)} branches, and branch {index} is recorded to have decided"
            )
        decided = self._branches[index]
        await decided.run(run)
        late = [step for each in self._branches if each is not decided for step in each.cancellations(run)]
        if late:  # they had begun it while the decision was recorded, and the worker was lost then
            await run.record(late)
        self.close()
        if not self._first and decided.error is None:
            raise run.diverged(f"branch {index} of {self.id} has not failed, and its failure is recorded: the code has changed")
        return self._outcome(decided, index)

    def _outcome(self, decided: Branch, index: int) -> Any:
        if decided.error is not None:
            raise decided.error
        return (index, decided.value)

    def _decides(self, branch: Branch) -> bool:
        return self._first or (branch.error is not None and not (self._return_exceptions and isinstance(branch.error, Exception)))

    async def _run_all(self, run: BranchRunner) -> Branch | None:
        """Run the branches until one decides; return it. None: all have ended, and none has decided."""
        open_branches = [each for each in self._branches if not each.ended]
        ended: deque[Branch] = deque()
        over: list[RunEnded] = []
        wake: asyncio.Future[None] | None = None

        async def run_one(branch: Branch) -> None:
            try:
                await branch.run(run)
            except RunEnded as error:
                over.append(error)
            else:
                ended.append(branch)
            finally:
                if wake is not None and not wake.done():
                    wake.set_result(None)

        tasks = [asyncio.ensure_future(run_one(each)) for each in open_branches]
        held, left = 0, len(tasks)
        run.busy += left - 1  # a branch that has ended leaves its part to this one
        try:
            while left:
                if not ended and not over:
                    wake = run.joint()
                    await wake
                if run.fatal is not None:
                    raise run.fatal
                if over:  # the job waits
                    await asyncio.wait(tasks)
                    raise over[0]
                decided = None
                while ended:
                    branch = ended.popleft()
                    held += 1
                    left -= 1
                    if decided is None and self._decides(branch):
                        decided = branch
                if decided is not None:
                    await self._decide(run, decided)
                    return decided
                if left:
                    run.busy -= held
                    held = 0
                    await self._quiet(run, tasks)
            return None
        finally:
            under_way = [task for task in tasks if not task.done()]
            for task in under_way:
                run.unwanted.add(task)
                task.cancel()
            cancelled = None
            if under_way:
                for each in self._branches:
                    each.give_up()
                cancelled = await _ended(under_way)
                self.close()
            run.busy += 1 - held - left
            if cancelled is not None:
                raise cancelled

    async def _quiet(self, run: BranchRunner, tasks: Sequence[asyncio.Future[None]]) -> None:
        """Suspend the job, if all branches wait."""
        try:
            await run.quiet()
        except RunEnded:
            await asyncio.wait(tasks)  # each stays at the call that it waits for
            raise


async def _ended(tasks: Sequence[asyncio.Future[None]]) -> asyncio.CancelledError | None:
    """Wait until tasks that were cancelled have ended. Return the cancellation of the task that waits: it must wait until then, too."""
    cancelled = None
    while left := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled
