"""The pytest plugin, in pytest runs of its own."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from backends import POSTGRES, require

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
Run = Callable[..., pytest.RunResult]


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
