"""What the fixtures give to one test: a clock, a store on it, a worker, a server."""

from __future__ import annotations

import io
import os
import pkgutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pytest

from .._core import Clock, ManualClock, Store, SystemClock
from .assertions import assert_sound

if TYPE_CHECKING:
    from ..worker import Worker
    from .servers import LiveServer

__all__ = ["FIXTURES", "FixtureOptions", "Fixtures", "fixtures_of", "forget", "options_of"]

DEFAULT_SCHEMA = "resonate_test"
"""The schema of PostgreSQL, if the URL names none; processes of pytest-xdist append their names."""


@dataclass(frozen=True)
class FixtureOptions:
    """How the fixtures of a test are made.

    Attributes:
        back_end: `memory`, `sqlite` or `postgres`.
        clock: The marker's arguments: `start`, or `system`.
        store: Options of `Store`.
        record: Whether the store is recorded, for the story and the timeline of a failed test.
        place: The worker of the program as ``module:name``; "" for a new one.
        worker: Options of `Worker`.
        server: Tables of settings of the server.
        postgres: The URL of the database.
        folder: Makes a folder for a file.
    """

    back_end: str = "memory"
    clock: Mapping[str, Any] = field(default_factory=dict)
    store: Mapping[str, Any] = field(default_factory=dict)
    record: bool = True
    place: str = ""
    worker: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    postgres: str = ""
    folder: Callable[[], Path] = Path


class Fixtures:
    """The clock, store, worker and server of one test, or of one run of an explored test; each is made at its first use.

    Args:
        options: How they are made.

    Example:
        >>> from resonate_core.testing.pytest_fixtures import Fixtures, FixtureOptions
        >>> fixtures = Fixtures(FixtureOptions(store={"rules": "strict"}))
        >>> fixtures.store.rules, fixtures.clock.now
        ('strict', 0)
        >>> fixtures.close()
    """

    def __init__(self, options: FixtureOptions) -> None:
        self.options = options
        self.trace = io.StringIO()
        self._closing = ExitStack()
        self._closed = False

    @cached_property
    def clock(self) -> Clock:
        """A manual clock, or the system's."""
        if "system" in self.options.clock:
            return SystemClock()
        return ManualClock(self.options.clock.get("start", 0))

    @cached_property
    def store(self) -> Store[Any]:
        """An empty store."""
        store = self._open({"clock": self.clock, **self.options.store})
        self._closing.callback(store.close)
        if self.options.record:
            store.record(self.trace)
        return store

    def _open(self, options: Mapping[str, Any]) -> Store[Any]:
        if self.options.back_end == "memory":
            return Store(**{"check": True, **options})
        if self.options.back_end == "sqlite":
            return Store(self.options.folder() / "store.db", **{"durability": "normal", **options})
        if not self.options.postgres:
            pytest.skip("storage postgres: no database is named: --resonate-postgres URL, or the setting resonate_postgres")
        url = own_schema(self.options.postgres)
        # Another test may have left rows, and a later instant, to which opening the store would move the clock of this test.
        with Store(url, clock=ManualClock()) as left, Store(clock=ManualClock()) as empty:
            left.restore(empty.snapshot())
        return Store(url, **options)

    @cached_property
    def worker(self) -> Worker:
        """A worker on the store."""
        from ..worker import Worker

        if not self.options.place:
            made = Worker(self.store, **{"name": "test", **self.options.worker})
            self._closing.callback(made.close)
            return made
        try:
            found = pkgutil.resolve_name(self.options.place)
        except (ImportError, AttributeError, ValueError) as error:
            raise pytest.UsageError(
                f"resonate_worker must name a worker as module:name, got {self.options.place!r}: {error}"
            ) from error
        if not isinstance(found, Worker):
            raise pytest.UsageError(f"resonate_worker must name a Worker, got {self.options.place!r}, which is {found!r}")
        before = found._bound
        found.bind(self.store)

        def bind_again() -> None:
            found.close()
            found._bound = before

        self._closing.callback(bind_again)
        return found

    @cached_property
    def server(self) -> LiveServer:
        """A server of the store."""
        from .servers import LiveServer

        server = LiveServer(self.store, **self.options.server)
        self._closing.callback(server.stop)
        return server

    def close(self) -> None:
        """Stop the server, check the store and close it. A second call has no effect.

        Raises:
            AssertionError: The store breaks an invariant.
        """
        if self._closed:
            return
        self._closed = True
        with self._closing:
            if "server" in vars(self):
                self.server.stop()
            if "store" in vars(self) and not self.store.closed:
                # A schedule that was set aside is no broken invariant: a test may want it.
                assert_sound(self.store, ignore={problem.name for problem in self.store.problems()})


