"""Whether two runs with the same choices are equal; if not, the first difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .choices import Choice, Choices
from .failures import NotDeterministic
from .scenarios import failure_of, kind_of, story_of

__all__ = ["require_equal", "require_same_again"]


def require_same_again(run: Callable[[Choices], Any], first: Choices, error: BaseException | None, limit: int) -> None:
    """Run a scenario again from the tape of a run, and compare both.

    Args:
        run: Runs the scenario once.
        first: The choices of the run.
        error: Its error, or None.
        limit: The most choices.

    Raises:
        NotDeterministic: It differs.
    """
    again = Choices.from_tape(first.tape, limit=limit)
    second = failure_of(run, again)
    require_equal(first.drawn, again.drawn, story_of(first, error), story_of(again, second), error, second)


def require_equal(
    one: Sequence[Choice],
    other: Sequence[Choice],
    story: Sequence[str],
    other_story: Sequence[str],
    error: BaseException | None,
    second: BaseException | None,
) -> None:
    """Compare two runs with the same choices.

    Args:
        one: What the first run drew.
        other: What the second run drew.
        story: Of the first run.
        other_story: Of the second run.
        error: Of the first run, or None.
        second: Of the second run, or None.

    Raises:
        NotDeterministic: They differ. The message names the first difference: of the choices, then of the stories, then of the errors.
    """
    head = "two runs with the same choices differ: "
    for number, (choice, again) in enumerate(zip(one, other, strict=False), 1):
        if choice != again:
            raise NotDeterministic(f"{head}choice {number} was {_shown(choice)}, then {_shown(again)}")
    if len(one) != len(other):
        raise NotDeterministic(f"{head}the first drew {len(one)} choices, the second one {len(other)}")
    for number, (line, again_line) in enumerate(zip(story, other_story, strict=False), 1):
        if line != again_line:
            raise NotDeterministic(f"{head}line {number} of the story was {line!r}, then {again_line!r}")
    if len(story) != len(other_story):
        raise NotDeterministic(f"{head}the first story has {len(story)} lines, the second one {len(other_story)}")
    kinds = [None if each is None else kind_of(each) for each in (error, second)]
    if kinds[0] != kinds[1]:
        raise NotDeterministic(f"{head}the first {_ended(error)}, the second one {_ended(second)}")


def _shown(choice: Choice) -> str:
    return f"{choice.value} of {choice.size} for {choice.label!r}"


def _ended(error: BaseException | None) -> str:
    return "passed" if error is None else f"failed with {type(error).__name__}: {error}"
