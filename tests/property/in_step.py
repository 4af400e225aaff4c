"""A store in memory and a store in a SQLite file that get the same calls and must give the same answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


class Differ(AssertionError):
    """The two stores gave different answers."""


def same(what: str, in_memory: Any, in_file: Any) -> Any:
    """The result of both; raises `Differ` if they differ."""
    if comparable(in_memory) != comparable(in_file):
        raise Differ(f"{what}: memory gave {in_memory!r}, SQLite {in_file!r}")
    return in_memory


def comparable(value: Any) -> Any:
    """The value with records replaced by their reprs, so that it can be compared."""
    if isinstance(value, (list, tuple)):
        return [comparable(one) for one in value]
    return value if isinstance(value, (dict, str, bytes, int, float, bool, type(None))) else repr(value)


class Both:
    """Calls the same method of two objects; both must return the same value or raise the same class of error."""

    def __init__(self, in_memory: Any, in_file: Any) -> None:
        self.in_memory = in_memory
        self.in_file = in_file

    def call(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        outcomes = []
        for one in (self.in_memory, self.in_file):
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
        return same("clock.now", self.in_memory.now, self.in_file.now)

    def advance_to(self, at: int) -> Any:
        return self.call("advance_to", at)

    def advance_to_next(self) -> Any:
        return self.call("advance_to_next")


class Stores(Both):
    """Two stores with the interface of one.

    Args:
        subject: The module under test.
        new_path: Returns a path at which no file exists.
        clocks: The clock of each.
        options: The options of both stores. Only memory checks its steps, since group commit in the file does not.
    """

    def __init__(
        self, subject: Any, new_path: Callable[[], Path], clocks: Clocks, path: Path | None = None, **options: Any
    ) -> None:
        options.pop("check", None)
        self.subject, self.new_path, self.clock, self.options = subject, new_path, clocks, options
        self.path = path or new_path()
        super().__init__(subject.Store(clock=clocks.in_memory, check=True, **options), self.open_file())

    def open_file(self) -> Any:
        return self.subject.Store(self.path, clock=self.clock.in_file, durability="normal", **self.options)

    def reopen(self) -> None:
        """Closes and opens the file as a restart does; the store in memory stays open."""
        if self.opens_at_another_instant() or self.in_file.path is None:
            return
        before = self.in_file.digest()
        self.in_file.close()
        self.in_file = self.open_file()
        same("digest after a restart", before, self.in_file.digest())

    def opens_at_another_instant(self) -> bool:
        """Whether opening the file would set its first instant, while the store in memory still has none."""
        return self.in_memory.snapshot()["now"] == 0 < self.clock.now

    @property
    def now(self) -> int:
        return same("now", self.in_memory.now, self.in_file.now)

    def snapshot(self, *arguments: Any, **keywords: Any) -> Any:
        same("digest", self.in_memory.digest(), self.in_file.digest())
        return self.call("snapshot", *arguments, **keywords)

    def fork(self) -> Stores:
        """Forks the store in memory, and opens a backup of the file."""
        path = self.new_path()
        clocks = Clocks(self.subject.ManualClock(self.now), self.subject.ManualClock(self.now))
        if self.opens_at_another_instant():
            fork = Stores(self.subject, self.new_path, clocks, path, **self.options)
            fork.in_file.close()
            fork.in_file = self.in_file.fork(clock=clocks.in_file)
        else:
            self.in_file.backup(path)
            fork = Stores(self.subject, self.new_path, clocks, path, **self.options)
        fork.in_memory = self.in_memory.fork(clock=clocks.in_memory)
        same("digest of a fork in memory", fork.in_memory.digest(), self.in_file.fork().digest())
        return fork

    def close(self) -> None:
        self.in_memory.close()
        self.in_file.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments, **keywords: self.call(name, *arguments, **keywords)
