"""Runs the conformance tests over HTTP too: almost all of them through the app, some of them also through a real server.

On PostgreSQL behind a pooler CI runs some of them, and `scripts/test --full` all.
"""

from __future__ import annotations

import pytest

from backends import BACK_ENDS, PGBOUNCER, SUBJECT, BackEnd, require

OVER_A_SOCKET = ("test_s3_shape", "test_s8_fine_print", "test_debug_operations", "test_versions_of_both_dialects")
"""The modules that also run against a real server: envelopes of every shape, and PROTOCOL 8."""

NOT_OVER_HTTP = ("test_s6_invariants", "test_s6_steps")
"""These modules corrupt the state on purpose and expect an exception, which an HTTP client never sees."""


BEHIND_A_POOLER = (
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
"""The modules that CI also runs on PostgreSQL behind a pooler: together they write and search every table."""


def _behind_http(name: str) -> BackEnd:
    try:
        from server.http_store import OVER_HTTP
    except ImportError as error:
        return BackEnd(name, lambda: None, missing=f"{error} (extra `server`)")
    return BackEnd(name, OVER_HTTP[name])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs each test with every storage, and over HTTP."""
    if "back_end" not in metafunc.fixturenames:
        return
    chosen = list(BACK_ENDS)
    module = metafunc.module.__name__.rpartition(".")[2]
    if SUBJECT == "store" and module not in NOT_OVER_HTTP:
        chosen.append(_behind_http("http"))
        if module in OVER_A_SOCKET:
            chosen.append(_behind_http("socket"))
    ends = [pytest.param(end, id=end.name) for end in chosen]
    if SUBJECT == "store":
        ends.append(pytest.param(PGBOUNCER, id=PGBOUNCER.name, marks=[] if module in BEHIND_A_POOLER else pytest.mark.full))
    metafunc.parametrize("back_end", ends, indirect=True)


@pytest.fixture
def back_end(request: pytest.FixtureRequest) -> BackEnd:
    """A storage, or a way to reach one; if it is missing, the test is skipped, or fails if every storage is required."""
    chosen: BackEnd = request.param
    require(chosen)
    return chosen
