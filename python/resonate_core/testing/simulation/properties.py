"""Properties of every run: those that hold always, and those that hold at some time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import PropertyBroken

if TYPE_CHECKING:
    from .world_interface import WorldInterface

__all__ = ["Eventually", "Properties"]


@dataclass(slots=True)
class Eventually:
    """A property that must hold at some time."""

    name: str
    holds: Callable[[], Any]
    until: int
    length: str


@dataclass(slots=True)
class Properties:
    """The properties of one run.

    Args:
        world: The simulation.
    """

    world: WorldInterface
    always: dict[str, Callable[[], Any]] = field(default_factory=dict)
    pending: list[Eventually] = field(default_factory=list)

    def look(self) -> None:
        """Check what must hold now.

        Raises:
            PropertyBroken: A property does not hold.
        """
        for name, holds in self.always.items():
            if not holds():
                raise broken(name, f"always {name!r}: it does not hold at t={self.world.now}")

    def look_ahead(self) -> None:
        """Check the properties that must hold at some time.

        Raises:
            PropertyBroken: The time is over.
        """
        now = self.world.now
        for each in list(self.pending):
            if each.holds():
                self.pending.remove(each)
            elif now >= each.until:
                raise broken(each.name, f"eventually {each.name!r}: it did not hold within {each.length}, until t={each.until}")

    @property
    def deadline(self) -> int | None:
        """Return the first instant by which one of these properties must hold."""
        return min((each.until for each in self.pending), default=None)


def broken(name: str, text: str) -> PropertyBroken:
    """Return the failure of a property, which is the same failure whenever the name is the same."""
    error = PropertyBroken(text)
    error.__resonate_kind__ = f"property {name}"  # type: ignore[attr-defined]
    return error
