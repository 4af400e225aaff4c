"""A store in memory and a durable store that get the same calls and must give the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from homes import Home


class Differ(AssertionError):
    """The two stores gave different answers."""


def same(what: str, in_memory: Any, durable: Any) -> Any:
    """The result of both; raises `Differ` if they differ."""
    if comparable(in_memory) != comparable(durable):
        raise Differ(f"{what}: memory gave {in_memory!r}, the durable store {durable!r}")
    return in_memory


def comparable(value: Any) -> Any:
    """The value with records replaced by their reprs, so that it can be compared."""
    if isinstance(value, (list, tuple)):
        return [comparable(one) for one in value]
    return value if isinstance(value, (dict, str, bytes, int, float, bool, type(None))) else repr(value)


class Both:
    """Calls the same method of two objects; both must return the same value or raise the same class of error."""

    def __init__(self, in_memory: Any, durable: Any) -> None:
        self.in_memory = in_memory
        self.durable = durable

    def call(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        outcomes = []
        for one in (self.in_memory, self.durable):
            try:
                outcomes.append((getattr(one, name)(*arguments, **keywords), None))
            except Exception as error:
                outcomes.append((None, error))
        (given, error), (other, other_error) = outcomes
        same(f"{name}, the error", type(error), type(other_error))
        if error is not None:
            raise error
        return same(name, given, other)


class Clocks(Both):
    """The manual clocks of both stores."""

    @property
    def now(self) -> int:
        return same("clock.now", self.in_memory.now, self.durable.now)

    def advance_to(self, at: int) -> Any:
        return self.call("advance_to", at)

    def advance_to_next(self) -> Any:
        return self.call("advance_to_next")


class Stores(Both):
    """Two stores with the interface of one.

    Args:
        subject: The module under test.
        home: Where the durable store is.
        clocks: The clock of each.
        place: The place of a durable store that exists; by default a new one is made.
        options: The options of both stores. Only memory checks its steps, since group commit in the durable store does not.
    """

    def __init__(self, subject: Any, home: Home, clocks: Clocks, place: Any = None, **options: Any) -> None:
        options.pop("check", None)
        self.subject, self.home, self.clock, self.options = subject, home, clocks, options
        self.place = home.new_place() if place is None else place
        super().__init__(subject.Store(clock=clocks.in_memory, check=True, **options), self.open_durable())

    def open_durable(self) -> Any:
        return self.home.open(self.place, clock=self.clock.durable, **self.options)

    def reopen(self) -> None:
        """Closes and opens the durable store as a restart does; the store in memory stays open."""
        if self.opens_at_another_instant() or self.place is None:
            return
        before = self.durable.digest()
        self.durable.close()
        self.durable = self.open_durable()
        same("digest after a restart", before, self.durable.digest())

    def opens_at_another_instant(self) -> bool:
        """Whether opening the durable store would set its first instant, while the store in memory still has none."""
        return self.in_memory.snapshot()["now"] == 0 < self.clock.now

    @property
    def now(self) -> int:
        return same("now", self.in_memory.now, self.durable.now)

    def snapshot(self, *arguments: Any, **keywords: Any) -> Any:
        same("digest", self.in_memory.digest(), self.durable.digest())
        return self.call("snapshot", *arguments, **keywords)

    def fork(self) -> Stores:
        """Forks the store in memory, and opens a copy of the durable store."""
        clocks = Clocks(self.subject.ManualClock(self.now), self.subject.ManualClock(self.now))
        if self.opens_at_another_instant():
            fork = Stores(self.subject, self.home, clocks, **self.options)
            fork.durable.close()
            fork.durable, fork.place = self.durable.fork(clock=clocks.durable), None
        else:
            place = self.home.new_place()
            self.home.copy(self.durable, place)
            fork = Stores(self.subject, self.home, clocks, place, **self.options)
        fork.in_memory = self.in_memory.fork(clock=clocks.in_memory)
        same("digest of a fork in memory", fork.in_memory.digest(), self.durable.fork().digest())
        return fork

    def close(self) -> None:
        self.in_memory.close()
        self.durable.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **keywords: self.call(name, *arguments, **keywords)
