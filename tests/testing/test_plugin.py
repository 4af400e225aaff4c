"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.pyplot  # noqa: F401 - a run in this process would import it and forget it, and it cannot be loaded twice
import pytest

from backends import POSTGRES, require
from resonate_core import testing

pytest_plugins = ["pytester"]

# A run in this process forgets what it imports, so that a module would exist twice, with two classes of one name.
LOADED = [getattr(testing, name) for name in testing.__all__]

ROOT = Path(__file__).parents[2]
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest on a file with this text, with the plugin."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)

    def run(text: str, *arguments: str, ini: str = "") -> pytest.RunResult:
        pytester.makefile(".ini", pytest=f"[pytest]\naddopts = --strict-markers\n{ini}")
        pytester.makepyfile(test_it="import pytest\nimport resonate_core as rc\nfrom resonate_core.testing import *\n" + text)
        return pytester.runpytest_inprocess("-p", "resonate_core.testing.plugin", "-p", "no:cacheprovider", *arguments)

    return run


def passes(result: pytest.RunResult, count: int = 1) -> None:
    result.assert_outcomes(passed=count)


# -- names --------------------------------------------------------------------------------------------------------------


def test_both_names_are_one_plugin(run: Run) -> None:
    passes(run("def test_it(resonate_store): pass", "-p", "resonate_core_pytest"))
    passes(run("def test_it(resonate_store): pass", "-p", "no:xdist"))


def test_the_markers_and_options_are_listed(run: Run) -> None:
    assert "resonate_explore(runs=None" in run("", "--markers").stdout.str()
    for option in ("--resonate-seed", "--resonate-runs", "--resonate-replay"):
        assert option in run("", "--help").stdout.str()


# -- fixtures -------------------------------------------------------------------------------------------------------------


def test_a_store_on_a_manual_clock_is_checked_after_each_step(run: Run) -> None:
    passes(
        run(
            """
def test_first(resonate_store, resonate_clock):
    resonate_store.promises.create("a", timeout=1000)
    resonate_clock.advance(2000)
    assert_settled(resonate_store, "a")
    assert resonate_store.path is None

def test_second(resonate_store):
    assert resonate_store.now == 0 and resonate_store.promises.count() == 0

@pytest.mark.resonate_clock(start=5000)
@pytest.mark.resonate_store(rules="strict", retry_timeout=70)
def test_options(resonate_clock, resonate_store):
    assert (resonate_clock.now, resonate_store.rules, resonate_store.retry_timeout) == (5000, "strict", 70)

@pytest.mark.resonate_clock("system")
def test_real_time(resonate_clock, resonate_store):
    assert isinstance(resonate_clock, rc.SystemClock) and resonate_store.now > 1_700_000_000_000

@pytest.mark.resonate_store(record=False)
def test_records_itself(resonate_store, tmp_path):
    resonate_store.record(tmp_path / "trace").close()
"""
        ),
        5,
    )


def test_back_ends_by_marker_setting_option_and_parameter(run: Run) -> None:
    text = """
def test_by_setting(resonate_store, request):
    assert (resonate_store.path is None) == (request.node.callspec.params["resonate_store"] == "memory")

@pytest.mark.resonate_backends("sqlite")
def test_by_marker(resonate_store):
    assert resonate_store.path

@pytest.mark.parametrize("resonate_store", ["sqlite"], indirect=True)
def test_by_parameter(resonate_store, resonate_worker):
    assert resonate_store.path

def test_without():
    pass
"""
    result = run(text, "-v", ini="resonate_backends = memory sqlite")
    passes(result, 5)
    result.stdout.fnmatch_lines(
        ["resonate: seed 0, back ends memory sqlite", "*test_by_setting[[]memory]*", "*test_by_setting[[]sqlite]*"]
    )
    passes(run("def test_it(resonate_store): assert resonate_store.path", "--resonate-backends=sqlite"))


