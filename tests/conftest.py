"""Fixtures of all tests: stores over every storage."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import open_sockets
import postgres_server
import tiers
from backends import BACK_ENDS, PGBOUNCER, POSTGRES, BackEnd, require, schemas_of_postgres
from homes import HOMES, Home
from property.session_summary import pytest_sessionfinish, pytest_terminal_summary, pytest_testnodedown
from resonate_core import replay

# A shell starts what it runs in the background with Ctrl-C ignored, and programs inherit that; those of the tests are to hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

open_sockets.watch()

__all__ = ["pytest_sessionfinish", "pytest_terminal_summary", "pytest_testnodedown"]


class FailuresAtOnce:
    """Prints each failure when it is known, not only at the end, which a run that is stopped does not reach."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)  # after the letter of the test
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line(f"\nFAILED {report.nodeid} ({report.when})\n{report.longreprtext}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """Offers one PostgreSQL server to all processes of the run, which the first test that needs it starts; stops it at the end.

    The process that starts the others also prints each failure at once.
    """
    if not hasattr(config, "workerinput"):
        offer = contextlib.ExitStack()
        offer.enter_context(postgres_server.offered())
        config.add_cleanup(offer.close)
        config.pluginmanager.register(FailuresAtOnce(config))
    else:
        gc.disable()  # until all tests are collected, which makes no garbage worth a quarter of that time


def pytest_collection_finish() -> None:
    """Excludes the collected tests from garbage collections, which would take half a second in each `gc.collect()` of a test."""
    gc.freeze()
    gc.enable()


def pytest_report_header() -> list[str]:
    """Prints which storages are tested, and which are missing."""
    used = ", ".join(b.name for b in BACK_ENDS if b.missing is None)
    lines = [f"resonate storages: {used}"]
    return lines + [f"resonate storage MISSING: {b.name} ({b.missing})" for b in [*BACK_ENDS, PGBOUNCER] if b.missing is not None]


@pytest.fixture(params=BACK_ENDS, ids=lambda b: b.name)
def back_end(request: pytest.FixtureRequest) -> BackEnd:
    """Each storage in turn. A missing one is a visible skip, or a failure if all are required."""
    chosen: BackEnd = request.param
    require(chosen)
    return chosen


@pytest.fixture(params=["sqlite", "postgres", pytest.param("pgbouncer", marks=pytest.mark.full)])
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    """Places for durable stores, in each durable storage in turn; the test closes the stores that it opens there.

    To run in CI behind a pooler too, a test takes all homes: `parametrize("home", HOMES, indirect=True)`.
    """
    import resonate_core

    for needed in (POSTGRES, PGBOUNCER):
        if request.param == needed.name:
            require(needed)
    made = HOMES[request.param](resonate_core)
    yield made
    made.end()


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The URL of a store on the shared PostgreSQL server, which no store has opened yet."""
    require(POSTGRES)
    schemas = schemas_of_postgres()
    schema = schemas.take()
    yield schemas.url(schema)
    schemas.give_back(schema)


@pytest.fixture
def unused_postgres_url() -> str:
    """The same, of tables that no other test has used: a statement would read the rows that another test has deleted, too."""
    require(POSTGRES)
    schemas = schemas_of_postgres()
    return str(schemas.url(schemas.unused()))


OF_SCHEDULES_SET_ASIDE = ("schedule_set_aside", "schedule_cron_invalid", "schedule_template_invalid")
"""What `Store.check` reports of a schedule that cannot be fired, which no single step does."""


TRACES = os.environ.get("RESONATE_TRACES")
"""A folder. The conformance tests record their stores in memory there, and the C++ tests replay the traces under the sanitizers."""


NOT_RECORDED = ("test_a_trace_runs_again",)  # it records its store itself


def _record(store: Any, request: pytest.FixtureRequest, number: int) -> tuple[Path, Any]:
    name = hashlib.sha256(f"{request.node.nodeid} {number}".encode()).hexdigest()[:20]
    file = Path(TRACES or "") / f"{name}.jsonl"
    return file, store.record(file)


@pytest.fixture
def make_store(back_end: BackEnd, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """A factory of empty stores: `make_store(**options)`.

    Unless told otherwise a store has a manual clock at 0, and each test is also a test of PROTOCOL 6: the store checks the
    invariants after each request and step, or, if it is durable, as production runs it, after the test.
    """
    made = []
    to_check = []
    recordings = []
    name = request.node.originalname
    recorded = TRACES and back_end.name == "memory" and "conformance" in request.node.nodeid and name not in NOT_RECORDED

    def make(**options: Any) -> Any:
        options.setdefault("clock", back_end.clock_type(0))
        check_later = "check" not in options and not back_end.check_each_step
        options.setdefault("check", back_end.check_each_step)
        made.append(back_end.open(**options))
        if check_later:
            to_check.append(made[-1])
        if recorded and options["check"]:
            recordings.append(_record(made[-1], request, len(made)))
        return made[-1]

    yield make
    try:
        for store in to_check:
            assert store.closed or [one for one in store.check() if one.name not in OF_SCHEDULES_SET_ASIDE] == []
        for file, recording in recordings:
            recording.close()
            assert (again := replay(file)).ok, f"its recording does not replay the same: {again}"
    finally:
        for store in made:
            close = getattr(store, "close", None)
            if close is not None:
                close()


@pytest.fixture(autouse=True)
def root_logger_as_before() -> Iterator[None]:
    """A program that sets up logging in this process leaves nothing behind: its stream is that of its test, and closed afterwards."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    for handler in [one for one in root.handlers if type(one) is logging.StreamHandler and one not in before]:
        root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
def store(make_store: Callable[..., Any]) -> Any:
    """An empty store with the default options."""
    return make_store()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out the modules of tiers that this run does not have, without importing them."""
    return True if tiers.ignored(collection_path) else None


@pytest.hookimpl(trylast=True)  # after the markers of tests/conformance/conftest.py
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects tests of other tiers; in a run of several processes, the longest tests come first."""
    kept, out = tiers.split(items)
    if out:
        config.hook.pytest_deselected(items=out)
    items[:] = tiers.longest_first(kept) if hasattr(config, "workerinput") else kept
