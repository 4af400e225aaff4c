"""A store in memory and one in a SQLite file, driven in step: what they answer has to be the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


class Differ(AssertionError):
    """The two did not answer the same."""


def same(what: str, in_memory: Any, in_file: Any) -> Any:
    """What both gave."""
    if comparable(in_memory) != comparable(in_file):
        raise Differ(f"{what}: memory gave {in_memory!r}, SQLite {in_file!r}")
    return in_memory


def comparable(value: Any) -> Any:
    """Records by what they show."""
    if isinstance(value, (list, tuple)):
        return [comparable(one) for one in value]
    return value if isinstance(value, (dict, str, bytes, int, float, bool, type(None))) else repr(value)


class Both:
    """Calls the same method of two objects; both have to give the same, or raise the same class of error."""

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
    """The manual clocks of both."""

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
        new_path: Gives a path where no file is yet.
        clocks: The clock of each.
        options: Of both stores; memory checks its steps as well, the file takes the path of group commit, which does not.
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
        """What a restart does to the file; memory goes on."""
        if self.opens_at_another_instant() or self.in_file.path is None:
            return
        before = self.in_file.digest()
        self.in_file.close()
        self.in_file = self.open_file()
        same("digest after a restart", before, self.in_file.digest())

    def opens_at_another_instant(self) -> bool:
        """What has seen no instant yet begins, when it is opened, at its clock's; memory goes on with none."""
        return self.in_memory.snapshot()["now"] == 0 < self.clock.now

    @property
    def now(self) -> int:
        return same("now", self.in_memory.now, self.in_file.now)

    def snapshot(self, *arguments: Any, **keywords: Any) -> Any:
        same("digest", self.in_memory.digest(), self.in_file.digest())
        return self.call("snapshot", *arguments, **keywords)

    def fork(self) -> Stores:
        """Memory forks; of the file there is a backup, which another store opens."""
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