@pytest.mark.parametrize(
    "text, options, said",
    [
        ("", ["--resonate-backends=redis"], "--resonate-backends must name some of memory, sqlite, postgres, got redis"),
        ("", ["--resonate-seed=-1"], "resonate_seed must be an integer of at least 0, got -1"),
        ("", ["--resonate-runs=0"], "--resonate-runs must be at least 1, got 0"),
        (
            "@pytest.mark.resonate_backends('redis')\ndef test_it(resonate_store): pass",
            [],
            "resonate_backends of test_it.py::test_it must name some of memory, sqlite, postgres, got redis",
        ),
        (
            "@pytest.mark.resonate_clock(begin=5)\ndef test_it(resonate_store): pass",
            [],
            "resonate_clock of test_it.py::test_it must have start=... or 'system', got {'begin': 5}",
        ),
        (
            "@pytest.mark.resonate_store('strict')\ndef test_it(resonate_store): pass",
            [],
            "resonate_store of test_it.py::test_it must have named arguments, got ('strict',)",
        ),
        (
            "@pytest.mark.resonate_worker('shop:nothing')\ndef test_it(resonate_worker): pass",
            [],
            "resonate_worker must name a worker as module:name, got 'shop:nothing'",
        ),
        (
            "@pytest.mark.resonate_worker('os:path')\ndef test_it(resonate_worker): pass",
            [],
            "resonate_worker must name a Worker, got 'os:path'",
        ),
        (
            "def test_it(resonate_choices): pass",
            [],
            "resonate_choices must be used in a test that is marked with @pytest.mark.resonate_explore",
        ),
    ],
)
def test_a_wrong_option_is_named(run: Run, text: str, options: list[str], said: str) -> None:
    result = run(text, *options)
    assert result.ret != 0
    assert said in result.stdout.str() + result.stderr.str()


def test_postgres_is_skipped_without_a_url_and_emptied_with_one(run: Run, request: pytest.FixtureRequest) -> None:
    text = """
@pytest.mark.resonate_backends("postgres")
@pytest.mark.parametrize("time", [1, 2])
def test_it(resonate_store, time):
    assert "schema=" in resonate_store.url
    assert (resonate_store.now, resonate_store.promises.count(), resonate_store.queues.list()) == (0, 0, [])
    resonate_store.promises.create("a", timeout=1000)
    resonate_store.jobs.enqueue("t", queue="mail")
    resonate_store.clock.advance(50 * time)
"""
    skipped = run(text, "-rs")
    skipped.assert_outcomes(skipped=2)
    assert "storage postgres: no database is named" in skipped.stdout.str()
    require(POSTGRES)
    url = request.getfixturevalue("postgres_url")
    passes(run(text, f"--resonate-postgres={url}"), 2)


def test_a_new_worker_and_that_of_the_program(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        shop="from resonate_core.worker import Worker\n"
        "worker = Worker(queues='mail')\n"
        "@worker.task('greet', queue='mail')\n"
        "def greet(name): return f'hello, {name}'\n"
    )
    text = """
def test_program(resonate_store, resonate_worker):
    from shop import greet, worker
    assert resonate_worker is worker
    job = greet.enqueue("ann")
    assert resonate_worker.run_until_idle().outcomes == {"completed": 1}
    assert_settled(resonate_store, job.id, value="hello, ann")

def test_program_again(resonate_store, resonate_worker):
    assert_enqueued(resonate_store, "greet", count=0)

def test_unbound_after_the_test():
    from shop import worker
    with pytest.raises(rc.Invalid, match="has no store"):
        worker.client

@pytest.mark.resonate_worker(queues=["other"], concurrency=2)
def test_new(resonate_worker):
    from shop import worker
    assert resonate_worker is not worker
    assert repr(resonate_worker) == "<Worker 'test' of other>"
"""
    passes(run(text, "-p", "no:randomly", ini="resonate_worker = shop:worker\npythonpath = ."), 4)


