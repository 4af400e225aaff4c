"""`explore`: which runs it makes, what it reports, and how it replays."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from scenarios_to_explore import charged_once, charged_twice, overdrawn, passes, rare

from resonate_core.testing import (
    ChoiceLimit,
    Choices,
    Failure,
    NotDeterministic,
    Report,
    explore,
)

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("RESONATE_RUNS", "RESONATE_SEED", "RESONATE_REPLAY"):
        monkeypatch.delenv(variable, raising=False)


def failure_of(scenario, **options) -> Failure:
    with pytest.raises(Failure) as found:
        explore(scenario, **options)
    return found.value


def test_a_scenario_that_passes_has_a_report():
    report = explore(passes, runs=300, seed=4)
    assert (report.scenario, report.seed, report.search, report.runs, report.failing) == (
        "scenarios_to_explore:passes",
        4,
        "random",
        300,
        [],
    )
    assert report.choices > 300
    assert report.rate > 0


def test_the_first_failing_run_is_reported_and_shrunk():
    failure = failure_of(overdrawn, seed=1)
    assert failure.story == ["withdraw 1", "withdraw 50", "withdraw 50"]
    assert failure.run == failure.report.failing[0].run == failure.report.runs - 1
    assert failure.seed == 1
    assert failure.choices == 4 <= failure.found
    assert failure.__cause__ is failure.cause
    assert str(failure.cause) == "overdrawn"
    text = str(failure)
    assert text.startswith("AssertionError: overdrawn\n\n  withdraw 1\n")
    assert f"found   run {failure.run} of seed 1, in scenarios_to_explore:overdrawn" in text
    assert f"RESONATE_REPLAY={failure.token}" in text


def test_equal_searches_are_equal():
    first, second = (failure_of(rare, seed=9, runs=2_000) for _ in range(2))
    assert (first.run, first.token, first.story, first.shrink_runs) == (second.run, second.token, second.story, second.shrink_runs)
    assert str(first) == str(second)


def test_seeds_find_different_runs():
    assert len({failure_of(rare, seed=seed, runs=5_000).run for seed in range(6)}) > 1


def test_a_run_of_a_seed_does_not_depend_on_the_others():
    run = failure_of(rare, seed=9, runs=2_000).run
    with pytest.raises(ValueError):
        rare(Choices.from_seed(9, run))
    for other in range(run):
        rare(Choices.from_seed(9, other))


def test_all_failing_runs_are_reported():
    failure = failure_of(rare, seed=9, runs=3_000, stop="never")
    assert failure.report.runs == 3_000
    assert len(failure.report.failing) > 5
    assert {found.summary for found in failure.report.failing} == {"ValueError: dbd", "ValueError: ccc"}
    assert failure.run == failure_of(rare, seed=9, runs=3_000).run


def test_it_stops_at_a_number_of_failing_runs():
    everything = failure_of(rare, seed=9, runs=3_000, stop="never").report
    three = failure_of(rare, seed=9, runs=3_000, stop=3).report
    assert three.failing == everything.failing[:3]
    assert three.runs == three.failing[2].run + 1


def test_it_stops_after_a_time():
    report = explore(passes, runs=10_000_000, seconds=0.05)
    assert 0 < report.runs < 10_000_000


def test_a_failure_of_another_kind_is_not_mixed_in():
    """The simplest run fails in another line: shrinking must not change to that failure."""

    def scenario(choices: Choices) -> None:
        size = choices.integer(0, 1000, "size")
        if size > 500:
            raise ValueError("too large")
        if size == 0 and choices.telling is None:
            raise ValueError("never")
        if 3 < size < 6:
            raise KeyError("another bug")

    failure = failure_of(scenario, seed=2)
    assert isinstance(failure.cause, ValueError)
    assert failure.tape == [501]


def test_a_loop_that_ends_only_by_chance_is_a_failure():
    def scenario(choices: Choices) -> None:
        while not choices.chance(0.000001, "stop"):
            pass

    failure = failure_of(scenario, runs=1, limit=500)
    assert isinstance(failure.cause, ChoiceLimit)
    assert failure.choices == 500


def test_a_test_that_pytest_fails_is_a_failure_and_one_that_it_skips_is_not():
    def fails(choices: Choices) -> None:
        pytest.fail("by pytest")

    def skips(choices: Choices) -> None:
        pytest.skip("not here")

    assert "by pytest" in str(failure_of(fails, runs=1))
    with pytest.raises(pytest.skip.Exception):
        explore(skips, runs=1)


def test_an_interrupt_ends_the_search():
    def scenario(choices: Choices) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(scenario)


def test_what_a_run_leaves_to_the_next_is_noticed():
    calls = []

    def scenario(choices: Choices) -> None:
        calls.append(choices.integer(0, 9, "x"))
        assert len(calls) != 40

    with pytest.raises(NotDeterministic, match=r"run 39 of seed 0 failed .*, and passed when it was repeated"):
        explore(scenario)


def test_the_first_difference_is_named():
    calls = []

    def scenario(choices: Choices) -> None:
        calls.append(1)
        choices.integer(0, 9, "first")
        choices.integer(0, 9, "second" if len(calls) % 2 else "other")
        raise ValueError

    with pytest.raises(NotDeterministic, match=r"choice 2 was \d of 10 for '\w+', then \d of 10 for '\w+'"):
        explore(scenario)


def test_every_run_can_be_made_twice():
    assert explore(charged_once, runs=30, twice=True).runs == 30
    names = iter(range(1000))

    def scenario(choices: Choices) -> None:
        choices.note("begins")
        choices.note(f"takes number {next(names)}")

    with pytest.raises(NotDeterministic, match="line 2 of the story was 'takes number 0', then 'takes number 1'"):
        explore(scenario, twice=True)
    assert explore(scenario, runs=30).runs == 30

    def longer(choices: Choices) -> None:
        for _ in range(next(names) % 3):
            choices.note("again")

    with pytest.raises(NotDeterministic, match=r"the first story has \d lines, the second one \d"):
        explore(longer, twice=True)

    def draws_more(choices: Choices) -> None:
        for _ in range(next(names) % 3):
            choices.chance(0.5)

    with pytest.raises(NotDeterministic, match=r"the first drew \d choices, the second one \d"):
        explore(draws_more, twice=True)

    def fails_again(choices: Choices) -> None:
        if next(names) % 2:
            raise ValueError("odd")

    with pytest.raises(NotDeterministic, match=r"the first (passed|failed with ValueError: odd), the second one (passed|failed)"):
        explore(fails_again, twice=True)


# -- replay


def test_a_token_replays_one_run():
    failure = failure_of(overdrawn, seed=1)
    again = failure_of(overdrawn, replay=failure.token)
    assert (again.story, again.token, again.seed, again.run) == (failure.story, failure.token, None, None)
    assert "replayed 4 choices" in str(again)


def test_a_token_of_a_bug_that_is_gone_passes(monkeypatch: pytest.MonkeyPatch):
    from resonate_core.testing.tokens import encode

    report = explore(overdrawn, replay=encode("scenarios_to_explore:overdrawn", [1, 0]))
    assert (report.runs, report.search) == (1, "replay")


def test_a_token_of_another_scenario_is_refused_as_an_argument_and_ignored_in_the_environment(monkeypatch: pytest.MonkeyPatch):
    token = failure_of(overdrawn, seed=1).token
    with pytest.raises(
        ValueError, match=r"replay must be a token of scenarios_to_explore:passes, got one of scenarios_to_explore:overdrawn"
    ):
        explore(passes, replay=token)
    monkeypatch.setenv("RESONATE_REPLAY", token)
    assert explore(passes, runs=20).runs == 20
    assert failure_of(overdrawn, runs=1).run is None


def test_a_module_may_be_imported_with_its_packages():
    from resonate_core.testing.tokens import encode

    assert failure_of(overdrawn, replay=encode("tests.testing.scenarios_to_explore:overdrawn", [3, 0, 49, 49]))
    with pytest.raises(ValueError):
        explore(overdrawn, replay=encode("my_scenarios_to_explore:overdrawn", []))


def test_seed_and_runs_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RESONATE_RUNS", "17")
    monkeypatch.setenv("RESONATE_SEED", "20260101")
    report = explore(passes)
    assert (report.runs, report.seed) == (17, 20260101)
    report = explore(passes, runs=3, seed=2)
    assert (report.runs, report.seed) == (3, 2)
    monkeypatch.setenv("RESONATE_SEED", "today")
    with pytest.raises(ValueError, match="RESONATE_SEED must be an integer of at least 0, got 'today'"):
        explore(passes)


def test_a_story_is_the_same_in_other_processes_with_other_hashes():
    token = failure_of(charged_twice, seed=1).token
    program = (
        "from scenarios_to_explore import charged_twice; from resonate_core.testing import Failure, explore\n"
        "try: explore(charged_twice, seed=1)\n"
        "except Failure as failure: found = failure\n"
        "try: explore(charged_twice, replay=found.token)\n"
        "except Failure as failure: print(str(found), found.token, str(failure), *failure.story, sep='\\n')\n"
    )
    printed = set()
    for hash_seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
        printed.add(subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True).stdout)
    assert len(printed) == 1
    assert token.encode() in printed.pop()


def test_a_thousand_seeds_are_the_same_in_two_processes():
    printed = {
        subprocess.run(
            [sys.executable, str(HERE / "scenarios_to_explore.py"), "1000"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(printed) == 1
    assert len(printed.pop().split()) == 1000


# -- the generated test


def test_a_generated_test_fails_as_long_as_the_bug_exists(tmp_path: Path):
    failure = failure_of(charged_twice, seed=1)
    path = failure.to_pytest(tmp_path / "made" / "test_charged_twice.py")
    source = path.read_text()
    assert failure.story[0].strip() in source
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        str(path),
    ]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "charged twice" in run.stdout and "1 failed" in run.stdout

    (tmp_path / "scenarios_to_explore.py").write_text("def charged_twice(choices): pass\n")
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


def test_a_scenario_that_cannot_be_imported_has_no_generated_test(tmp_path: Path):
    def inner(choices: Choices) -> None:
        raise ValueError

    for scenario in (inner, lambda choices: 1 / 0):
        with pytest.raises(ValueError, match="scenario must be a function at the top of a module, got "):
            failure_of(scenario).to_pytest(tmp_path / "test_inner.py")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_can_be_pickled():
    failure = failure_of(overdrawn, seed=1)
    copy = pickle.loads(pickle.dumps(failure))
    assert (str(copy), copy.story, copy.token, copy.run) == (str(failure), failure.story, failure.token, failure.run)


def test_a_function_with_other_arguments_is_refused_before_a_run():
    def test_it(resonate_choices, resonate_store): ...

    async def no_world(): ...

    with pytest.raises(
        TypeError, match=r"one argument, the choices, got .*test_it\(resonate_choices, resonate_store\): pytest runs"
    ):
        explore(test_it)
    with pytest.raises(TypeError, match=r"one argument, the world, got .*no_world\(\)$"):
        explore(no_world)


# -- searches


# -- arguments


@pytest.mark.parametrize(
    "options, text",
    [
        ({"runs": 0}, "runs must be an integer of at least 1, got 0"),
        ({"runs": True}, "runs must be an integer of at least 1, got True"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"limit": 0}, "limit must be an integer of at least 1, got 0"),
        ({"shrink": -1}, "shrink must be an integer of at least 0, got -1"),
        ({"in_flight": 0}, "in_flight must be at least 1, got 0"),
        ({"stop": "last"}, "stop must be 'first', 'never' or a number of failing runs of at least 1, got 'last'"),
        ({"stop": 0}, "stop must be 'first', 'never' or a number of failing runs of at least 1, got 0"),
        (
            {"search": "dfs"},
            "search must be one of 'random', 'priorities', 'crash_everywhere' or an object with `draws`, got 'dfs'",
        ),
        ({"replay": "abc"}, "replay: token must begin with rct_, got 'abc'"),
    ],
)
def test_a_wrong_argument_is_refused(options, text: str):
    with pytest.raises(ValueError) as refused:
        explore(passes, **options)
    assert str(refused.value) == text


def test_a_scenario_is_a_function():
    with pytest.raises(TypeError, match="scenario must be a function of the choices or of the world, got 3"):
        explore(3)  # type: ignore[arg-type]


def test_progress_is_called_with_the_report():
    shown: list[int] = []

    def show(report: Report) -> None:
        shown.append(report.runs)

    explore(passes, runs=500, progress=show)
    assert shown == sorted(shown)
    assert shown[-1] == 500


def test_a_bar_is_shown_on_standard_error(capsys: pytest.CaptureFixture[str]):
    explore(passes, runs=200, progress=True)
    explore(passes, runs=200, progress=False)
    assert capsys.readouterr().out == ""
