"""Runs the conformance tests on every end: each storage, the app over HTTP, the reference model, some of them also a real server.

The tier decides which ends (tests/tiers.py). A cell of a table judges the machine, so the fast tier runs it in memory; the modules of
STORING, which write and search every table, judge a storage and run on SQLite too; those of OVER_A_SOCKET judge a server and run over a
socket too. CI adds all storages and the app, and runs POOLED on PostgreSQL behind a pooler. `scripts/test --full` runs all tests on all
ends. These run there alone: those about the shape of requests in durable stores, seven of eight cells of TABLES in durable stores and
through the app, four of five cells of each other test through the app and on PostgreSQL (one of two if it judges the storage), two of
three behind a pooler, and three of four of LARGE on the model.

The reference model (`resonate_core.conformance.reference`) is one of the ends. A test of something that the model does not have has a
marker, and does not run on it: `@pytest.mark.not_of_the_model("it has no typed calls")`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tiers
from backends import BACK_ENDS, PGBOUNCER, BackEnd, require
from conformance.model_store import MODEL
from resonate_core.errors import ResonateError

OVER_A_SOCKET = ("test_s3_shape", "test_s8_fine_print", "test_debug_operations", "test_versions_of_both_dialects")
"""The modules that also run against a real server: envelopes of every shape, and PROTOCOL 8."""

NOT_OVER_HTTP = ("test_s6_invariants", "test_s6_steps")
"""These modules corrupt the state on purpose and expect an exception, which an HTTP client never sees."""

OF_SHAPE = ("test_s3_shape", "test_job_shape", "test_s2_dialects", "test_s2_1_rule_sets")
"""These modules are about what is judged before a storage is asked."""

STORING = (
    *(
        "test_s3_promises",
        "test_s3_searches",
        "test_s3_suspend_and_preload",
        "test_s4_schedules",
        "test_s4_steps",
        "test_s5_messages",
    ),
    *("test_job_groups", "test_job_queues", "test_job_storage", "test_job_work"),
)
"""The ten modules that together write and search every table: the fast tier runs them on SQLite."""

POOLED = ("test_s3_promises", "test_s4_steps", "test_job_storage", "test_job_work")
"""Those that CI runs behind a pooler, which gives each transaction to any of its connections."""

TABLES = ("test_s7_traps", "test_task_transitions_2025_01_15", "test_transitions_2026_04_01", "test_job_transitions")
"""Each state against each event, about 10,000 cells."""

OF_A_STORAGE = ("test_claims_among_many",)
"""Tests of so many rows that the app adds seconds and nothing else: CI does not run them through it."""

OF_THE_MACHINE = ("test_many_joins", "test_when_a_group_is_ready", "test_no_window_holds_more_than_the_rate")
"""Tests of STORING that compute with instants: their cells write the same rows."""

LARGE = (
    "test_a_thousand_a_request",
    "test_a_thousand_are_most",
    "test_ten_thousand_are_most",
    "test_a_thousand_leave_at_once",
    "test_no_window_holds_more_than_the_rate",
    "test_s4_a_tick_goes_on_to_the_last_step",
)
"""Tests with many rows, each of which the model reads for each request: CI runs them on the model, the fast tier does not."""


def _behind_http(name: str) -> BackEnd:
    try:
        from server.http_store import OVER_HTTP
    except ImportError as error:
        return BackEnd(name, lambda: None, missing=f"{error} (extra `server`)")
    return BackEnd(name, OVER_HTTP[name])


def _tier(end: BackEnd, module: str, test: str) -> str:
    """The tier in which a test of a module runs on an end."""
    name = end.name
    if name in ("memory", "reference", "socket"):
        return tiers.ALL if end is MODEL and test in LARGE else tiers.FAST
    if name == "pgbouncer":
        return tiers.ALL if module in POOLED else tiers.FULL
    if name == "sqlite" and module in STORING:
        return tiers.FAST
    if name == "http" and test in OF_A_STORAGE:
        return tiers.FULL
    return tiers.FULL if module in OF_SHAPE and name != "http" else tiers.ALL


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs each test with every storage, and over HTTP, as far as the tier of the run has them."""
    if "back_end" not in metafunc.fixturenames:
        return
    chosen = list(BACK_ENDS)
    module = metafunc.module.__name__.rpartition(".")[2]
    if module not in NOT_OVER_HTTP:
        chosen.append(_behind_http("http"))
        if module in OVER_A_SOCKET:
            chosen.append(_behind_http("socket"))
    chosen.append(PGBOUNCER)
    if _is_of_the_model(metafunc.definition):
        chosen.append(MODEL)
    ends = []
    for end in chosen:
        tier = _tier(end, module, metafunc.function.__name__)
        if tiers.runs(tier):
            ends.append(pytest.param(end, id=end.name, marks=[] if tier == tiers.FAST else getattr(pytest.mark, tier)))
    metafunc.parametrize("back_end", ends, indirect=True)


def _is_of_the_model(test: pytest.Item) -> bool:
    """Whether the reference model has what a test is about; a marker that says that it does not has to give the reason."""
    mark = test.get_closest_marker("not_of_the_model")
    if mark is not None and not (mark.args and isinstance(mark.args[0], str) and mark.args[0]):
        raise pytest.UsageError(f"{test.nodeid}: not_of_the_model must have a reason, got {mark.args}")
    return mark is None


def _share(item: pytest.Function, end: str) -> tuple[tuple[str, ...], int]:
    """The tests of which CI runs the first of each so many on an end, by a key that they have in common."""
    module = item.path.stem
    if end == "reference":
        return (module, item.originalname, end), 4 if item.originalname in LARGE else 1
    if end == "pgbouncer":
        return (module, item.originalname, end), 3
    if module in TABLES:
        return (module, end), 1 if end not in ("sqlite", "postgres", "http") else 8
    judges_the_storage = module in STORING and item.originalname not in OF_THE_MACHINE
    if judges_the_storage:
        return (module, item.originalname, end), {"http": 5, "postgres": 2}.get(end, 1)
    return (module, item.originalname, end), 5 if end in ("http", "postgres") else 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves most cells of the tests that judge the machine, which run in memory, to `scripts/test --full` on other ends.

    Each test runs on each end: the first cell does, so that every kind of request and step reaches every storage.
    """
    turns: Counter[tuple[str, ...]] = Counter()
    for item in items:
        end = item.callspec.params.get("back_end") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None
        if isinstance(item, pytest.Function) and isinstance(end, BackEnd):
            key, number = _share(item, end.name)
            if turns[key] % number:
                item.add_marker(pytest.mark.full)
            turns[key] += 1


@pytest.fixture
def back_end(request: pytest.FixtureRequest) -> BackEnd:
    """A storage, or a way to reach one; if it is missing, the test is skipped, or fails if every storage is required."""
    chosen: BackEnd = request.param
    require(chosen)
    return chosen


@pytest.fixture
def clock_type(back_end: BackEnd) -> type[Any]:
    """The manual clock's class."""
    return back_end.clock_type


@pytest.fixture
def refused() -> type[Exception]:
    """Returns the error that the store raises when it refuses a request that has no reply."""
    return ResonateError
