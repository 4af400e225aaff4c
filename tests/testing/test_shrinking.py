"""The shrinker by itself, on problems whose shortest answer is known."""

from __future__ import annotations

import pytest

from resonate_core.testing import Choice, Choices, Failure, explore
from resonate_core.testing.shrinking import LabelledDraws, Shrinker, Tried


def shortest(scenario, seed: int = 1, **options) -> Failure:
    with pytest.raises(Failure) as found:
        explore(scenario, seed=seed, runs=20_000, **options)
    return found.value


def test_a_threshold_is_found_exactly():
    def scenario(choices: Choices) -> None:
        assert choices.integer(0, 10**9, "size") < 123_457

    assert shortest(scenario).tape == [123_457]


def test_a_list_is_cut_to_its_failing_element():
    def scenario(choices: Choices) -> None:
        numbers = [choices.integer(0, 1000, "element") for _ in range(choices.integer(0, 50, "length"))]
        assert not any(number >= 700 for number in numbers)

    assert shortest(scenario).tape == [1, 700]


def test_a_list_that_ends_by_chance_is_cut():
    def scenario(choices: Choices) -> None:
        numbers = []
        while choices.chance(0.9, "more"):
            numbers.append(choices.integer(0, 100, "element"))
        assert len(set(numbers)) < 3

    assert sorted(shortest(scenario).tape) == sorted([1, 0, 1, 1, 1, 2])


def test_a_pair_in_order():
    def scenario(choices: Choices) -> None:
        kinds = [choices.pick(["read", "write", "crash"], "kind") for _ in range(30)]
        assert "write" not in kinds or "crash" not in kinds[kinds.index("write") :]

    failure = shortest(scenario)
    assert sorted(value for value in failure.tape if value) == [1, 2]


def test_a_sum_has_its_large_parts_last():
    def scenario(choices: Choices) -> None:
        assert sum(choices.integer(0, 50, "part") for _ in range(4)) < 120

    assert shortest(scenario).tape == [0, 20, 50, 50]


def test_labels_that_do_not_matter_become_the_simplest():
    def scenario(choices: Choices) -> None:
        for _ in range(20):
            choices.pick("abc", "schedule")
            choices.integer(0, 1000, "delay")
            assert not choices.chance(0.05, "crash:a")

    failure = shortest(scenario)
    assert failure.choices == 3
    assert failure.tape == [0, 0, 1]


def test_the_shortest_story_wins_over_the_shortest_tape():
    def scenario(choices: Choices) -> None:
        if choices.chance(0.5, "quick"):
            lines = 10
        else:
            lines = 1 + 0 * sum(choices.integer(0, 1, "step") for _ in range(5))
        for _ in range(lines):
            choices.note("a line")
        raise ValueError

    for seed in range(4):
        assert shortest(scenario, seed).story == ["a line"]


@pytest.mark.parametrize("seed", range(10))
def test_the_result_fails_and_is_no_longer_than_the_first(seed: int):
    def scenario(choices: Choices) -> None:
        state = 0
        for _ in range(choices.integer(0, 40, "steps")):
            state = (state * 31 + choices.integer(0, 99, "step")) % 101
            choices.note(f"{state}")
            assert state != 57

    failure = shortest(scenario, seed)
    assert failure.choices <= failure.found
    assert len(failure.story) <= 5  # of up to 40
    assert failure.shrink_runs <= 2_000


def test_it_stops_after_its_runs():
    def scenario(choices: Choices) -> None:
        assert sum(choices.integer(0, 1000, "part") for _ in range(50)) < 24_000

    failure = shortest(scenario, shrink=25)
    assert failure.shrink_runs == 25
    assert "in 25 runs, stopped after 25 runs" in str(failure)
    assert shortest(scenario, shrink=0).shrink_runs == 0


def test_it_stops_after_its_time():
    first = Tried([Choice("a", 10**9, 999_999)] * 20, 0)
    shrinker = Shrinker(first, lambda tape: None, seconds=0.0)
    assert shrinker.shrink() == first
    assert shrinker.stopped == "after 0 s"


def test_an_edited_tape_answers_by_label():
    """Without its first delay, the tape still crashes at the second step."""
    tape = [
        Choice("schedule", 3, 2),
        Choice("crash:a", 2, 0),
        Choice("schedule", 3, 1),
        Choice("delay", 100, 50),
        Choice("crash:a", 2, 1),
    ]
    choices = Choices(LabelledDraws(tape))
    assert choices.pick("abc", "schedule") == "c"
    assert not choices.chance(0.1, "crash:a")
    assert choices.pick("abc", "schedule") == "b"
    assert choices.chance(0.1, "crash:a")
    assert choices.integer(0, 99, "delay") == 0  # the tape is past it
    assert choices.tape == [2, 0, 1, 1, 0]
