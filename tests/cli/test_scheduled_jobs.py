"""Schedules that make jobs, on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_in_states import HOUR, opened
from protocol_server import Run

import resonate_core as rc

CREATE = ["schedules", "create", "nightly", "--cron", "0 3 * * *", "--timeout", "2h"]


@pytest.fixture(params=["file", "url"])
def opened_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    with opened(request.param, request, tmp_path) as (store, store_flags):
        yield store, store_flags


def test_every_option_of_the_jobs(run: Run, opened_store: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = opened_store
    options = ["--job-type", "report:build", "--job-queue", "reports", "--job-priority", 3, "--job-group", "g"]
    options += ["--job-process-in", "10m", "--job-good-for", "1h", "--job-timeout", "90s", "--job-retention", "2h"]
    options += ["--job-max-retries", 7, "--job-retry-policy", "fixed:1s,1m", "--job-retry-on", "Timeout"]
    options += ["--job-on-exhausted", "failed", "--job-lifecycle", "asynq", "--job-unique-key", "report", "--job-unique-for", "5h"]
    options += ["--no-job-cancel-with-awaiters"]
    made = run(*CREATE, "--param", '{"pages": 3}', *options, *store_flags, "--json").json["schedule"]
    assert made["job"] == {
        "type": "report:build",
        "queue": "reports",
        "priority": 3,
        "group": "g",
        "processIn": 600_000,
        "goodFor": HOUR,
        "timeout": 90_000,
        "retention": 2 * HOUR,
        "maxRetries": 7,
        "retryPolicy": {"kind": "fixed", "intervals": [1000, 60_000], "codes": ["Timeout"]},
        "onExhausted": "failed",
        "lifecycle": "asynq",
        "uniqueKey": "report",
        "uniqueFor": 5 * HOUR,
        "cancelWithAwaiters": False,
    }
    assert run("schedules", "get", "nightly", *store_flags, "--json").json["schedule"] == made
    assert store.schedules.get("nightly").job["type"] == "report:build"
    shown = dict(line.split("\t") for line in run("schedules", "get", "nightly", *store_flags).out.splitlines())
    seen = {name.removeprefix("job."): text for name, text in shown.items() if name.startswith("job.")}
    assert seen == {
        "type": "report:build",
        "queue": "reports",
        "priority": "3",
        "group": "g",
        "processIn": "10m",
        "goodFor": "1h",
        "timeout": "90s",
        "retention": "2h",
        "maxRetries": "7",
        "retryPolicy": "fixed:1s,1m (only Timeout)",
        "onExhausted": "failed",
        "lifecycle": "asynq",
        "uniqueKey": "report",
        "uniqueFor": "5h",
        "cancelWithAwaiters": "False",
    }


def test_what_is_not_said_is_left_to_the_queue(run: Run, opened_store: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = opened_store
    assert run(*CREATE, "--job-type", "report", *store_flags, "--json").json["schedule"]["job"] == {
        "queue": "default",
        "type": "report",
    }
    bare = run("schedules", "create", "promises", "--cron", "@daily", *store_flags, "--json").json["schedule"]
    assert "job" not in bare
    kept = run("schedules", "create", "kept", "--cron", "@daily", "--job-type", "t", "--job-retention", "keep", *store_flags).out
    assert "job.retention\tkeep\n" in kept
    rows = [line.split("\t") for line in run("schedules", "search", *store_flags).out.splitlines()]
    assert [(row[0], row[5]) for row in rows] == [("kept", "t"), ("nightly", "report"), ("promises", "")]


@pytest.mark.parametrize(
    "options, code",
    [
        ("--job-queue reports", 2),
        ("--job-good-for 1h", 2),
        ("--job-max-retries 3", 2),
        ("--job-type t --job-retry-on Timeout", 2),
        ("--job-type t --job-good-for soon", 2),
        ("--job-type t --job-retry-policy sometimes", 2),
        ("--job-type t --job-priority 101", 6),
        ("--job-type t --job-unique-for 1m", 6),
        ("--job-type t --job-lifecycle celery", 2),
    ],
)
def test_refusals(run: Run, opened_store: tuple[rc.Store, list[str]], options: str, code: int) -> None:
    store, store_flags = opened_store
    before = store.digest()
    ran = run(*CREATE, *options.split(), *store_flags, "--json")
    assert (ran.code, ran.out, ran.error["exit"]) == (code, "", code)
    assert store.digest() == before
