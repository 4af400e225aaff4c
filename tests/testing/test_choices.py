"""The tape: equal seeds and equal tapes give equal choices, on every Python."""

from __future__ import annotations

import pytest

import resonate_core as rc
from resonate_core.testing import Choice, ChoiceLimit, Choices


def draw(choices: Choices) -> list[object]:
    return [
        choices.integer(-5, 5, "small"),
        choices.integer(0, 10**30, "large"),
        choices.pick("abc", "letter"),
        choices.chance(0.5, "crash:a"),
        choices.integer(7, 7, "one"),
    ]


def test_a_seed_is_the_same_everywhere():
    """The values are written here, so the test fails on a Python or platform that draws others."""
    assert draw(Choices.from_seed(1)) == draw(Choices.from_seed(1))
    assert [Choices.from_seed(5, run).integer(0, 255) for run in range(8)] == EXPECTED_SMALL
    assert [Choices.from_seed(5, run).integer(0, 10**9) for run in range(8)] == EXPECTED_LARGE


EXPECTED_SMALL = [244, 157, 247, 248, 76, 195, 122, 220]
EXPECTED_LARGE = [177710179, 575621371, 482018903, 604097421, 237880, 69050617, 999478875, 807963181]


def test_runs_and_seeds_differ():
    tapes = {tuple(draw(Choices.from_seed(seed, run))) for seed in range(5) for run in range(5)}
    assert len(tapes) == 25


def test_a_tape_replays_a_seed():
    first = Choices.from_seed(3)
    drawn = draw(first)
    again = Choices.from_tape(first.tape)
    assert draw(again) == drawn
    assert again.tape == first.tape
    assert again.drawn == first.drawn
    assert first.drawn[2] == Choice("letter", 3, "abc".index(str(drawn[2])))


def test_beyond_its_end_a_tape_is_the_simplest():
    assert draw(Choices.from_tape([])) == [-5, 0, "a", False, 7]


def test_a_value_that_is_too_large_is_the_largest():
    assert Choices.from_tape([99]).integer(0, 10) == 10
    assert Choices.from_tape([99]).pick("abc") == "c"
    assert Choices.from_tape([99]).chance(0.1) is True


def test_an_event_of_probability_0_draws_nothing():
    choices = Choices.from_tape([1])
    assert not choices.chance(0, "fault")
    assert choices.tape == []
    assert choices.chance(0.001, "fault")


def test_an_event_of_probability_1_happens_unless_a_tape_says_otherwise():
    assert all(Choices.from_seed(seed).chance(1) for seed in range(50))
    assert not Choices.from_tape([0]).chance(1)


def test_integers_reach_both_ends_and_the_middle():
    seen = [Choices.from_seed(1, run).integer(0, 86_400_000) for run in range(2_000)]
    assert min(seen) == 0
    assert max(seen) == 86_400_000
    assert sum(1_000_000 < value < 85_000_000 for value in seen) > 800


def test_small_ranges_are_even():
    seen = [Choices.from_seed(2, run).integer(1, 6) for run in range(6_000)]
    assert all(800 < seen.count(face) < 1200 for face in range(1, 7))


@pytest.mark.parametrize(
    "wrong, text",
    [
        (lambda choices: choices.integer(2, 1), "high must be at least low, got low=2, high=1"),
        (lambda choices: choices.pick([], "who"), "options must have at least one element, got none for 'who'"),
        (lambda choices: choices.chance(1.5), "probability must be from 0 to 1, got 1.5"),
        (lambda choices: choices.chance(-0.1), "probability must be from 0 to 1, got -0.1"),
    ],
)
def test_a_wrong_argument_is_refused(wrong, text: str):
    choices = Choices.from_seed(1)
    with pytest.raises(ValueError) as refused:
        wrong(choices)
    assert str(refused.value) == text
    assert choices.tape == []


def test_the_limit():
    choices = Choices.from_seed(1, limit=3)
    for _ in range(3):
        choices.integer(0, 1)
    with pytest.raises(ChoiceLimit, match="at most 3 choices; the next was 'loop'"):
        choices.integer(0, 1, "loop")


def test_notes_have_the_instant_of_the_clock_and_the_name_of_the_actor():
    choices = Choices.from_tape([])
    choices.note("before the clock")
    clock = rc.ManualClock(start=0)
    choices.at(clock)
    choices.note("begins")
    clock.advance(10_000)
    choices.actor = "a"
    choices.note("ends")
    assert choices.story == ["before the clock", "    0 ms  begins", "10000 ms  a: ends"]


def test_a_store_is_followed_only_in_the_run_that_is_told():
    def run(telling: bool) -> list[str]:
        choices = Choices.from_tape([], telling=telling)
        store = rc.Store(clock=rc.ManualClock(start=0))
        choices.follow(store)
        choices.follow(store)
        store.promises.create("p", timeout=1000, tags={"resonate:timer": "true"})
        store.promises.get("p")
        choices.note("waits")
        store.clock.advance(1000)
        assert choices.follows(store) is telling
        choices.end()
        store.promises.create("after the end", timeout=1000)
        return choices.story

    assert run(False) == ["0 ms  waits"]
    assert run(True) == ["   0 ms  promise.create p (pending)", "   0 ms  waits", "1000 ms  promise p times out"]


def test_what_runs_at_the_end_runs_once_and_the_last_first():
    choices = Choices.from_tape([])
    calls: list[int] = []
    choices.at_end(lambda: calls.append(1))
    choices.at_end(lambda: calls.append(2))
    choices.end()
    choices.end()
    assert calls == [2, 1]
