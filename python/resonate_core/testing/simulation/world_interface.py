"""The parts of a simulation that other parts use: the interface of `World` below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..._core import ManualClock, Store

if TYPE_CHECKING:
    from ...calls.wakeup import Watching
    from ..choices import Choices
    from .incarnation import Incarnation
    from .loop import SimulationLoop

__all__ = ["WorldInterface"]


class WorldInterface(Protocol):
    """A simulation, as its network, its processes and their stores see it."""

    clock: ManualClock
    _choices: Choices
    _loop: SimulationLoop
    _incarnation: Incarnation
    _network: Any
    _histories: Any
    _changes: int

    @property
    def store(self) -> Store[ManualClock]:
        """The store, without faults."""

    @property
    def now(self) -> int:
        """The present instant, in Unix ms."""

    def _note(self, text: str) -> None:
        """Add a line to the story."""

    def _fail(self, error: BaseException) -> None:
        """Make an error the failure of the run."""

    def _later(self, length: int, function: Callable[..., object], *args: Any) -> None:
        """Call a function of the simulation itself in so many ms."""

    def _number(self) -> int:
        """Return a new number."""

    def _crash(self, incarnation: Incarnation, why: str) -> None:
        """Crash the process of an incarnation."""

    def _plan_start(self, process: Any) -> None:
        """Start a process again later."""

    def _forget(self, incarnation: Incarnation) -> None:
        """End what other parts keep for an incarnation that is over."""

    def _wake(self, name: str) -> None:
        """Wake a process, as a commit does."""

    def _watch(self, incarnation: Incarnation, descriptor: int, **options: Any) -> Watching:
        """Watch the store for a process."""

    def _line(self, incarnation: Incarnation) -> Any:
        """Return the `RequestLine` of a process."""

    def _process_store(self, incarnation: Incarnation) -> Any:
        """Return the `ProcessStore` of a process."""

    async def _change_after(self, seen: int, left: float | None) -> None:
        """Wait for a change of the store after those that were seen, or for so many seconds."""
