"""Explored tests of the pytest plugin, in pytest runs of their own."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from resonate_core import testing

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

#: Two workers may claim before either completes: a lease that is shorter than the work is paid twice.
RACE = """
def charge_twice(resonate_choices, resonate_store, charged):
    clock, jobs = resonate_store.clock, resonate_store.jobs
    jobs.enqueue("charge", id="order-1", max_retries=3, retry_policy={"kind": "fixed", "intervals": [0]})
    for worker in ("ann", "bob"):
        for job in jobs.claim("default", worker=worker, lease=1000, start=1):
            charged.append(worker)
            clock.advance(resonate_choices.integer(0, 1500, "delay"))
            try:
                jobs.complete(job.id, job.version)
            except rc.Conflict:
                resonate_choices.note(f"{worker} is too late")
    assert len(charged) <= 1, "charged twice"

@pytest.mark.resonate_explore(runs=300)
def test_race(resonate_choices, resonate_store):
    charge_twice(resonate_choices, resonate_store, [])
"""


def test_an_explored_test_finds_a_race_and_shows_the_shortest_story(run: Run) -> None:
    result = run(RACE, "--resonate-pictures=shown")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "the lease of job order-1 expires" in text
    assert "charged twice" in text
    token = re.search(r"--resonate-replay=(rct_\S+)", text)
    assert token is not None
    result.stdout.fnmatch_lines(["seed 0, run *", "timeline: *test_race.svg", "trace: *test_race.jsonl"])
    again = run(
        RACE + "def test_other(resonate_explore): resonate_explore(lambda choices: None)\n", f"--resonate-replay={token[1]}"
    )
    again.assert_outcomes(failed=1, skipped=1)
    assert "replayed" in again.stdout.str()
    mended = RACE.replace("lease=1000", "lease=5000")
    run(mended, f"--resonate-replay={token[1]}").assert_outcomes(passed=1)


def test_an_explored_coroutine_is_a_simulation(run: Run) -> None:
    pytest.importorskip("resonate_core.testing.simulation")
    text = """
from resonate_core.worker import Worker

@pytest.mark.resonate_explore(runs=200)
async def test_charged_once(resonate_world):
    charges = []

    def make_worker(store):
        worker = Worker(store, lease=10_000)
        worker.task("charge")(charges.append)
        return worker

    resonate_world.worker("a", make_worker)
    resonate_world.worker("b", make_worker)
    resonate_world.faults(crash=0.1)
    resonate_world.always("charged once", lambda: len(charges) <= 1)
    resonate_world.store.jobs.enqueue("charge", "order-1", id="order-1")
    await resonate_world.settled("order-1", within="10 days")
"""
    result = run(text, "--resonate-pictures=shown")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*always 'charged once': it does not hold*", "timeline: *test_charged_once.svg"])


def test_equal_seeds_find_the_same_run_and_the_options_win(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*options: str) -> str:
        match = re.search(r"found   run (\d+ of seed \d+)", run(RACE, *options).stdout.str())
        return match[1] if match else "none"

    assert found("--resonate-seed=7") == found("--resonate-seed=7")
    assert found("--resonate-seed=7").endswith("of seed 7")
    assert found("--resonate-runs=1", "--resonate-seed=3") in ("none", "0 of seed 3")
    monkeypatch.setenv("RESONATE_SEED", "9")
    assert found().endswith("of seed 9")


def test_the_fixture_explores_a_function(run: Run) -> None:
    text = """
def dice(choices):
    assert choices.integer(1, 6, "die") < 6

def test_dice(resonate_explore):
    with pytest.raises(Failure) as raised:
        resonate_explore(dice)
    assert raised.value.seed == 5

def test_sound(resonate_explore):
    assert resonate_explore(lambda choices: None, runs=7).runs == 7
"""
    run(text, "--resonate-seed=5").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "text, said",
    [
        (
            "@pytest.fixture\ndef bank(resonate_store): return []\n"
            "@pytest.mark.resonate_explore\ndef test_it(resonate_choices, bank): pass",
            "fixture 'bank' of test_it.py::test_it must not use resonate_store: each run has another one",
        ),
        (
            "@pytest.mark.resonate_explore\nasync def test_it(resonate_store): pass",
            "test_it.py::test_it must take resonate_world alone, since it is a coroutine, got resonate_store",
        ),
        (
            "@pytest.mark.resonate_explore\ndef test_it(resonate_store): pass",
            "must take resonate_choices, since it is explored: all of its runs would be the same",
        ),
        (
            "@pytest.mark.resonate_explore(5)\ndef test_it(resonate_choices): pass",
            "resonate_explore of test_it.py::test_it must have named arguments, got (5,)",
        ),
        (
            "@pytest.mark.resonate_explore(runs=0)\ndef test_it(resonate_choices): pass",
            "runs must be an integer of at least 1, got 0",
        ),
    ],
)
def test_a_wrong_explored_test_is_refused(run: Run, text: str, said: str) -> None:
    result = run(text)
    result.assert_outcomes(failed=1)
    assert said in result.stdout.str()


def test_a_failed_explored_test_is_written_as_a_test_that_replays_it(run: Run, pytester: pytest.Pytester) -> None:
    fixed = """
import random

LIMIT = 2

@pytest.fixture
def limit():
    return LIMIT

@pytest.mark.parametrize("start", [0])
@pytest.mark.resonate_explore(runs=300)
def test_sum(resonate_choices, limit, start):
    rolls = [resonate_choices.integer(0, 2, "die") for _ in range(3)]
    resonate_choices.note(f"rolled {rolls}")
    assert start + sum(rolls) < limit * 3

@pytest.mark.resonate_explore(runs=300)
async def test_time(resonate_world):
    await resonate_world.sleep(random.randint(0, 2))
    assert resonate_world.now < LIMIT
"""
    result = run(fixed, "--resonate-write-regressions=tests/again")
    result.assert_outcomes(failed=2)
    assert "RESONATE_REPLAY" not in result.stdout.str(), "one way to replay is enough"
    assert "traceback entries are hidden" not in result.stdout.str().lower()
    files = sorted((pytester.path / "tests" / "again").iterdir())
    assert [re.sub("[0-9a-f]{8}", "N", each.name) for each in files] == ["test_sum_N.py", "test_time_N.py"]
    result.stdout.fnmatch_lines([f"regression test: tests/again/{each.name}" for each in files])
    assert "rolled [2, 2, 2]" in files[0].read_text() and "import limit, test_sum" in files[0].read_text()

    def again() -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", "pythonpath=.", "tests/again")

    again().assert_outcomes(failed=2)
    run(fixed.replace("LIMIT = 2", "LIMIT = 3"))
    again().assert_outcomes(passed=2)


def test_replay_of_takes_explored_tests_only() -> None:
    with pytest.raises(TypeError, match="test must be a function with the marker resonate_explore, got <function"):
        testing.replay_of(lambda resonate_choices: None, "rct_1")


def test_a_wrong_token_is_refused(run: Run) -> None:
    result = run(RACE, "--resonate-replay=xyz")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--resonate-replay: token must begin with rct_, got 'xyz'" in result.stderr.str()
