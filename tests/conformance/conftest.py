"""The cases of the protocol run over HTTP too: all of them through the app, some of them through a real server."""

from __future__ import annotations

import os

import pytest

from backends import BACK_ENDS, SUBJECT, BackEnd

OVER_A_SOCKET = ("test_s3_shape", "test_s8_fine_print", "test_debug_operations", "test_versions_of_both_dialects")
"""What a real server is tried with: the envelopes of every shape, and what stands in the fine print."""

NOT_OVER_HTTP = ("test_s6_invariants", "test_s6_steps")
"""They break states on purpose and look for the exception, which a client never sees."""


def _behind_http(name: str) -> BackEnd:
    try:
        from server.http_store import OVER_HTTP
    except ImportError as error:
        return BackEnd(name, lambda: None, missing=f"{error} (extra `server`)")
    return BackEnd(name, OVER_HTTP[name])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives each test the storages, and the doors in front of one."""
    if "back_end" not in metafunc.fixturenames:
        return
    chosen = list(BACK_ENDS)
    module = metafunc.module.__name__.rpartition(".")[2]
    if SUBJECT == "store" and module not in NOT_OVER_HTTP:
        chosen.append(_behind_http("http"))
        if module in OVER_A_SOCKET:
            chosen.append(_behind_http("socket"))
    metafunc.parametrize("back_end", chosen, ids=lambda b: b.name, indirect=True)


@pytest.fixture
def back_end(request: pytest.FixtureRequest) -> BackEnd:
    """Each in turn; a missing one is a visible skip, or a failure where all are required."""
    chosen: BackEnd = request.param
    if chosen.missing is not None:
        (pytest.fail if os.environ.get("RESONATE_REQUIRE_BACK_ENDS") else pytest.skip)(f"{chosen.name}: {chosen.missing}")
    return chosen
