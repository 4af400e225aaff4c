"""Shrinks the tape of a failing run to the one of the shortest story."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..base.stopwatch import seconds as stopwatch
from .choices import Choice

__all__ = ["LabelledDraws", "Shrinker", "Tried"]

#: How far a label is searched in the tape: enough for what one step of a program draws.
_NEAR = 16


@lru_cache(maxsize=4096)
def _group(label: str) -> str:
    return label.partition(":")[0]


class LabelledDraws:
    """Draws from a tape whose values have labels: a choice takes the next value of its own label, and skips up to 16 others.

    If something is deleted from a tape, the other values are then still answers to the questions that they answered before. Labels are
    compared up to their colon: if another worker takes the place of one, its crash answers for the other's.

    Args:
        tape: The choices.
    """

    __slots__ = ("_next", "_tape")

    def __init__(self, tape: Sequence[Choice]) -> None:
        self._tape = tape
        self._next = 0

    def number(self, label: str, size: int) -> int:
        """Return the next value of this label, at most `size` - 1; 0 if there is none near."""
        tape = self._tape
        group = _group(label)
        for at in range(self._next, min(self._next + _NEAR, len(tape))):
            if _group(tape[at].label) == group:
                self._next = at + 1
                value = tape[at].value
                return value if value < size else size - 1
        return 0

    def option(self, label: str, names: Sequence[Hashable]) -> int:
        """Return the next value of this label, as an index of `names`."""
        return self.number(label, len(names))

    def chance(self, label: str, probability: float) -> bool:
        """Return whether the next value of this label is not 0."""
        return self.number(label, 2) == 1


class Tried(NamedTuple):
    """A run that fails like the first one.

    Attributes:
        drawn: Its choices.
        lines: The length of its story.
    """

    drawn: list[Choice]
    lines: int

    @property
    def cost(self) -> tuple[int, int, list[int]]:
        """The lines of the story, then the choices, of which those that are not the simplest count three times: all this is made small."""
        values = [choice.value for choice in self.drawn]
        return (self.lines, len(values) + 2 * sum(value != 0 for value in values), values)


class Shrinker:
    """Edits the tape of a failing run as long as the run still fails in the same way and its story gets no longer.

    The passes are those of a byte shrinker in the manner of Hypothesis (MacIver and Donaldson, ECOOP 2020), on a list of small numbers with
    labels: cut the end off, make all choices of a label the simplest, delete spans, make spans the simplest, lower single values, delete a
    value together with choices that a lower count no longer draws, exchange two values, move a part of a value to a later one. It uses no
    randomness: equal runs shrink equally.

    Args:
        first: The failing run.
        attempt: Runs the scenario with a tape. Returns the run if it fails in the same way, and otherwise None.
        runs: The most runs.
        seconds: The longest time. It is a brake for slow scenarios: where it ends the shrinking, two machines may differ.

    Attributes:
        best: The shortest failing run so far.
        runs: How many runs were made.
        stopped: Why it ended before nothing was left to try; empty otherwise.
    """

    def __init__(
        self, first: Tried, attempt: Callable[[Sequence[Choice]], Tried | None], *, runs: int = 2_000, seconds: float = 30.0
    ) -> None:
        self.best = first
        self.runs = 0
        self.stopped = ""
        self._attempt = attempt
        self._most = runs
        self._until = stopwatch() + seconds
        self._seconds = seconds
        self._seen: set[tuple[int, ...]] = set()

    def shrink(self) -> Tried:
        """Run the passes until none of them finds anything shorter, or a limit is reached. Returns the best run."""
        passes = (
            self._cut,
            self._simplify_labels,
            self._delete,
            self._simplify,
            self._lower,
            self._lower_and_delete,
            self._exchange,
            self._shift,
        )
        while not self.stopped:
            before = self.best.cost
            for each in passes:
                each()
                if self.stopped:
                    break
            if self.best.cost == before:
                break
        return self.best

    def _try(self, tape: Sequence[Choice]) -> bool:
        """Run a tape. Returns whether it became the best one."""
        if self.stopped:
            return False
        key = tuple(choice.value for choice in tape)
        if key in self._seen:
            return False
        self._seen.add(key)
        if self.runs >= self._most:
            self.stopped = f"after {self._most} runs"
            return False
        if stopwatch() > self._until:
            self.stopped = f"after {self._seconds:g} s"
            return False
        self.runs += 1
        found = self._attempt(tape)
        if found is None or found.cost >= self.best.cost:
            return False
        self.best = found
        return True

    def _cut(self) -> None:
        """Keep only a beginning; the rest is the simplest."""
        low, high = 0, len(self.best.drawn)
        while low < high:
            middle = (low + high) // 2
            if self._try(self.best.drawn[:middle]):
                high = min(middle, len(self.best.drawn))
            else:
                low = middle + 1

    def _simplify_labels(self) -> None:
        for label in sorted({choice.label for choice in self.best.drawn if choice.value}):
            self._try([choice._replace(value=0) if choice.label == label else choice for choice in self.best.drawn])

    def _spans(self) -> Iterator[tuple[int, int]]:
        """Yield spans of the best tape, long ones first, each length from the end to the beginning."""
        length = len(self.best.drawn)
        while length:
            end = len(self.best.drawn)
            while end > 0:
                yield max(0, end - length), end
                end = min(end - length, len(self.best.drawn))
            length //= 2

    def _delete(self) -> None:
        for start, end in self._spans():
            self._try([*self.best.drawn[:start], *self.best.drawn[end:]])

    def _simplify(self) -> None:
        for start, end in self._spans():
            tape = self.best.drawn
            if any(choice.value for choice in tape[start:end]):
                self._try([*tape[:start], *(choice._replace(value=0) for choice in tape[start:end]), *tape[end:]])

    def _set(self, at: int, value: int) -> bool:
        tape = self.best.drawn
        return at < len(tape) and self._try([*tape[:at], tape[at]._replace(value=value), *tape[at + 1 :]])

    def _lower(self) -> None:
        """Lower each value: to 0, then by halving the distance to the lowest one that still fails, then by 1."""
        for at in range(len(self.best.drawn)):
            if at >= len(self.best.drawn) or self.best.drawn[at].value == 0 or self._set(at, 0):
                continue
            low = 0  # passes, or is another story
            while at < len(self.best.drawn) and low + 1 < self.best.drawn[at].value and not self.stopped:
                middle = (low + self.best.drawn[at].value) // 2
                if not self._set(at, middle):
                    low = middle
            for _ in range(3):  # not every threshold is one
                if at >= len(self.best.drawn) or self.best.drawn[at].value == 0 or not self._set(at, self.best.drawn[at].value - 1):
                    break

    def _lower_and_delete(self) -> None:
        """Lower a value by 1, and delete a span of up to 8 choices after it: a count, and what it counts."""
        for at in range(len(self.best.drawn)):
            for start in range(at + 1, min(at + 17, len(self.best.drawn))):
                for length in (1, 2, 3, 4, 6, 8):
                    tape = self.best.drawn
                    if at >= len(tape) or tape[at].value == 0 or start + length > len(tape):
                        break
                    self._try(
                        [*tape[:at], tape[at]._replace(value=tape[at].value - 1), *tape[at + 1 : start], *tape[start + length :]]
                    )

    def _exchange(self) -> None:
        """Move a choice that is not the simplest one to a later or an earlier choice of its label."""
        for at in range(len(self.best.drawn)):
            for other in range(max(0, at - 8), min(at + 9, len(self.best.drawn))):
                tape = self.best.drawn
                if (
                    at >= len(tape)
                    or other >= len(tape)
                    or tape[at].label != tape[other].label
                    or tape[at].value <= tape[other].value
                ):
                    continue
                edited = list(tape)
                edited[at], edited[other] = tape[at]._replace(value=tape[other].value), tape[other]._replace(value=tape[at].value)
                self._try(edited)

    def _shift(self) -> None:
        """Lower a value, and raise one of the next values of its label by as much: a sum stays the same."""
        for at in range(len(self.best.drawn)):
            for other in range(at + 1, min(at + 9, len(self.best.drawn))):
                tape = self.best.drawn
                if at >= len(tape) or other >= len(tape) or tape[at].label != tape[other].label:
                    continue
                amount = min(tape[at].value, tape[other].size - 1 - tape[other].value)
                while amount > 0:
                    edited = list(self.best.drawn)
                    edited[at] = edited[at]._replace(value=edited[at].value - amount)
                    edited[other] = edited[other]._replace(value=edited[other].value + amount)
                    if self._try(edited):
                        break
                    amount //= 2
