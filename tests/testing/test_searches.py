"""The searches of `explore`: which choices each makes."""

from __future__ import annotations

import pytest
from scenarios_to_explore import charged_twice, overdrawn

from resonate_core.testing import Choices, CrashSearch, Failure, PrioritySearch, RandomSearch, explore


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("RESONATE_RUNS", "RESONATE_SEED", "RESONATE_REPLAY"):
        monkeypatch.delenv(variable, raising=False)


def failure_of(scenario, **options) -> Failure:
    with pytest.raises(Failure) as found:
        explore(scenario, **options)
    return found.value


@pytest.mark.parametrize(
    "search", ["random", "priorities", "crash_everywhere", RandomSearch(), PrioritySearch(depth=2), CrashSearch("crash:a")]
)
def test_each_search_finds_the_double_charge(search):
    failure = failure_of(charged_twice, seed=1, search=search)
    assert sum("crashes" in line for line in failure.story) == 1
    assert failure.report.search == getattr(search, "name", search)


def test_crash_everywhere_crashes_once_at_each_point_in_turn():
    seen: list[list[bool]] = []

    def scenario(choices: Choices) -> None:
        seen.append([choices.chance(0.3, "crash:a") for _ in range(4)])

    explore(scenario, search="crash_everywhere", runs=10)
    once = [[at == point for at in range(1, 5)] for point in range(5)]
    assert seen[1:] == once + once  # the first run counts the points


def test_crash_everywhere_tries_other_schedules_after_the_simplest():
    seen: list[tuple[int, int]] = []

    def scenario(choices: Choices) -> None:
        first = choices.integer(0, 1000, "schedule")
        seen.append((first, [choices.chance(0.3, "crash:a") for _ in range(4)].count(True)))

    explore(scenario, search="crash_everywhere", runs=15)
    schedules = [first for first, _ in seen[1:]]
    assert schedules[:5] == [0] * 5
    assert len(set(schedules[5:10])) == len(set(schedules[10:])) == 1
    assert [crashes for _, crashes in seen[1:]] == [0, 1, 1, 1, 1] * 3


def test_priorities_let_one_process_run_ahead():
    """A bug that needs 12 steps of one process in a row: 1 of 4,096 random schedules, and most schedules by priority."""

    def scenario(choices: Choices) -> None:
        row = [choices.pick(["a", "b"], "schedule") for _ in range(14)]
        assert row[1:13] != ["b"] * 12

    assert failure_of(scenario, search="priorities", seed=1, runs=50).run < 50
    assert explore(scenario, search="random", seed=1, runs=50).failing == []


def test_a_search_of_your_own():
    class Largest:
        name = "largest"

        def prepared(self, seed, trial):
            return self

        def draws(self, seed, run):
            return self

        def number(self, label, size):
            return size - 1

        def option(self, label, names):
            return 0

        def chance(self, label, probability):
            return False

    assert failure_of(overdrawn, search=Largest(), runs=1).found == 10
