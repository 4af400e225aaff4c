"""The processes of a simulation: they start, crash and start again."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ...errors import StoreError
from ...worker import environment as worker_environment
from .handlers import environment_of
from .life import Life, current_life

if TYPE_CHECKING:
    from .steps import SimulatedTask
    from .system import System

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
        life: The present one, or the last one.
    """

    def __init__(self, world: System, name: str, begin: Callable[[Life], Awaitable[Any]], restarts: bool = True) -> None:
        self.world = world
        self.name = name
        self._begin = begin
        self._restarts = restarts
        self._lives = 0
        self._away = False
        self.life = Life(name)
        self.life.dead = True

    def __repr__(self) -> str:
        return f"<Process {self.name!r}>"

    @property
    def up(self) -> bool:
        """Whether it runs."""
        return not (self.life.dead or self.life.dying)

    def start(self) -> None:
        """Start it."""
        world = self.world
        self._away = False
        life = self.life = Life(self.name, self._lives)
        life.mortal = True
        life.end = lambda: self._ended(life)
        self._lives += 1
        faults = world._network.faults
        if faults.concern(self.name) and world._choices.chance(faults.skew, f"skew:{self.name}"):
            life.skew = world._choices.integer(-faults.largest_skew, faults.largest_skew, f"skew:{self.name}:ms")
            world._note(f"{self.name}: its clock is {abs(life.skew)} ms {'ahead' if life.skew >= 0 else 'behind'}")
        if life.number:
            world._note(f"{self.name}: starts again")
        context = contextvars.Context()
        context.run(self._start_in, life)

    def _start_in(self, life: Life) -> None:
        current_life.set(life)
        world = self.world
        worker_environment.default.set(environment_of(world, life))
        outer, world._loop.life = world._loop.life, life
        try:
            world._loop.create_task(self._main(self._begin(life)), name=self.name)
        finally:
            world._loop.life = outer

    async def _main(self, running: Awaitable[Any]) -> None:
        world, life = self.world, self.life
        try:
            await running
        except (StoreError, OSError) as error:  # what a supervisor starts again
            world._note(f"{self.name}: ends with {type(error).__name__}: {error}")
            life.dying = True
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
        if self.world._loop.life is self.life:
            self.life.dying = True
        else:
            self._ended(self.life)
        if self._restarts:
            self.world._plan_start(self)

    def _ended(self, life: Life) -> None:
        loop = self.world._loop
        tasks: list[SimulatedTask] = [task for task in asyncio.all_tasks(loop) if getattr(task, "life", None) is life]  # type: ignore[misc]
        life.bury(list(tasks))
        loop.drop(life)
        self.world._forget(life)
