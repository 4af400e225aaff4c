"""What a simulated worker takes from its machine: no threads, no pipes of its own, no name of a host."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...errors import Invalid
from ...worker.environment import Environment

if TYPE_CHECKING:
    from .incarnation import Incarnation
    from .loop import SimulationLoop
    from .world_interface import WorldInterface

__all__ = ["environment_of"]

_T = TypeVar("_T")


class InlineHandlers(Generic[_T]):
    """Runs each call of a synchronous handler as one step of the loop.

    Args:
        name: For traces.
        run: Runs an item; it does not raise.
    """

    def __init__(self, name: str, run: Callable[[_T], None]) -> None:
        self._name = name
        self._run = run
        self._items: deque[_T] = deque()

    def submit(self, items: Iterable[_T]) -> None:
        """Run each of them soon."""
        loop: SimulationLoop = asyncio.get_running_loop()  # type: ignore[assignment]
        for item in items:
            self._items.append(item)
            loop.call_apart(self._name, self._next)

    def _next(self) -> None:
        if self._items:
            self._run(self._items.popleft())

    def withdraw(self) -> list[_T]:
        """Cancel calls that have not begun."""
        items = list(self._items)
        self._items.clear()
        return items

    def close(self) -> None:
        """Run no more."""
        self._items.clear()


def environment_of(world: WorldInterface, incarnation: Incarnation) -> Environment:
    """Return the environment of the workers of one process."""
    line = world._line(incarnation)

    def connect(target: Any, token: str | None, answer_bytes: int | None) -> Any:
        client = getattr(target, "worker_client", None)
        if client is not None:
            return client()
        if target is world.store:
            return world._process_store(incarnation).worker_client()
        raise Invalid(
            f"a worker of a simulation works on the simulation's store, got {target!r}: use the store that the function of the worker "
            "gets, or leave it out"
        )

    numbers = iter(range(1, 1_000_000))

    def name() -> str:
        number = next(numbers)
        suffix = "" if number == 1 else f"-{number}"
        return (
            f"{incarnation.name}{suffix}" if incarnation.number == 0 else f"{incarnation.name}{suffix} ({incarnation.number + 1})"
        )

    return Environment(
        connect=connect,
        name=name,
        handler_pool=lambda limit, run, name: InlineHandlers(name, run),
        client_pool=lambda name: line,
        client=lambda: world._process_store(incarnation).worker_client(),
        polls=False,
        beside=False,
    )