def test_a_real_server(run: Run) -> None:
    text = """
def test_manual(resonate_server, resonate_store, resonate_clock):
    assert resonate_server.url.startswith("http://127.0.0.1:") and resonate_server.store is resonate_store
    with resonate_server.client() as client:
        client.promises.create("a", timeout=60_000)
        resonate_clock.advance(120_000)
        assert_settled(client, "a", state="rejected_timedout")

@pytest.mark.resonate_clock("system")
def test_real(resonate_server):
    with resonate_server.client() as client:
        client.promises.create("a", timeout=60_000)
        client.promises.resolve("a", 1)
        assert client.result("a") == 1

@pytest.mark.resonate_server(limits={"body_bytes": 2000})
def test_settings(resonate_server):
    with resonate_server.client() as client, pytest.raises(rc.ResonateError):
        client.promises.create("a", timeout=60_000, param="x" * 4000)
"""
    passes(run(text), 3)


def test_an_unsound_store_fails_its_test(run: Run) -> None:
    result = run(
        """
def test_it(resonate_store):
    resonate_store.promises.create("a", timeout=1000)
    snapshot = resonate_store.snapshot()
    snapshot["promises"][0]["state"] = "resolved"
    resonate_store.restore(snapshot, check=False)
"""
    )
    result.assert_outcomes(passed=1, errors=1)
    assert "the store must be sound, check() reports" in result.stdout.str()


# -- reports --------------------------------------------------------------------------------------------------------------

FAILING = """
def test_it(resonate_store, resonate_clock):
    resonate_store.jobs.enqueue("email", id="mail-1", process_in=5000)
    resonate_clock.advance(6000)
    resonate_store.jobs.claim("default", worker="ann", lease=1000)
    resonate_clock.advance(6000)
    assert_settled(resonate_store, "mail-1")
"""


def test_a_failed_test_shows_seed_story_and_timeline(run: Run, pytester: pytest.Pytester) -> None:
    result = run(FAILING, "--resonate-seed=42", "--resonate-pictures=shown", "--junitxml=report.xml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*- resonate -*",
            "seed 42; run it again with --resonate-seed=42",
            "story:",
            "*0  job.enqueue mail-1 (scheduled)",
            "*5000  job mail-1 becomes runnable",
            "*6000  job.claim mail-1 (claimed, version 1)",
            "*7000  the lease of job mail-1 expires",
            "timeline: *test_it.svg",
            "trace: *test_it.jsonl",
        ]
    )
    result.stdout.fnmatch_lines(["resonate: seed 42, back ends memory"])
    picture = pytester.path / "shown" / "test_it.py-test_it.svg"
    root = ElementTree.fromstring(picture.read_text())
    assert root.tag.endswith("svg")
    assert "mail-1" in picture.read_text()
    import resonate_core

    assert resonate_core.replay(pytester.path / "shown" / "test_it.py-test_it.jsonl").ok
    (case,) = ElementTree.parse(pytester.path / "report.xml").iter("testcase")
    properties = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert properties["resonate_seed"] == "42"
    assert properties["resonate_timeline"] == str(picture)


def test_a_failed_test_without_matplotlib_says_how_to_get_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "timeline: not drawn: matplotlib is not installed; install the extra" in run(FAILING).stdout.str()


def test_a_passing_test_and_one_without_a_store_show_nothing(run: Run) -> None:
    result = run("def test_it(): assert 0\ndef test_good(resonate_store): resonate_store.promises.create('a', timeout=5)")
    result.assert_outcomes(failed=1, passed=1)
    assert "- resonate -" not in result.stdout.str()


def test_the_default_folder_is_the_temporary_one(run: Run) -> None:
    found = re.search(r"trace: (.*)", run(FAILING).stdout.str())
    assert found is not None and Path(found[1]).is_file()
    assert Path(found[1]).parent.name == "resonate"


# -- explored tests -------------------------------------------------------------------------------------------------------

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
    passes(run(mended, f"--resonate-replay={token[1]}"))


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
    resonate_world.faults(crash=0.02)
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
    passes(run(text, "--resonate-seed=5"), 2)


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
