"""The faults, crashes and power cuts that a scenario orders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from ...errors import Invalid
from .power import StoreFile
from .spans import Span, span
from .world_base import WorldBase

if TYPE_CHECKING:
    from .faults import Faults

__all__ = ["Mishaps"]


class Mishaps(WorldBase):
    """The faults that a scenario orders."""

    def faults(self, **options: Any) -> Faults:
        """Set the faults and their probabilities from now on.

        Args:
            options: Those of `Faults`: rates such as ``lose_reply=0.05`` and ``crash=0.02``, longest times such as
                ``restart="30 s"``, and ``processes``. An option that is left out stays as it is.

        Returns:
            What goes wrong now.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.faults(lose_reply=0.05, crash=0.02, restart="30 s")
            ...     return world.faults(crash=0)
            >>> simulate(scenario).value.lose_reply
            0.05
        """
        self._network.set(self._network.faults.with_options(**options))
        return self._network.faults

    def partition(self, *names: str, lasting: Span | None = None) -> contextlib.AbstractContextManager[None]:
        """Cut processes off from the store: none of their requests arrives.

        Args:
            names: Of the processes.
            lasting: How long: the partition begins at once, and ends by itself. None: use the result in a ``with``.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.process("p", world.sleep, "1 day")
            ...     world.partition("p", lasting="10 s")
            ...     await world.sleep("1 min")
            >>> simulate(scenario).story
            ['    0 ms  p: partitioned from the store for 10000 ms', '10000 ms  p: the partition ends']
        """
        for name in names:
            self._named(name)
        if lasting is not None:
            for name in names:
                self._network.cut(name, span("lasting", lasting))
            return contextlib.nullcontext()
        return self._partitioned(names)

    @contextlib.contextmanager
    def _partitioned(self, names: tuple[str, ...]) -> Iterator[None]:
        network = self._network
        for name in names:
            network.cut_off[name] = network.cut_off.get(name, 0) + 1
            self._note(f"{name}: partitioned from the store")
        try:
            yield
        finally:
            for name in names:
                network.mend(name)

    def skew(self, name: str, ahead: Span, *, behind: bool = False) -> None:
        """Set the clock of a process ahead of the store's, or behind it.

        Args:
            name: Of the process.
            ahead: By how much.
            behind: Whether it is behind.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.process("p", world.sleep, "1 day")
            ...     world.skew("p", "5 s", behind=True)
            >>> simulate(scenario).story
            ['0 ms  p: its clock is 5000 ms behind']
        """
        length = span("ahead", ahead)
        incarnation = self._named(name).incarnation
        incarnation.skew = -length if behind else length
        self._note(f"{name}: its clock is {length} ms {'behind' if behind else 'ahead'}")

    def on_disk(self, durability: Literal["full", "normal"] = "full") -> None:
        """Keep the store in a file of SQLite, for `power_cut`. Call it first.

        Args:
            durability: As of `Store`.

        Raises:
            Invalid: The store is in use.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.on_disk("full")
            ...     return world.store.path is not None
            >>> simulate(scenario).value
            True
        """
        if self._store is not None and (self._processes or self._store.counts()["promises"] or self._file is not None):
            raise Invalid("on_disk must be called before the store is used: it was used already")
        if self._store is not None:
            self._store.close()
        self._file = StoreFile(self.clock, durability)
        self._at_end.append(self._file.remove)
        self._open(self._file.open())

    def power_cut(self, *names: str) -> int:
        """Cut the power of the store's machine: commits that were not synced may be gone, and the processes on it crash.

        Args:
            names: The processes on that machine; none: all processes.

        Returns:
            The number of commits that are lost. With the durability ``full`` it is 0.

        Raises:
            Invalid: The store is in memory.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.on_disk("full")
            ...     world.store.promises.create("p", timeout=1000)
            ...     return world.power_cut(), world.store.promises.get("p").state
            >>> simulate(scenario).value
            (0, 'pending')
        """
        if self._file is None or self._store is None:
            raise Invalid("power_cut needs a store in a file: call on_disk() first")
        for name in names or tuple(self._processes):
            self._named(name).crash("with the power of its machine")
        store, lost = self._file.cut(self._store, self._choices)
        self._note(f"the power is cut: {lost} commits were not synced and are lost")
        self._open(store)
        self._watches.reopen()
        for id in self._followed:
            self._followed[id] = None
            self._follow(id)
        return lost
