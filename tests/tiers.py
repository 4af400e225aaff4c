"""The tier of each test: which command runs it.

    fast    scripts/test, and every other tier
    all     scripts/test --all, which CI runs
    full    scripts/test --full
    check   scripts/check: wording, layout, types

RESONATE_TEST_TIER names the tier of a run. Without it, as when a developer names tests, the tests of all tiers run.

A module has its tier from MODULES; a test may also have one by a marker of that name (`@pytest.mark.all`, `@pytest.mark.full`). Tests on
PostgreSQL are of the tier `all` at least: they are recognized by the storage that they ask for, and in the tier `fast` that storage is
missing (tests/backends.py). The tier `fast` imports no module of the other tiers, so it needs only the requirements of the extra `tests`.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

FAST, ALL, FULL, CHECK = "fast", "all", "full", "check"

TIERS = (FAST, ALL, FULL)
"""Those of scripts/test: each runs its tests and those of the tiers before it."""

MODULES: dict[str, str] = {
    # They read the sources and the pages, and run no product.
    "docs/test_blocks_of_pages.py": CHECK,
    "docs/test_contract.py": CHECK,
    "docs/test_decisions.py": CHECK,
    "docs/test_fields_in_pages.py": CHECK,
    "docs/test_server_pages.py": CHECK,
    "packaging/test_codebase.py": CHECK,
    "packaging/test_deploy.py": CHECK,
    "packaging/test_mutants.py": CHECK,
    "packaging/test_types.py": CHECK,
    "packaging/test_types_of_pages.py": CHECK,
    "unit/test_docstrings.py": CHECK,
    # A browser, pictures, notebooks, pages: they need every extra.
    "browser": ALL,
    "docs": ALL,
    "regressions/test_exported_notebooks_are_blank.py": ALL,
    # Clients of npm, programs of every published client.
    "integration/clients": ALL,
    # PostgreSQL.
    "integration/storage/test_copy_command.py": ALL,
    "integration/storage/test_notices.py": ALL,
    "integration/storage/test_open_transaction.py": ALL,
    "integration/storage/test_plans.py": ALL,
    "integration/storage/test_pgbouncer.py": ALL,
    "integration/storage/test_postgres_commands.py": ALL,
    "integration/storage/test_postgres_faults.py": ALL,
    "integration/storage/test_postgres_role.py": ALL,
    "integration/storage/test_round_trips.py": ALL,
    "integration/storage/test_shared_semantics.py": ALL,
    "integration/storage/test_shared_time.py": ALL,
    "integration/storage/test_submit.py": ALL,
    "integration/storage/test_three_servers.py": ALL,
    "packaging/test_postgres_server.py": ALL,
    "regressions/test_a_pooler_tears_a_pipeline.py": ALL,
    "regressions/test_a_schema_of_another_program.py": ALL,
    "regressions/test_everybody_may_submit.py": ALL,
    "regressions/test_schema_names_are_not_quoted.py": ALL,
    "regressions/test_settings_of_a_role_change_the_store.py": ALL,
    "server/test_postgres_outages.py": ALL,
    "server/test_postgres_servers.py": ALL,
    # Other plugins of pytest.
    "regressions/test_other_plugins_of_pytest_break_the_fixtures.py": ALL,
    # A quarter of a minute or more of a processor each, for what few changes touch.
    "cli/test_jobs_newest.py": ALL,
    "cli/test_jobs_output.py": ALL,
    "cli/test_jobs_refusals.py": ALL,
    "cli/test_jobs_worker.py": ALL,
    "cli/test_terminal.py": ALL,
    "cli/test_tree.py": ALL,
    "conformance_command/test_planted_faults.py": ALL,
    "conformance_command/test_right_servers.py": ALL,
    "fuzz/test_files.py": ALL,
    "fuzz/test_replies.py": ALL,
    "integration/django/test_cases.py": ALL,
    "integration/django/test_page.py": ALL,
    "integration/django/test_processes.py": ALL,
    "integration/django/test_shop.py": ALL,
    "integration/fastapi/test_several_processes.py": ALL,
    "integration/fastapi/test_shop.py": ALL,
    "integration/jobs/test_disk_faults.py": ALL,
    "integration/sdk/test_docs.py": ALL,
    "integration/storage/test_disk_faults.py": ALL,
    "product": ALL,
    "regressions/test_a_pipe_as_a_store_waits_for_ever.py": ALL,
    "regressions/test_a_server_of_an_enemy_breaks_commands.py": ALL,
    "regressions/test_a_server_of_an_enemy_ends_its_clients.py": ALL,
    "regressions/test_a_server_of_an_enemy_stops_its_workers.py": ALL,
    "regressions/test_a_store_whose_handler_uses_it_stays_for_ever.py": ALL,
    "regressions/test_abort_at_interpreter_exit.py": ALL,
    "regressions/test_clients_made_before_a_fork_share_answers.py": ALL,
    "regressions/test_ctrl_c_in_long_calls.py": ALL,
    "regressions/test_files_of_any_length_are_read_whole.py": ALL,
    "regressions/test_queues_have_no_owner.py": ALL,
    "regressions/test_recordings_and_refusals_fill_the_memory.py": ALL,
    "regressions/test_redaction_patterns_hold_every_request.py": ALL,
    "regressions/test_silent_receivers_hold_the_pushes_of_all.py": ALL,
    "regressions/test_tenants_learn_of_others.py": ALL,
    "regressions/test_tenants_read_the_audit_of_others.py": ALL,
    "regressions/test_unfinished_headers_stay_open.py": ALL,
    "regressions/test_worker_ignores_sigterm.py": ALL,
    "regressions/test_workers_stand_still_in_silence.py": ALL,
    "server/test_batches.py": ALL,
    "server/test_leases.py": ALL,
    "server/test_security.py": ALL,
    "server/test_serve_process.py": ALL,
    "server/test_workers.py": ALL,
    "testing/test_plugin_explored.py": ALL,
    "worker/test_url_stream.py": ALL,
    # They build the package.
    "packaging/test_cached_compiler.py": ALL,
    "packaging/test_fetched_dependencies.py": ALL,
    "packaging/test_manylinux.py": ALL,
    "packaging/test_release.py": ALL,
    "packaging/test_wheel.py": ALL,
    "packaging/test_mutants_compile.py": FULL,
}
"""Tests that are not of the tier `fast`, by module or folder below tests/; the longest name that fits decides."""

OF_STORAGES = frozenset({"postgres", "pgbouncer"})
"""The parameters and fixtures of tests that need PostgreSQL."""

DEALT: dict[str, str] = {
    "integration/django/test_cases.py": "sqlite",
    "integration/django/test_processes.py": "sqlite",
    "integration/django/test_shop.py": "postgres",
    "integration/fastapi/test_shop.py": "sqlite",
    "integration/jobs/test_graph_kills.py": "sqlite",
    "integration/jobs/test_kills.py": "postgres",
    "server/test_jobs_kill.py": "sqlite",
    "server/test_kill.py": "postgres",
    "server/test_leases.py": "sqlite",
}
"""Modules whose tests start and kill processes on each durable storage: the tier `all` runs each test on one, in turn from this one on.

