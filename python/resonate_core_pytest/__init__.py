"""The pytest plugin of resonate_core: options, markers, fixtures, and what a failed test shows (docs/testing.md).

It is outside of the package `resonate_core`, whose import loads the engine: a run of pytest that uses none of the fixtures imports only
this file. It takes everything else from `resonate_core.testing` when a test first needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from resonate_core import Clock, Store
    from resonate_core.testing.pytest_explore import Explorer
    from resonate_core.testing.pytest_fixtures import Fixtures
    from resonate_core.testing.servers import LiveServer
    from resonate_core.worker import Worker

if "resonate_core.testing.assertions" not in sys.modules:  # an imported module cannot be rewritten
    pytest.register_assert_rewrite("resonate_core.testing.assertions")

#: The markers, as `pytest --markers` shows them.
MARKERS = (
    "resonate_backends(*names): run the test once on each of these storages: memory, sqlite, postgres",
    "resonate_clock(start=0) or resonate_clock('system'): the first instant of the manual clock, or the system's clock",
    "resonate_store(record=True, **options): options of the fixture's Store; record=False: the test records the store itself",
    "resonate_worker(place=None, **options): the worker of the program ('module:name'), or options of a new Worker",
    "resonate_server(**tables): tables of settings of the server, as of resonate_core.asgi.create_app",
    "resonate_explore(runs=None, **options): search for choices that fail the test; options of resonate_core.testing.explore",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the settings of the ini file."""
    group = parser.getgroup("resonate", "resonate_core: simulated time, search for races")
    group.addoption("--resonate-seed", type=int, metavar="N", help="seed of explored tests (default: RESONATE_SEED, else 0)")
    group.addoption("--resonate-runs", type=int, metavar="N", help="runs of each explored test (default: what the test says)")
    group.addoption("--resonate-replay", metavar="TOKEN", help="only the run of this token; tests of other scenarios are skipped")
    group.addoption("--resonate-write-regressions", metavar="DIR", help="write a test that replays each failed explored test")
    group.addoption("--resonate-backends", metavar="NAMES", help="storages of tests without a marker, such as memory,sqlite")
    group.addoption("--resonate-postgres", metavar="URL", help="a database for the storage postgres; its schema is emptied")
    group.addoption("--resonate-pictures", metavar="DIR", help="folder for timelines and traces of failed tests")
    parser.addini("resonate_seed", "seed of explored tests", default="0")
    parser.addini("resonate_backends", "storages of tests without a marker", type="args", default=["memory"])
    parser.addini("resonate_postgres", "a database for the storage postgres; its schema is emptied", default="")
    parser.addini("resonate_pictures", "folder for timelines and traces of failed tests", default="")
    parser.addini("resonate_worker", "the worker of the program, as module:name", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and check the options."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    seed_of(config)
    runs = config.getoption("resonate_runs")
    if runs is not None and runs < 1:
        raise pytest.UsageError(f"--resonate-runs must be at least 1, got {runs}")
    check_backends("--resonate-backends", default_backends(config))
    _check_token(config.getoption("resonate_replay"))


def _check_token(token: str | None) -> None:
    if token is None:
        return
    from resonate_core.testing.tokens import decode

    try:
        decode(token)
    except ValueError as error:
        raise pytest.UsageError(f"--resonate-replay: {error}") from error


def pytest_report_header(config: pytest.Config) -> str:
    """Show the seed and the storages."""
    line = f"resonate: seed {seed_of(config)}, back ends {' '.join(default_backends(config))}"
    replay = config.getoption("resonate_replay")
    return line if replay is None else f"{line}, replay of {replay}"


BACK_ENDS = ("memory", "sqlite", "postgres")
"""The storages on which a test may run."""


def seed_of(config: pytest.Config) -> int:
    """Return the seed of this run.

    Raises:
        UsageError: It is no integer of at least 0.
    """
    given = config.getoption("resonate_seed")
    text = (os.environ.get("RESONATE_SEED") or config.getini("resonate_seed")) if given is None else given
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if seed < 0:
        raise pytest.UsageError(f"resonate_seed must be an integer of at least 0, got {text!r}")
    return seed


def default_backends(config: pytest.Config) -> list[str]:
    """Return the storages of tests without a marker."""
    given = config.getoption("resonate_backends")
    names = config.getini("resonate_backends") if given is None else given.replace(",", " ").split()
    return list(dict.fromkeys(names))


def check_backends(where: str, names: list[str]) -> None:
    """Refuse names of storages that do not exist.

    Raises:
        UsageError: One of them does not exist, or there is none.
    """
    wrong = [name for name in names if name not in BACK_ENDS]
    if wrong or not names:
        raise pytest.UsageError(f"{where} must name some of {', '.join(BACK_ENDS)}, got {' '.join(map(str, wrong)) or 'none'}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once on each storage that its marker, the option or the ini file names."""
    if "resonate_store" not in metafunc.fixturenames:
        return
    for marker in metafunc.definition.iter_markers("parametrize"):  # the test has chosen itself
        names = marker.args[0] if marker.args else marker.kwargs.get("argnames", "")
        if "resonate_store" in (names.replace(",", " ").split() if isinstance(names, str) else names):
            return
    marked = metafunc.definition.get_closest_marker("resonate_backends")
    names = default_backends(metafunc.config) if marked is None else list(marked.args)
    if marked is not None:
        check_backends(f"resonate_backends of {metafunc.definition.nodeid}", names)
    if marked is not None or len(names) > 1:
        metafunc.parametrize("resonate_store", names, indirect=True)


# -- fixtures -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def resonate_seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run of pytest: ``--resonate-seed``, else the variable RESONATE_SEED, else the setting ``resonate_seed``, else 0."""
    return seed_of(request.config)


@pytest.fixture
def resonate_clock(request: pytest.FixtureRequest) -> Clock:
    """The clock of the test: a `ManualClock` at 0, or as the marker ``resonate_clock`` says.

    With ``resonate_server`` the manual clock begins at the present instant, since clients compute deadlines with the system's clock.
    """
    return _fixtures_of(request).clock


@pytest.fixture
def resonate_store(request: pytest.FixtureRequest, resonate_clock: Clock) -> Iterator[Store[Any]]:
    """An empty store on the clock of the test. In memory, unless the test runs on other storages.

    It checks the invariants: in memory after each step, elsewhere after the test.
    """
    fixtures = _fixtures_of(request, getattr(request, "param", None))
    yield fixtures.store
    fixtures.close()


@pytest.fixture
def resonate_worker(request: pytest.FixtureRequest, resonate_store: Store[Any]) -> Worker:
    """A worker on the store of the test: a new one, or that of the program (marker or setting ``resonate_worker``)."""
    return _fixtures_of(request).worker


@pytest.fixture
def resonate_server(request: pytest.FixtureRequest, resonate_store: Store[Any]) -> LiveServer:
    """A server of the store of the test, on a free port of 127.0.0.1: it has `url`, `store` and `client()`."""
    return _fixtures_of(request).server


def _fixtures_of(request: pytest.FixtureRequest, back_end: str | None = None) -> Fixtures:
    """Return the fixtures of a test, on the storage that it chooses, or on that of the settings."""
    from resonate_core.testing.pytest_fixtures import fixtures_of

    return fixtures_of(request.node, default_backends(request.config)[0], back_end)


@pytest.fixture
def resonate_explore(request: pytest.FixtureRequest) -> Explorer:
    """Search for choices that fail a scenario: `resonate_explore(scenario)`, with the seed, runs and token of the options."""
    from resonate_core.testing.pytest_explore import Explorer

    return Explorer(request.node, seed_of(request.config))


@pytest.fixture
def resonate_choices(request: pytest.FixtureRequest) -> Any:
    """The choices of one run of an explored test: a `resonate_core.testing.Choices`."""
    return _of_a_run(request)


@pytest.fixture
def resonate_world(request: pytest.FixtureRequest) -> Any:
    """The world of one run of an explored test, which is a coroutine: a `resonate_core.testing.simulation.World`."""
    return _of_a_run(request)


def _of_a_run(request: pytest.FixtureRequest) -> None:
    """Refuse a fixture of explored tests in another test; each run replaces the value."""
    if request.node.get_closest_marker("resonate_explore") is None:
        raise pytest.UsageError(f"{request.fixturename} must be used in a test that is marked with @pytest.mark.resonate_explore")


# -- runs and reports -----------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget the fixtures of an earlier attempt: plugins that repeat a failed test set up the same item again."""
    module = sys.modules.get("resonate_core.testing.pytest_fixtures")
    if module is not None:
        module.forget(item)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an explored test many times."""
    __tracebackhide__ = True
    if pyfuncitem.get_closest_marker("resonate_explore") is None:
        return None
    from resonate_core.testing.pytest_explore import run_explored

    run_explored(pyfuncitem, seed_of(pyfuncitem.config), default_backends(pyfuncitem.config)[0])
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the seed, the story and a timeline to the report of a failed test that used a store."""
    report = yield
    if report.failed and any(name.startswith("resonate_") for name in getattr(item, "fixturenames", ())):
        from resonate_core.testing.pytest_report import describe

        describe(item, report, call.excinfo, seed_of(item.config))
    return report
