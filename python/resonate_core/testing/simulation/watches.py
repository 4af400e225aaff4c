"""The wake-ups by commits of a simulation. They outlive a store that loses its power and is opened again."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..._core import Watch
    from .incarnation import Incarnation
    from .world_interface import WorldInterface

__all__ = ["Watches"]


class _ProcessWatch:
    """The watch of one process, as `Store.watch` returns it."""

    def __init__(self, watches: Watches, incarnation: Incarnation, descriptor: int, options: dict[str, Any]) -> None:
        self._watches = watches
        self.incarnation = incarnation
        self.descriptor = descriptor
        self.options = options
        self.plain: Watch | None = None

    def rearm(self, until: int | None) -> None:
        """See `Watch.rearm`. The instant is of the clock of the process."""
        if self.plain is not None:
            self.plain.rearm(None if until is None else until - self.incarnation.skew)

    def close(self) -> None:
        """See `Watch.close`."""
        self._watches.remove(self)


class Watches:
    """All wake-ups of one simulation.

    Args:
        world: The simulation.
    """

    def __init__(self, world: WorldInterface) -> None:
        self._world = world
        self._all: dict[int, _ProcessWatch] = {}

    def add(self, incarnation: Incarnation, descriptor: int, options: dict[str, Any]) -> _ProcessWatch:
        """Watch the store for a process."""
        watch = _ProcessWatch(self, incarnation, descriptor, options)
        watch.plain = self._world.store.watch(descriptor, **options)
        self._all[id(watch)] = watch
        return watch

    def remove(self, watch: _ProcessWatch) -> None:
        """End one."""
        if self._all.pop(id(watch), None) is not None and watch.plain is not None:
            watch.plain.close()

    def drop(self, incarnation: Incarnation) -> None:
        """End those of a process that has crashed."""
        for watch in [each for each in self._all.values() if each.incarnation is incarnation]:
            self.remove(watch)

    def wake(self, name: str) -> None:
        """Wake a process as a commit does."""
        for watch in self._all.values():
            if watch.incarnation.name == name:
                with contextlib.suppress(OSError):
                    os.write(watch.descriptor, b"!")
        self._world._loop.changed = True

    def reopen(self) -> None:
        """Watch the store that was opened in place of another one, and wake all: there may be something new."""
        for watch in self._all.values():
            watch.plain = self._world.store.watch(watch.descriptor, **watch.options)
        for name in {watch.incarnation.name: None for watch in self._all.values()}:
            self.wake(name)

    def close(self) -> None:
        """End all."""
        for watch in list(self._all.values()):
            self.remove(watch)
