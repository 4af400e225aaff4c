"""The settings of a backend: read once, and each bad one is named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from resonate_core import ManualClock, Store
from resonate_core._core import place_of_store
from resonate_core.errors import Invalid, Unsupported
from resonate_core.submission import DEFAULT_SCHEMA
from resonate_core.worker import Worker

from .declaration import JOB_OPTIONS
from .places import IN_MEMORY, is_in_memory, postgres_url, sqlite_path
from .stores import Place

__all__ = ["Options", "problem_of_job", "problems", "read"]

#: How names of Django's test databases in memory begin: tests may use another backend, so only the store's first use is refused.
_TEST_DATABASE = "file:memorydb_"
#: The vendors of databases that can hold a store.
_VENDORS = ("sqlite", "postgresql")
_WORKER_OPTIONS = frozenset(
    {"concurrency", "lease", "run_lease", "strict", "batch", "poll_interval", "heartbeat", "grace", "steps", "target_group"}
)
#: The retries of a task that names neither retries nor a policy. Other backends of Django do not repeat a task that raised. An
#: attempt is repeated if its worker died. A worker of an earlier version also fails jobs whose task it does not know.
DEFAULT_RETRIES: Mapping[str, Any] = {
    "max_retries": 5,
    "retry_policy": {
        "kind": "fixed",
        "intervals": [1000, 10_000, 30_000, 60_000, 120_000],
        "codes": ["WorkerCrashed", "UnknownType"],
    },
}


@dataclass(frozen=True)
class Options:
    """``OPTIONS`` of a backend in TASKS.

    Attributes:
        database: The alias of the database whose transactions count, and which holds the store unless `store` is set.
        schema: The schema of the store in PostgreSQL.
        parameters: More parameters of the URL in PostgreSQL, such as ``{"prepared": "no"}``.
        store: The path or URL of a store of its own.
        durability: As of `resonate_core.Store`.
        busy_timeout: As of `resonate_core.Store`.
        dispatch_on_commit: Whether the process that enqueued runs the store's step that makes jobs claimable, after its commit.
        job: Options of all jobs, as of `store.jobs.enqueue`.
        worker: Options of `resonate_worker`, as of `resonate_core.worker.Worker`.
    """

    database: str = "default"
    schema: str = DEFAULT_SCHEMA
    parameters: Mapping[str, str] = field(default_factory=dict)
    store: str | None = None
    durability: Literal["full", "normal"] = "full"
    busy_timeout: int | timedelta = 5000
    dispatch_on_commit: bool = True
    job: Mapping[str, Any] = field(default_factory=dict)
    worker: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """Where the store is now; tests give a database another name.

        Raises:
            ImproperlyConfigured: The database cannot hold a store.
        """
        return Place(self.store or self._url(), self.durability, self.busy_timeout)

    def _url(self) -> str:
        connection = connections[self.database]
        if connection.vendor == "sqlite":
            return sqlite_path(connection.settings_dict)
        if connection.vendor == "postgresql":
            return postgres_url(connection.settings_dict, self.schema, self.parameters)
        raise ImproperlyConfigured(_vendor_problem(connection.vendor))

    def for_job(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a job: those of its task over those of the settings."""
        merged = {**self.job, **given}
        if not merged.keys() & {"max_retries", "retry_policy", "lifecycle"}:
            merged.update(DEFAULT_RETRIES)
        return merged


def _vendor_problem(vendor: str) -> str:
    return f"must name a database of {' or '.join(_VENDORS)}, or STORE must be the path or URL of a store, got one of {vendor}"


def problem_of_job(options: Mapping[str, Any]) -> str | None:
    """Return why a store refuses options of jobs; None if it accepts them."""
    with Store(clock=ManualClock()) as store:
        for id in options.get("after", ()):
            if isinstance(id, str) and id:
                store.promises.create(id, timeout=1)
        try:
            store.jobs.enqueue("probe", **options)
        except (Invalid, TypeError, OverflowError) as error:
            return str(error)
    return None


