"""The world of one simulated run: what must hold in it, and how it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ...errors import InvariantViolation, NotFound
from .calls import Calls
from .errors import Stuck
from .linearizability import Histories
from .properties import Eventually, Properties
from .spans import Span, span
from .world_base import is_settled, wake

if TYPE_CHECKING:
    from ..choices import Choices

__all__ = ["World"]


class World(Calls):
    """A simulation of a whole system, which a scenario gets: ``async def scenario(world)``.

    Processes run on a store in memory, under one `ManualClock`. Which of them continues, and what goes wrong, is drawn from the choices of
    the run: equal choices give equal runs.

    Args:
        choices: Draws everything that may be one way or another.
        most_steps: The largest number of steps of a run.

    Attributes:
        clock: The time. It moves by itself, when nothing else can happen.

    Example:
        >>> from resonate_core.testing.simulation import simulate
        >>> async def scenario(world):
        ...     await world.sleep("10 days")
        ...     return world.now
        >>> simulate(scenario, seed=1).value
        864000000
    """

    def __init__(self, choices: Choices, *, most_steps: int = 1_000_000) -> None:
        super().__init__(choices, most_steps=most_steps)
        self._properties = Properties(self)
        self._loop.after = self._after_step
        self._loop.idle = self._next_deadline

    def always(self, name: str, holds: Callable[[], Any]) -> None:
        """Demand that something holds after every step.

        Args:
            name: Of the property.
            holds: Returns whether it holds. It must change nothing.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.always("early", lambda: world.now < 1000)
            ...     await world.sleep("2 s")
            >>> simulate(scenario)
            Traceback (most recent call last):
            resonate_core.testing.simulation.errors.PropertyBroken: always 'early': it does not hold at t=2000
        """
        self._properties.always[name] = holds

    def eventually(self, name: str, holds: Callable[[], Any], *, within: Span) -> None:
        """Demand that something holds at some time. The run continues until it does, even if the scenario has ended.

        Args:
            name: Of the property.
            holds: Returns whether it holds.
            within: The time from now on.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.store.promises.create("p", timeout=1000, tags={"resonate:timer": "true"})
            ...     world.eventually("done", lambda: world.store.promises.get("p").state == "resolved", within="5 s")
            >>> simulate(scenario).now
            1000
        """
        length = span("within", within)
        self._properties.pending.append(Eventually(name, holds, self.now + length, f"{length} ms"))

    def judge_histories(self) -> None:
        """At the end of the run, judge the answers that processes got from ``store.aio`` about single promises: they must be linearizable.

        Of each promise, some order of the requests must explain every answer, each request between its begin and its end. Promises
        whose deadline has passed, and those that tasks, callbacks or listeners concern, are not judged.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def client(store):
            ...     await store.aio.promises.create("p", timeout=10_000)
            ...     await store.aio.promises.get("p")
            >>> async def scenario(world):
            ...     world.judge_histories()
            ...     world.process("a", client)
            ...     world.process("b", client)
            ...     await world.sleep("1 s")
            >>> simulate(scenario).now
            1000
        """
        self._histories = Histories(lambda: self._loop.steps)

    def _next_deadline(self) -> int | None:
        return self._properties.deadline

    def _after_step(self) -> None:
        if self._touched:
            self._touched = False
            self._changes += 1
            for id, promise in list(self._followed.items()):
                if not is_settled(promise):
                    self._follow(id)
            if self._waiting:
                waiting, self._waiting = self._waiting, []
                for each in waiting:
                    wake(each)
        properties = self._properties
        try:
            if properties.always:
                properties.look()
            if properties.pending:
                properties.look_ahead()
        except Exception as error:
            self._fail(error)

    def _stuck(self) -> None:
        waited = [f"{id!r}: {self._state(id, promise)}" for id, promise in self._followed.items() if not is_settled(promise)]
        raise Stuck(
            f"the scenario waits, and nothing will ever happen again after t={self.now}: no process is ready, no timer runs and no step "
            f"of the store is due{'; not settled: ' if waited else ''}{'; '.join(waited)}"
        )

    def _run(self, scenario: Callable[[World], Coroutine[Any, Any, Any]]) -> Any:
        loop = self._loop
        _ = self.store
        main = self._context.run(loop.create_task, scenario(self), name="scenario")
        loop.run_while(lambda: self._failure is None and not main.done(), self._stuck)
        if self._failure is None and main.done() and not main.cancelled() and main.exception() is None:
            loop.run_while(lambda: self._failure is None and bool(self._properties.pending), self._stuck)
        if self._failure is not None:
            raise self._failure
        value = main.result()
        if self._histories is not None:
            self._histories.judge(self._is_overdue)
        violations = self.store.check()
        if violations:
            raise InvariantViolation(violations)
        return value

    def _is_overdue(self, id: str) -> bool:
        try:
            return self.store.promises.get(id).timeout_at <= self.now
        except NotFound:
            return False

    def _end(self) -> None:
        """End the run: its processes end as if they crashed."""
        loop = self._loop
        self._incarnation.bury([task for task in asyncio.all_tasks(loop) if not task.done()])
        loop.close()
        self._watches.close()
        if self._store is not None:
            self._store.close()
        for callback in reversed(self._at_end):
            callback()
