"""The choices of one run: drawn from a seed or from a tape, and recorded."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from .tokens import LARGEST_NUMBER

if TYPE_CHECKING:
    from .. import Store

__all__ = ["Choice", "ChoiceLimit", "Choices", "Draws", "RandomDraws", "TapeDraws"]

_T = TypeVar("_T")

#: Up to this number of values, each is as likely as the others. Of more values, the ends are drawn more often.
_EVEN_UP_TO = 256


class Choice(NamedTuple):
    """One recorded choice.

    Attributes:
        label: The name of the question, for example ``"schedule"``.
        size: The number of possible answers.
        value: The answer, 0 ≤ value < size. 0 is the simplest.
    """

    label: str
    size: int
    value: int


class ChoiceLimit(BaseException):
    """A run drew more choices than it may.

    `explore` counts it as a failure of the scenario: it usually has a loop that ends only by chance. It is no `Exception`, so that the
    scenario does not catch it.
    """


class Draws(Protocol):
    """Answers the choices of one run. A search strategy makes one for each run."""

    def number(self, label: str, size: int) -> int:
        """Return a value with 0 ≤ value < size."""

    def option(self, label: str, names: Sequence[Hashable]) -> int:
        """Return an index of `names`. A name identifies the same option in each choice of the run."""

    def chance(self, label: str, probability: float) -> bool:
        """Return whether an event of this probability happens."""


class RandomDraws:
    """Draws from a generator that yields the same values in all versions of Python and on all platforms.

    Only ``random()`` of the generator is used: its sequence is guaranteed by Python, those of ``randrange`` and ``choice`` are not.
    Of up to 256 values each is as likely as the others. Of more, half of the draws are near one of the ends, where errors are.

    Args:
        seed: The seed of the search.
        run: The number of the run.
    """

    __slots__ = ("random",)

    def __init__(self, seed: int, run: int = 0) -> None:
        self.random = Random(seed << 40 | run).random

    def number(self, label: str, size: int) -> int:
        """Return a random value with 0 ≤ value < size."""
        random = self.random
        if size <= _EVEN_UP_TO:
            return int(random() * size)
        kind = random()
        if kind >= 0.5:  # two draws: one has 53 bits
            return (int(random() * (1 << 52)) << 52 | int(random() * (1 << 52))) * size >> 104
        near = int(random() * (1 << int(random() * size.bit_length())))
        return min(near, size - 1) if kind < 0.3 else max(0, size - 1 - near)

    def option(self, label: str, names: Sequence[Hashable]) -> int:
        """Return a random index of `names`."""
        return int(self.random() * len(names))

    def chance(self, label: str, probability: float) -> bool:
        """Return true with this probability."""
        return self.random() < probability


class TapeDraws:
    """Draws from a tape. Beyond its end, and at values that are too large, the answer is the nearest simpler one."""

    __slots__ = ("_next", "_tape")

    def __init__(self, tape: Sequence[int]) -> None:
        self._tape = tape
        self._next = 0

    def number(self, label: str, size: int) -> int:
        """Return the next value of the tape, at most `size` - 1."""
        at = self._next
        if at >= len(self._tape):
            return 0
        self._next = at + 1
        value = self._tape[at]
        return value if value < size else size - 1

    def option(self, label: str, names: Sequence[Hashable]) -> int:
        """Return the next value of the tape, as an index of `names`."""
        return self.number(label, len(names))

    def chance(self, label: str, probability: float) -> bool:
        """Return whether the next value of the tape is not 0."""
        return self.number(label, 2) == 1


class Choices:
    """Draws every choice of one run, and records it.

    A scenario gets an instance and asks it for everything that may be one way or another. Equal tapes give equal runs.

    Args:
        draws: Answers the choices: `RandomDraws`, `TapeDraws`, or those of a search strategy.
        limit: The largest number of choices of the run.
        telling: Whether the run is for its story only. `explore` repeats the shortest failing run in this way, with a recording of the
            store.

    Attributes:
        actor: The name of the process that runs, which the story shows before each line; empty for none.
        tape: The values drawn so far.
        telling: As given.

    Example:
        >>> from resonate_core.testing import Choices
        >>> choices = Choices.from_seed(7)
        >>> drawn = [choices.pick(["a", "b"], "schedule"), choices.integer(1, 10, "delay"), choices.chance(0.5, "crash:a")]
        >>> again = Choices.from_tape(choices.tape)
        >>> [again.pick(["a", "b"], "schedule"), again.integer(1, 10, "delay"), again.chance(0.5, "crash:a")] == drawn
        True
        >>> simplest = Choices.from_tape([])
        >>> simplest.pick(["a", "b"]), simplest.integer(1, 10), simplest.chance(0.5)
        ('a', 1, False)
    """

    __slots__ = ("_asked", "_at_end", "_clock", "_draws", "_followed", "_limit", "_notes", "actor", "tape", "telling")

    def __init__(self, draws: Draws, *, limit: int = 1_000_000, telling: bool = False) -> None:
        self._draws = draws
        self._limit = limit
        self._asked: list[tuple[str, int]] = []
        self._notes: list[tuple[int | None, str]] = []
        self._clock: Any = None
        self._at_end: list[Callable[[], object]] = []
        self._followed: list[Any] = []
        self.actor = ""
        self.tape: list[int] = []
        self.telling = telling

    @classmethod
    def from_seed(cls, seed: int, run: int = 0, **options: Any) -> Choices:
        """Return random choices: those of one run of a search with this seed."""
        return cls(RandomDraws(seed, run), **options)

    @classmethod
    def from_tape(cls, tape: Sequence[int], **options: Any) -> Choices:
        """Return the choices of a tape. Beyond its end each choice is the simplest."""
        return cls(TapeDraws(tape), **options)

    def __repr__(self) -> str:
        return f"<Choices: {len(self.tape)} drawn>"

    # -- draw -----------------------------------------------------------------------------------------------------------

    def integer(self, low: int, high: int, label: str = "") -> int:
        """Return an integer from `low` to `high`, both included. `low` is the simplest.

        Raises:
            ValueError: `high` is below `low`, or so far above it that no token can hold the choice.
        """
        size = high - low + 1
        if size <= 0:
            raise ValueError(f"high must be at least low, got low={low}, high={high}")
        if size > LARGEST_NUMBER + 1:
            raise ValueError(f"high must be less than low plus 2^256, got a difference of {(size - 1).bit_length()} bits")
        value = self._draws.number(label, size)
        self._record(label, size, value)
        return low + value

    def pick(self, options: Sequence[_T], label: str = "", names: Sequence[Hashable] | None = None) -> _T:
        """Return one of the options. The first is the simplest.

        Args:
            options: The options.
            label: The name of the question.
            names: What identifies each option to a search strategy, for example the names of processes. By default the options
                themselves if the first is a text or a number, and otherwise their positions.

        Raises:
            ValueError: There are no options.
        """
        size = len(options)
        if size == 0:
            raise ValueError(f"options must have at least one element, got none for {label!r}")
        if names is None:
            names = options if isinstance(options[0], str | int) else range(size)
        value = self._draws.option(label, names)
        self._record(label, size, value)
        return options[value]

    def chance(self, probability: float, label: str = "") -> bool:
        """Return true with this probability. False is the simplest.

        The answer of a tape does not depend on the probability, except that an event of probability 0 never happens: then nothing is
        drawn.

        Raises:
            ValueError: The probability is not from 0 to 1.
        """
        if not 0 <= probability <= 1:
            raise ValueError(f"probability must be from 0 to 1, got {probability}")
        if probability == 0:
            return False
        value = self._draws.chance(label, probability)
        self._record(label, 2, int(value))
        return value

    def _record(self, label: str, size: int, value: int) -> None:
        if len(self.tape) >= self._limit:
            raise ChoiceLimit(f"a run may draw at most {self._limit} choices; the next was {label!r}")
        self.tape.append(value)
        self._asked.append((label, size))

    @property
    def drawn(self) -> list[Choice]:
        """The choices so far."""
        return [Choice(label, size, value) for (label, size), value in zip(self._asked, self.tape, strict=True)]

    # -- tell -----------------------------------------------------------------------------------------------------------

    def at(self, clock: Any) -> None:
        """Take the instants of the following notes from a clock.

        Args:
            clock: Has the instant in ms as ``now``: a `ManualClock`, or a `Store`. None for no instants.
        """
        self._clock = clock

    def follow(self, store: Store) -> None:
        """Take the instants of the notes from a store, and write its requests and internal steps into the story.

        The store is recorded only in the run that `explore` makes for the story: a recording costs more than a request. Reads are left
        out. To follow a store twice is to follow it once.
        """
        self.at(store)
        if self.telling and all(store is not each for each in self._followed):
            from .recording_story import StoryWriter

            self._followed.append(store)
            recording = store.record(cast("IO[str]", StoryWriter(self.note)))  # it only writes
            self.at_end(recording.close)

    def follows(self, store: Store) -> bool:
        """Return whether the store's requests and steps are in the story of this run."""
        return any(store is each for each in self._followed)

    def note(self, text: str) -> None:
        """Add a line to the story of the run, with the clock's instant if there is a clock."""
        clock = self._clock
        self._notes.append((None if clock is None else clock.now, f"{self.actor}: {text}" if self.actor else text))

    @property
    def notes(self) -> int:
        """The number of notes so far."""
        return len(self._notes)

    @property
    def story(self) -> list[str]:
        """The notes so far: each ``"<instant in ms>  <text>"``, or the text alone if there is no clock."""
        width = max((len(str(now)) for now, _ in self._notes if now is not None), default=0)
        return [text if now is None else f"{now:>{width}} ms  {text}" for now, text in self._notes]

    # -- end ------------------------------------------------------------------------------------------------------------

    def at_end(self, callback: Callable[[], object]) -> None:
        """Call a function after the run, also after a failure: the last one first. For example ``choices.at_end(store.close)``."""
        self._at_end.append(callback)

    def end(self) -> None:
        """Call what `at_end` was given. `explore` calls it after each run."""
        while self._at_end:
            self._at_end.pop()()