def _of_job(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return f"must be a dict of options of jobs, got {value!r}"
    unknown = sorted(map(str, value.keys() - JOB_OPTIONS - {"lifecycle"}))
    if unknown:
        return f"must have options out of {', '.join(sorted(JOB_OPTIONS | {'lifecycle'}))}, got {', '.join(unknown)}"
    problem = problem_of_job(value)
    return None if problem is None else f"must be options of a job: {problem}"


def _of_worker(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return f"must be a dict of options of resonate_core.worker.Worker, got {value!r}"
    unknown = sorted(map(str, value.keys() - _WORKER_OPTIONS))
    if unknown:
        return f"must have options out of {', '.join(sorted(_WORKER_OPTIONS))}, got {', '.join(unknown)}"
    try:
        Worker(**value)
    except (Invalid, TypeError, OverflowError) as error:
        return f"must be options of a worker: {error}"
    return None


def _of_database(value: Any) -> str | None:
    aliases = sorted(connections.settings)
    return None if value in aliases else f"must be an alias in DATABASES ({', '.join(aliases)}), got {value!r}"


def _of_schema(value: Any) -> str | None:
    good = isinstance(value, str) and re.fullmatch(r"[a-z0-9_]{1,63}", value)
    return None if good else f"must be 1 to 63 of a-z, 0-9 and _, got {value!r}"


def _of_parameters(value: Any) -> str | None:
    good = isinstance(value, Mapping) and all(isinstance(each, str) for pair in value.items() for each in pair)
    return None if good else f"must be a dict of str by str, got {value!r}"


def _of_store(value: Any) -> str | None:
    if not isinstance(value, str | os.PathLike):
        return f"must be the path of a file or a URL of PostgreSQL, got {value!r}"
    try:
        place_of_store(os.fsdecode(value), "STORE")
    except (Invalid, Unsupported) as error:
        return str(error).removeprefix("STORE ")
    return None


def _of_durability(value: Any) -> str | None:
    return None if value in ("full", "normal") else f"must be 'full' or 'normal', got {value!r}"


def _of_busy_timeout(value: Any) -> str | None:
    good = isinstance(value, timedelta) or (isinstance(value, int) and not isinstance(value, bool))
    good = good and value >= (timedelta(0) if isinstance(value, timedelta) else 0)
    return None if good else f"must be a timedelta, or ms, of at least 0, got {value!r}"


def _of_dispatch(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"must be True or False, got {value!r}"


#: How each setting is judged. They are the attributes of `Options`, in upper case.
_RULES: Mapping[str, Callable[[Any], str | None]] = {
    "DATABASE": _of_database,
    "SCHEMA": _of_schema,
    "PARAMETERS": _of_parameters,
    "STORE": _of_store,
    "DURABILITY": _of_durability,
    "BUSY_TIMEOUT": _of_busy_timeout,
    "DISPATCH_ON_COMMIT": _of_dispatch,
    "JOB": _of_job,
    "WORKER": _of_worker,
}


def problems(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each bad setting, and what is wrong with it.

    Args:
        given: OPTIONS of the backend.
    """
    found = False
    for name, value in given.items():
        rule = _RULES.get(name)
        problem = f"is no setting; there are {', '.join(_RULES)}" if rule is None else rule(value)
        if problem is not None:
            found = True
            yield name, problem
    if found:
        return
    options = _made(given)
    if options.store is not None:
        for name in ("SCHEMA", "PARAMETERS"):
            if name in given:
                yield name, "must be left out beside STORE, whose URL names it"
        return
    connection = connections[options.database]
    if connection.vendor not in _VENDORS:
        yield "DATABASE", _vendor_problem(connection.vendor)
    elif connection.vendor == "sqlite":
        for name in ("SCHEMA", "PARAMETERS"):
            if name in given:
                yield name, "must be left out for a SQLite database, which has no schemas and no URL"
        name = str(connection.settings_dict["NAME"])
        if is_in_memory(name) and not name.startswith(_TEST_DATABASE):
            yield "DATABASE", IN_MEMORY


def read(alias: str, given: Mapping[str, Any]) -> Options:
    """Read the settings of a backend.

    Args:
        alias: The backend's name in TASKS.
        given: Its OPTIONS.

    Raises:
        ImproperlyConfigured: One of them is bad.
    """
    for name, problem in problems(given):
        if problem is IN_MEMORY:  # reported by what needs the place: `migrate` of a test database does not
            continue
        raise ImproperlyConfigured(f"TASKS[{alias!r}]['OPTIONS'][{name!r}] {problem}")
    return _made(given)


def _made(given: Mapping[str, Any]) -> Options:
    named = {name.lower(): value for name, value in given.items()}
    if "store" in named:
        named["store"] = str(named["store"])
    return Options(**named)
