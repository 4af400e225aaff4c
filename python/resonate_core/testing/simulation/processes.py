"""The processes of a simulation: they start, crash and start again."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ...errors import StoreError
from ...worker import environment as worker_environment
from .handlers import environment_of
from .incarnation import Incarnation, current_incarnation

if TYPE_CHECKING:
    from .steps import SimulatedTask
    from .world_interface import WorldInterface

__all__ = ["Process"]

#: The shortest time that a process is away (ms).
_SHORTEST_AWAY = 1


class Process:
    """A program that runs on a machine of its own: it shares nothing with the others but the store, and what the test gives it.

    Args:
        world: The simulation.
        name: Its name.
        begin: Called at each start, in the context of the process: returns what is awaited.
        restarts: Whether it starts again after a crash.

    Attributes:
        incarnation: The present one, or the last one.
    """

    def __init__(
        self, world: WorldInterface, name: str, begin: Callable[[Incarnation], Awaitable[Any]], restarts: bool = True
    ) -> None:
        self.world = world
        self.name = name
        self._begin = begin
        self._restarts = restarts
        self._incarnations = 0
        self._away = False
        self.incarnation = Incarnation(name)
        self.incarnation.dead = True

    def __repr__(self) -> str:
        return f"<Process {self.name!r}>"

    @property
    def up(self) -> bool:
        """Whether it runs."""
        return not (self.incarnation.dead or self.incarnation.dying)

    def start(self) -> None:
        """Start it."""
        world = self.world
        self._away = False
        incarnation = self.incarnation = Incarnation(self.name, self._incarnations)
        incarnation.mortal = True
        incarnation.end = lambda: self._ended(incarnation)
        self._incarnations += 1
        faults = world._network.faults
        if faults.concern(self.name) and world._choices.chance(faults.skew, f"skew:{self.name}"):
            incarnation.skew = world._choices.integer(-faults.largest_skew, faults.largest_skew, f"skew:{self.name}:ms")
            world._note(f"{self.name}: its clock is {abs(incarnation.skew)} ms {'ahead' if incarnation.skew >= 0 else 'behind'}")
        if incarnation.number:
            world._note(f"{self.name}: starts again")
        context = contextvars.Context()
        context.run(self._start_in, incarnation)

    def _start_in(self, incarnation: Incarnation) -> None:
        current_incarnation.set(incarnation)
        world = self.world
        worker_environment.default.set(environment_of(world, incarnation))
        outer, world._loop.incarnation = world._loop.incarnation, incarnation
        try:
            world._loop.create_task(self._main(self._begin(incarnation)), name=self.name)
        finally:
            world._loop.incarnation = outer

    async def _main(self, running: Awaitable[Any]) -> None:
        world, incarnation = self.world, self.incarnation
        try:
            await running
        except (StoreError, OSError) as error:  # what a supervisor starts again
            world._note(f"{self.name}: ends with {type(error).__name__}: {error}")
            incarnation.dying = True
            world._plan_start(self)
        except Exception as error:
            world._note(f"{self.name}: fails with {type(error).__name__}: {error}")
            world._fail(error)
        else:
            world._note(f"{self.name}: has ended")

    def crash(self, why: str = "") -> None:
        """End it at once, without any of its code. If it runs just now, it ends at its next await."""
        if not self.up:
            return
        self.world._note(f"{self.name}: crashes{' ' + why if why else ''}")
        if self.world._loop.incarnation is self.incarnation:
            self.incarnation.dying = True
        else:
            self._ended(self.incarnation)
        if self._restarts:
            self.world._plan_start(self)

    def _ended(self, incarnation: Incarnation) -> None:
        loop = self.world._loop
        tasks: list[SimulatedTask] = [task for task in asyncio.all_tasks(loop) if getattr(task, "incarnation", None) is incarnation]  # type: ignore[misc]
        incarnation.bury(list(tasks))
        loop.drop(incarnation)
        self.world._forget(incarnation)