What a process does after a kill is the same on both; that each storage keeps what it answered is judged by integration/storage.
"""

THIRDS = "back_end"
"""The fixture of stores in each storage: outside of conformance, which has a rule of its own, a test with it runs in the tier `all` on
PostgreSQL with the first of each three of its cells."""

LONGEST = (
    "docs/test_build.py",
    "property/test_job_machine.py",
    "property/test_state_machine.py",
    "regressions/test_recordings_and_refusals_fill_the_memory.py",
    "integration/sdk/test_crash_anywhere.py",
    "conformance_command/test_planted_faults.py",
    "docs/test_notebooks.py",
    "docs/test_consoles.py",
    "product/test_product.py",
    "integration/jobs/test_kills.py",
    "server/test_kill.py",
)
"""Modules with single tests of 10 s of a processor and more: several processes begin with them, since at the end of a run the others
would wait for one."""

_ROOT = Path(__file__).parent


def wanted() -> str | None:
    """The tier of this run, or None if the tests of all tiers run."""
    tier = os.environ.get("RESONATE_TEST_TIER")
    if tier is not None and tier not in (*TIERS, CHECK):
        raise pytest.UsageError(f"RESONATE_TEST_TIER must be one of {', '.join((*TIERS, CHECK))}, got {tier!r}")
    return tier


@functools.cache
def of_path(path: Path) -> str:
    """The tier of a module, or of a folder as a whole."""
    try:
        name = path.relative_to(_ROOT).as_posix()
    except ValueError:
        return FAST  # an example or a page outside of tests/
    fitting = [known for known in MODULES if name == known or name.startswith(f"{known}/")]
    return MODULES[max(fitting, key=len)] if fitting else FAST


def runs(tier: str) -> bool:
    """Whether this run has the tests of a tier."""
    run = wanted()
    if run is None or CHECK in (run, tier):
        return run in (None, tier)
    return TIERS.index(tier) <= TIERS.index(run)


def ignored(path: Path) -> bool:
    """Whether a module, or a folder with all its modules, is left out without an import."""
    if runs(of_path(path)):
        return False
    if path.is_dir():
        return not any(name.startswith(f"{path.relative_to(_ROOT).as_posix()}/") and runs(tier) for name, tier in MODULES.items())
    return path.suffix == ".py" and path.name.startswith("test_")


def of_item(item: Any) -> str:
    """The tier of a test: that of its module, of its markers or of the storage that it asks for, whichever runs last."""
    tier = of_path(item.path)
    if tier == CHECK:
        return tier
    asked = [tier, *(mark for mark in (ALL, FULL) if item.get_closest_marker(mark))]
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    names = {getattr(value, "name", value) for value in given if isinstance(getattr(value, "name", value), str)}
    if OF_STORAGES & names or "postgres_url" in getattr(item, "fixturenames", ()):
        asked.append(ALL)
    return max(asked, key=TIERS.index)


def every(number: int, values: Iterable[Any]) -> list[Any]:
    """Parameters of a test: the tier `all` runs the first of each ``number`` values, `full` runs all of them.

    For cases that go one way through the code and cost seconds each. A value that is a tuple has an item for each parameter.
    """
    return [_in_all(turn % number == 0, value) for turn, value in enumerate(values)]


def chess(rows: Iterable[Any], columns: Iterable[Any]) -> list[Any]:
    """Parameters of a test with two or more: each row with each column. The tier `all` runs those of one colour, as on a chessboard.

    So it has each row and each column. For pairs that are independent of each other in the code. A row or column that is a tuple has an
    item for each parameter.
    """
    second = list(columns)
    return [_in_all((x + y) % 2 == 0, one, two) for x, one in enumerate(rows) for y, two in enumerate(second)]


def _in_all(kept: bool, *values: Any) -> Any:
    items = [item for value in values for item in (value if isinstance(value, tuple) else [value])]
    return pytest.param(*items, marks=[] if kept else pytest.mark.full)


def _durable(item: Any) -> str | None:
    """The durable storage that a test gets as a parameter."""
    names = {"sqlite": "sqlite", "postgres": "postgres", "postgresql": "postgres"}
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    found = [names[name] for value in given if isinstance(name := getattr(value, "name", value), str) and name in names]
    return found[0] if len(found) == 1 else None


def sampled_out(items: Iterable[Any]) -> set[Any]:
    """The tests that DEALT and THIRDS leave to the tier `full`."""
    places: dict[str, dict[str, int]] = {}
    turns: Counter[tuple[Path, str]] = Counter()
    out = set()
    for item in items:
        storage = _durable(item)
        name = item.path.relative_to(_ROOT).as_posix() if storage and item.path.is_relative_to(_ROOT) else ""
        if name in DEALT:
            place = places.setdefault(name, {}).setdefault(item.originalname, len(places[name]))
            if (storage == DEALT[name]) == bool(place % 2):
                out.add(item)
        elif storage == "postgres" and THIRDS in item.callspec.params and not name.startswith("conformance/"):
            if turns[item.path, item.originalname] % 3:
                out.add(item)
            turns[item.path, item.originalname] += 1
    return out


def longest_first(items: Iterable[Any]) -> list[Any]:
    """The tests in their order, those of LONGEST before all others."""
    first = [_ROOT / name for name in LONGEST]
    return sorted(items, key=lambda item: item.path not in first)


def split(items: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """The tests that this run has, and those that it leaves out."""
    given = list(items)
    out = set() if runs(FULL) else sampled_out(given)
    kept: list[Any] = []
    left: list[Any] = []
    for item in given:
        (kept if item not in out and runs(of_item(item)) else left).append(item)
    return kept, left
