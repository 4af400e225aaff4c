"""The SDKs for Go and Rust on our server: the end-to-end tests that they publish, unmodified, and their examples, with the URL changed.

`scripts/test --full` runs them. An SDK that cannot be had, because there is no compiler or the registry does not serve it, is skipped, with
the reason: the table at the end shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import backends
import homes
import resonate_core as rc
from integration.clients import own_tests
from integration.clients.own_tests import GO_EXAMPLES, GO_TESTS, RUST_TESTS, Missing
from integration.clients.server_process import ServerProcess

pytestmark = pytest.mark.full


def needed(name: str, get: Callable[[], Path]) -> Path:
    """Returns what a test needs, or skips it."""
    try:
        return own_tests.once(name, get)
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def rust() -> Path:
    return needed("rust", own_tests.rust_tests)


@pytest.fixture
def go() -> Path:
    return needed("go", own_tests.go_workspace)


@pytest.fixture(params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    """A server with default settings, whose store is consistent at the end."""
    home = None
    place: Path | str = tmp_path / "server.db"
    if request.param == "postgres":
        backends.require(next(one for one in backends.BACK_ENDS if one.name == "postgres"))
        home = homes.HOMES["postgres"](rc)
        place = home.new_place()
    started = ServerProcess(tmp_path / "server.log", place).start()
    try:
        yield started
    finally:
        started.stop()
        with rc.Store(place) as store:
            broken = store.check()
        if home is not None:
            home.end()
    assert not broken, broken


def test_rust(rust: Path, server: ServerProcess, record_property: Callable[[str, object], None]) -> None:
    """Every test of the crate passes."""
    results = own_tests.rust_results(rust, server.url)
    record_property("own tests", f"{len(results)} tests")
    assert set(results.values()) == {"ok"}, results
    assert len(results) == RUST_TESTS


def test_go(go: Path, server: ServerProcess, record_property: Callable[[str, object], None]) -> None:
    """Every end-to-end test of the module passes."""
    results = own_tests.go_results(go, server.url)
    record_property("own tests", f"{len(results)} tests")
    assert set(results.values()) == {"PASS"}, results
    assert len(results) == GO_TESTS


#: The last line of each example with some arguments, as far as it is the same in each run.
PRINTED = {
    ("readme",): "hello, world!",
    ("hello",): "hello, world!",
    ("fibonacci", "-mode", "run", "-n", "7"): "fib(7) = 13  [mode=run]",
    ("fibonacci", "-mode", "rpc", "-n", "6"): "fib(6) = 8  [mode=rpc]",
    ("fibonacci", "-mode", "mix", "-n", "6"): "fib(6) = 8  [mode=mix]",
    ("pipeline",): "[runPipeline] OK: ",
    ("saga",): "[bookTrip] OK: flight=",
    ("saga", "-fail", "hotel"): "[bookTrip] FAILED: ",
    ("saga", "-fail", "charge"): "[bookTrip] FAILED: ",
}


def test_every_example_is_run() -> None:
    assert {name for name, *_ in PRINTED} == {*GO_EXAMPLES, "readme"}


@pytest.mark.parametrize("server", ["sqlite"], indirect=True)
@pytest.mark.parametrize("program", PRINTED, ids=" ".join)
def test_an_example_of_go(go: Path, server: ServerProcess, program: tuple[str, ...]) -> None:
    """It prints what it prints with the SDK's own server."""
    lines = own_tests.go_output(go, program[0], server.url, *program[1:])
    assert lines[-1].startswith(PRINTED[program]), lines
