"""Search strategies: how the choices of each run are drawn."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from .choices import Choices, Draws, RandomDraws, TapeDraws

__all__ = ["CrashSearch", "PrioritySearch", "RandomSearch", "Search", "search_named"]

#: Runs of a scenario, each with other draws; returns the choices of the run.
Trial = Callable[[Draws], Choices]


class Search(Protocol):
    """A search strategy. Equal seeds and run numbers give equal draws, in every process: so a run does not depend on who makes it.

    It is pickled for executors.
    """

    @property
    def name(self) -> str:
        """Its name in reports."""

    def prepared(self, seed: int, trial: Trial) -> Search:
        """Return the strategy for one scenario. It may run the scenario to measure it.

        Args:
            seed: The seed of the search.
            trial: Runs the scenario once with given draws, and returns the choices of that run.
        """

    def draws(self, seed: int, run: int) -> Draws:
        """Return the draws of one run."""


class RandomSearch:
    """Each choice is random: `RandomDraws`."""

    name = "random"

    def prepared(self, seed: int, trial: Trial) -> RandomSearch:
        """Return itself."""
        return self

    def draws(self, seed: int, run: int) -> Draws:
        """Return the draws of one run."""
        return RandomDraws(seed, run)


class PrioritySearch:
    """Processes have priorities: the ready process of the highest priority continues, and at a few random points it gets the lowest.

    This is the algorithm PCT (Burckhardt and others, ASPLOS 2010). A bug that needs `depth` - 1 changes of priority, at the right of k
    points and with n processes, is found by a run with a probability of at least 1/(n·k^(depth-1)). Random choices seldom let one process
    run far ahead of another one; this search does. Choices with another label are random.

    Args:
        depth: One more than the number of changes. Most races need 2 or 3.
        label: The label of the choices of a process.
    """

    name = "priorities"

    def __init__(self, depth: int = 3, label: str = "schedule") -> None:
        if depth < 1:
            raise ValueError(f"depth must be at least 1, got {depth}")
        self.depth = depth
        self.label = label
        self.points = 1

    def prepared(self, seed: int, trial: Trial) -> PrioritySearch:
        """Return the strategy with the number of points measured by ten random runs."""
        made = PrioritySearch(self.depth, self.label)
        counts = [sum(choice.label == self.label for choice in trial(RandomDraws(seed, run)).drawn) for run in range(10)]
        made.points = max(1, *counts)
        return made

    def draws(self, seed: int, run: int) -> Draws:
        """Return the draws of one run."""
        return _PriorityDraws(RandomDraws(seed, run), self.label, self.points, self.depth - 1)


class _PriorityDraws:
    def __init__(self, others: RandomDraws, label: str, points: int, changes: int) -> None:
        self._others = others
        self._label = label
        self._priorities: dict[Hashable, float] = {}
        self._point = 0
        self._lowest = 0.0
        random = others.random
        self._changes = {int(random() * points) for _ in range(changes)}

    def number(self, label: str, size: int) -> int:
        return self.option(label, range(size)) if label == self._label else self._others.number(label, size)

    def option(self, label: str, names: Sequence[Hashable]) -> int:
        if label != self._label:
            return self._others.option(label, names)
        priorities = self._priorities
        for name in names:
            if name not in priorities:
                priorities[name] = self._others.random()
        best = max(range(len(names)), key=lambda index: priorities[names[index]])
        if self._point in self._changes:
            self._lowest -= 1
            priorities[names[best]] = self._lowest
            best = max(range(len(names)), key=lambda index: priorities[names[index]])
        self._point += 1
        return best

    def chance(self, label: str, probability: float) -> bool:
        return self._others.chance(label, probability)


class CrashSearch:
    """Each run crashes at one point: the first run nowhere, the next one at the first possible point, and so on.

    The other choices are the simplest until every point had its run. Then the points are tried again with random choices, another seed
    for each round. A possible point is a chance whose label begins with `label`.

    Args:
        label: What the labels of the points begin with.
    """

    name = "crash_everywhere"

    def __init__(self, label: str = "crash") -> None:
        self.label = label
        self.points = 1

    def prepared(self, seed: int, trial: Trial) -> CrashSearch:
        """Return the strategy with the points counted in a run without a crash."""
        made = CrashSearch(self.label)
        made.points = sum(choice.label.startswith(self.label) for choice in trial(made.draws(seed, 0)).drawn)
        return made

    def draws(self, seed: int, run: int) -> Draws:
        """Return the draws of one run."""
        rounds, point = divmod(run, self.points + 1)
        return _CrashDraws(RandomDraws(seed, rounds) if rounds else TapeDraws(()), self.label, point)


class _CrashDraws:
    def __init__(self, others: Draws, label: str, point: int) -> None:
        self._label = label
        self._left = point
        self.number = others.number
        self.option = others.option
        self._chance = others.chance

    def chance(self, label: str, probability: float) -> bool:
        if not label.startswith(self._label):
            return self._chance(label, probability)
        self._left -= 1
        return self._left == 0


_NAMED: dict[str, Callable[[], Search]] = {
    "random": RandomSearch,
    "priorities": PrioritySearch,
    "crash_everywhere": CrashSearch,
}


def search_named(search: str | Search) -> Search:
    """Return a strategy by its name, or the given one.

    Raises:
        ValueError: No strategy has this name.

    Example:
        >>> search_named("priorities").name
        'priorities'
        >>> search_named("best")
        Traceback (most recent call last):
        ...
        ValueError: search must be one of 'random', 'priorities', 'crash_everywhere' or an object with `draws`, got 'best'
    """
    if not isinstance(search, str):
        return search
    if search not in _NAMED:
        names = ", ".join(repr(name) for name in _NAMED)
        raise ValueError(f"search must be one of {names} or an object with `draws`, got {search!r}")
    return _NAMED[search]()
