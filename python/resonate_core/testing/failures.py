"""The result of a search: its report, and the failure with the shortest story."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .regressions import ScenarioSource, name_of_file, text_of
from .scenarios import summary_of
from .tokens import decode

__all__ = ["FailingRun", "Failure", "NotDeterministic", "Report"]

#: A longer story is shown from its end.
_LINES = 60


@dataclass(frozen=True)
class FailingRun:
    """A run that failed.

    Attributes:
        run: Its number.
        summary: The class and the first line of its error.
        kind: What failures of one bug have in common.
    """

    run: int
    summary: str
    kind: str = field(repr=False)


@dataclass
class Report:
    """What `explore` did.

    Attributes:
        scenario: The name of the scenario.
        seed: The seed.
        search: The name of the search strategy.
        runs: How many runs were made, up to and including the last one that counts. Equal for all executors.
        choices: How many choices these runs drew.
        seconds: How long the search took, without the shrinking.
        failing: The failing runs, in order.

    Example:
        >>> from resonate_core.testing import explore
        >>> report = explore(lambda choices: None, runs=100)
        >>> report.runs, report.failing
        (100, [])
    """

    scenario: str
    seed: int
    search: str
    runs: int = 0
    choices: int = 0
    seconds: float = 0.0
    failing: list[FailingRun] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Runs a second."""
        return self.runs / self.seconds if self.seconds else 0.0


class NotDeterministic(AssertionError):
    """Two runs with the same choices differ: the behaviour of the scenario depends on something else, too.

    The usual reasons are `random`, `uuid4`, the system's clock, threads, the order of a set, and state that one run leaves to the next.
    """


class Failure(AssertionError):
    """A scenario failed. The error of the shortest failing run is its cause (``__cause__``).

    Attributes:
        scenario: The name of the scenario.
        seed: The seed of the search; None for a replay.
        run: The number of the run that failed first; None for a replay.
        token: Replays the shortest failing run: ``explore(scenario, replay=token)``.
        story: The shortest failing story, one line each.
        cause: The error of that run.
        found: The number of choices of the run that failed first.
        choices: The number of choices of the shortest failing run.
        shrink_runs: How many runs the shrinking took.
        report: The report of the search.

    Example:
        >>> from resonate_core.testing import Failure, explore
        >>> def scenario(choices):
        ...     rolls = [choices.integer(1, 6, "die") for _ in range(3)]
        ...     choices.note(f"rolled {rolls}")
        ...     assert sum(rolls) < 16, "too high"
        >>> try:
        ...     explore(scenario, seed=1)
        ... except Failure as failure:
        ...     print(failure.story, type(failure.cause).__name__, failure.token[:4])
        ['rolled [4, 6, 6]'] AssertionError rct_
    """

    def __init__(
        self,
        *,
        scenario: str,
        token: str,
        story: Sequence[str],
        cause: BaseException,
        seed: int | None = None,
        run: int | None = None,
        found: int = 0,
        choices: int = 0,
        shrink_runs: int = 0,
        stopped: str = "",
        report: Report | None = None,
        source: ScenarioSource | None = None,
    ) -> None:
        self.scenario = scenario
        self.token = token
        self.story = list(story)
        self.cause = cause
        self.seed = seed
        self.run = run
        self.found = found
        self.choices = choices
        self.shrink_runs = shrink_runs
        self.stopped = stopped
        self.report = report
        self._source = source
        super().__init__(self._text())

    def _text(self, *, replay: bool = True) -> str:
        story = self.story[-_LINES:]
        if len(story) < len(self.story):
            story = [f"({len(self.story) - len(story)} earlier lines)", *story]
        lines = [summary_of(self.cause), "", *(f"  {line}" for line in story)]
        if story:
            lines.append("")
        if self.run is not None:
            lines.append(f"  found   run {self.run} of seed {self.seed}, in {self.scenario}")
            stopped = f", stopped {self.stopped}" if self.stopped else ""
            lines.append(f"  shrunk  from {self.found} choices to {self.choices}, in {self.shrink_runs} runs{stopped}")
        else:
            lines.append(f"  replayed {self.choices} choices, in {self.scenario}")
        others = {each.kind: each.summary for each in self.report.failing[1:]} if self.report else {}
        if self.report and len(self.report.failing) > 1:
            lines.append(f"  failing {len(self.report.failing)} of {self.report.runs} runs, in {len(others)} ways")
        if replay:
            lines.append(f"  replay  RESONATE_REPLAY={self.token}")
        return "\n".join(lines)

    def to_pytest(self, path: str | Path) -> Path:
        """Write a file of pytest whose only test replays this failure. It passes as soon as the bug is fixed.

        Args:
            path: The file, for example ``tests/regressions/test_charged_twice.py``. It is replaced if it exists; missing folders are made.

        Returns:
            The path.

        Raises:
            ValueError: The scenario cannot be imported: it is a lambda or is defined in another function.
        """
        if self._source is None:
            raise ValueError(f"scenario must be a function at the top of a module, got {self.scenario}: move it there")
        text = text_of(self._source, self.scenario, self.token, self.story)
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def explored_by_pytest(self, test: ScenarioSource | None) -> None:
        """Say that pytest ran the scenario: its report tells how to replay it, so the message does not.

        Args:
            test: The test with fixtures that is the scenario; None: a test calls the scenario.
        """
        self._source = test or self._source
        self.args = (self._text(replay=False),)

    def write_regression(self, folder: Path) -> Path | None:
        """Write the file of `to_pytest` to a folder, under a name of its own.

        Args:
            folder: The folder; it is made.

        Returns:
            The path, or None if the scenario cannot be imported.
        """
        if self._source is None:
            return None
        return self.to_pytest(folder / name_of_file(self._source, self.token))

    @property
    def tape(self) -> list[int]:
        """The tape of the shortest failing run, without zeros at its end."""
        return decode(self.token)[1]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _rebuilt, ({key: value for key, value in self.__dict__.items() if not key.startswith("_")}, self._source)


def _rebuilt(attributes: dict[str, Any], source: ScenarioSource | None) -> Failure:
    return Failure(**attributes, source=source)