def own_schema(url: str) -> str:
    """Return the URL with a schema for this process of pytest, so that parallel processes do not share one.

    Example:
        >>> from resonate_core.testing.pytest_fixtures import own_schema
        >>> own_schema("postgresql://localhost/test").rpartition("_test")[0]
        'postgresql://localhost/test?schema=resonate'
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    process = os.environ.get("PYTEST_XDIST_WORKER", "")
    query["schema"] = "_".join(filter(None, (query.get("schema", DEFAULT_SCHEMA), process)))
    return urlunsplit(parts._replace(query=urlencode(query)))


FIXTURES: pytest.StashKey[Fixtures] = pytest.StashKey()
"""Where an item has its fixtures."""


def fixtures_of(item: pytest.Item, default: str, back_end: str | None = None) -> Fixtures:
    """Return the fixtures of a test, which are made at the first call.

    Args:
        item: The test.
        default: The storage of tests that choose none.
        back_end: The storage that the test chooses.
    """
    if FIXTURES not in item.stash:
        item.stash[FIXTURES] = Fixtures(options_of(item, default))
    fixtures = item.stash[FIXTURES]
    if back_end is not None:
        fixtures.options = replace(fixtures.options, back_end=back_end)
    return fixtures


def forget(item: pytest.Item) -> None:
    """Close the fixtures of a test, if it has any: its next attempt gets new ones."""
    fixtures = item.stash.get(FIXTURES, None)
    if fixtures is not None:
        del item.stash[FIXTURES]
        fixtures.close()


def options_of(item: pytest.Item, back_end: str) -> FixtureOptions:
    """Read the options of a test from its markers and the settings.

    Args:
        item: The test.
        back_end: Its storage.

    Raises:
        UsageError: A marker has arguments that it does not take.
    """
    config = item.config
    clock, store, worker, server = (_marked(item, name) for name in ("clock", "store", "worker", "server"))
    _check_clock(item, clock)
    if not clock and "resonate_server" in getattr(item, "fixturenames", ()):
        clock = {"start": SystemClock().now}  # clients compute deadlines with the system's clock
    record = store.pop("record", True)
    place = worker.pop("place", "" if worker else config.getini("resonate_worker"))
    return FixtureOptions(
        back_end=back_end,
        clock=clock,
        store=store,
        record=record,
        place=place or "",
        worker=worker,
        server=server,
        postgres=config.getoption("resonate_postgres") or config.getini("resonate_postgres"),
        folder=lambda: _new_folder(config),
    )


def _new_folder(config: pytest.Config) -> Path:
    """Make an empty folder: in that of the run, or without it (``-p no:tmpdir``) one that is deleted at the end of the run."""
    factory: pytest.TempPathFactory | None = getattr(config, "_tmp_path_factory", None)
    if factory is not None:
        return factory.mktemp("resonate-store")
    folder = TemporaryDirectory(prefix="resonate-store-")
    config.add_cleanup(folder.cleanup)
    return Path(folder.name)


def _check_clock(item: pytest.Item, clock: Mapping[str, Any]) -> None:
    if clock.keys() - {"start", "system"} or len(clock) > 1:
        raise pytest.UsageError(f"resonate_clock of {item.nodeid} must have start=... or 'system', got {dict(clock)!r}")


def _marked(item: pytest.Item, name: str) -> dict[str, Any]:
    """The arguments of the closest marker of this name. A positional one is the marker's first parameter."""
    marker = item.get_closest_marker(f"resonate_{name}")
    if marker is None:
        return {}
    given = dict(marker.kwargs)
    if name == "clock" and marker.args == ("system",):
        given["system"] = True
    elif name == "clock" and len(marker.args) == 1:
        given["start"] = marker.args[0]
    elif name == "worker" and len(marker.args) == 1:
        given["place"] = marker.args[0]
    elif marker.args:
        raise pytest.UsageError(f"resonate_{name} of {item.nodeid} must have named arguments, got {marker.args!r}")
    return given
