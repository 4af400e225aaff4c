"""The command line on a store in PostgreSQL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from backends import schemas_of_postgres
from postgres_schemas import without_children
from postgres_server import shared
from postgres_urls import schema_of
from resonate_core._core import schema_versions

FAR = 10**15

Run = Callable[..., Any]


def execute(url: str, sql: str) -> None:
    """Runs SQL on the database of a store's URL, in its schema."""
    database, schema = url.rpartition("/")[2].split("?schema=")
    shared().execute(f"SET search_path TO {schema}; {sql}", database)


def newest_version() -> int:
    """The schema version of this release."""
    schemas = schemas_of_postgres()
    _, found, newest = schema_versions(schemas.url(schemas.unused()))
    assert found is None
    return newest


def shown(url: str) -> str:
    """Returns a URL without the user."""
    return url.replace("resonate@", "")


def test_commands_take_its_url(postgres_url: str, run: Run) -> None:
    url = postgres_url.replace("@", ":t0p@", 1)  # with a password that the server does not ask for

    def ran(*arguments: str) -> tuple[int, str]:
        done = run(*arguments)
        assert "t0p" not in done.out + done.err
        return done.code, done.out

    with rc.Store(url) as store:
        store.promises.create("a", timeout=60_000)
    code, out = ran("promises", "resolve", "a", "--db", url, "--json")
    assert (code, json.loads(out)["promise"]["state"]) == (0, "resolved")
    code, out = ran("promises", "search", "--db", url, "--json")
    assert (code, [one["id"] for one in json.loads(out)["promises"]]) == (0, ["a"])
    assert ran("check", url)[0] == ran("check", "--db", url)[0] == 0
    assert ran("migrate", "--db", url)[0] == 0
    assert ran("copy", url, url)[0] == 5
    assert ran("vacuum", "--db", url)[0] == 0
    assert ran("purge", "--db", url, "--before", str(rc.SystemClock().now), "--yes")[0] == 0
    assert ran("promises", "get", "a", "--db", url)[0] == 4
    assert ran("promises", "get", "a", "--db", "redis://:t0p@127.0.0.1/0")[0] == 2


@pytest.mark.parametrize("words", [["check"], ["check", "--db"]], ids=["FILE", "--db"])
def test_check(postgres_url: str, run: Run, words: list[str]) -> None:
    with rc.Store(postgres_url) as store:
        store.promises.create("open", FAR)
    ran = run(*words, postgres_url)
    assert (ran.code, ran.out) == (0, f"{shown(postgres_url)}: sound; 1 promise, 0 schedules, 0 messages\n")
    assert run(*words, postgres_url, "--json").json == {"url": shown(postgres_url), "sound": True, "problems": []}
    execute(postgres_url, "UPDATE promises SET settled_at = 5 WHERE id = 'open'")
    ran = run(*words, postgres_url, "--json")
    assert (ran.code, ran.json["sound"]) == (1, False)
    assert any("(open)" in problem for problem in ran.json["problems"])
    ran = run(*words, postgres_url)
    assert ran.code == 1
    assert ran.out.endswith(f"{shown(postgres_url)}: {len(ran.out.splitlines()) - 1} problem\n")


def test_check_of_rows_that_cannot_be_read(postgres_url: str, run: Run) -> None:
    with rc.Store(postgres_url) as store:
        store.promises.create("open", FAR, tags={"a": "b"})
    execute(postgres_url, "UPDATE promises SET tags = 'none'")
    ran = run("check", postgres_url)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{shown(postgres_url)}: ")
    assert "damaged" in ran.err


def test_check_of_a_database_that_is_no_store(run: Run, postgres_url: str) -> None:
    unmade = schemas_of_postgres().url(schemas_of_postgres().unused())
    unreachable = "postgresql://resonate@127.0.0.1:1/none"
    for url, reason in ((unmade, "it has no tables"), (unreachable, "port 1 failed"), ("redis://h/0", "FILE must be")):
        ran = run("check", url)
        assert (ran.code, ran.out) == (2, "")
        assert reason in ran.err
    assert run("migrate", "--db", unmade, "--dry-run", "--json").json["from"] is None, "check has made no tables"


def test_check_changes_nothing(postgres_url: str, run: Run) -> None:
    """The session of the command is read-only, and the instant stays."""
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        store.promises.create("due", 1000)
        before = store.snapshot()
    assert run("check", postgres_url).code == 0
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as store:
        assert store.snapshot() == before


def test_migrate(postgres_url: str, run: Run) -> None:
    newest = newest_version()
    with rc.Store(postgres_url) as store:
        store.promises.create("a", FAR)
        before = store.snapshot()
    same = {"url": shown(postgres_url), "from": newest, "to": newest, "done": False}
    for options in ([], ["--dry-run"]):
        assert run("migrate", "--db", postgres_url, *options).out == f"{shown(postgres_url)}: up to date, schema version {newest}\n"
        assert run("migrate", "--db", postgres_url, *options, "--json").json == same
    with rc.Store(postgres_url, read_only=True) as store:
        assert store.snapshot() == before


def test_migrate_makes_the_tables(run: Run) -> None:
    newest = newest_version()
    schemas = schemas_of_postgres()
    unmade = schemas.url(schemas.unused())
    text = f"{shown(unmade)}: {{}} its tables, schema version {newest}\n"
    planned = {"url": shown(unmade), "from": None, "to": newest, "done": False}
    assert run("migrate", "--db", unmade, "--dry-run").out == text.format("would make")
    assert run("migrate", "--db", unmade, "--dry-run", "--json").json == planned
    with pytest.raises(rc.StoreError, match="it has no tables"):
        rc.Store(unmade, read_only=True)
    assert run("migrate", "--db", unmade).out == text.format("made")
    rc.Store(unmade, read_only=True).close()


def test_migrate_of_tables_of_the_first_release(run: Run) -> None:
    """The test first removes what versions 2 to 11 added."""
    newest = newest_version()
    schemas = schemas_of_postgres()
    url = schemas.url(schemas.unused())
    with rc.Store(url) as store:
        store.promises.create("a", FAR)
    execute(url, "ALTER TABLE edges DROP COLUMN cancelled_with; ALTER TABLE promises DROP COLUMN cancels_jobs")
    execute(url, "ALTER TABLE schedules DROP COLUMN paused")
    execute(url, without_children(schema_of(url)))
    execute(
        url,
        "DROP FUNCTION submit; DROP FUNCTION submission; DROP TABLE inbox; DROP TABLE queue_hours; UPDATE store_version SET version = 1",
    )
    ran = run("migrate", "--db", url, "--dry-run")
    assert ran.out == f"{shown(url)}: would be migrated from schema version 1 to {newest}\n"
    assert run("migrate", "--db", url, "--json").json == {"url": shown(url), "from": 1, "to": newest, "done": True}
    with rc.Store(url, read_only=True) as store:
        assert store.promises.get("a").state == "pending"


def test_migrate_refuses_tables_of_a_newer_release(run: Run) -> None:
    schemas = schemas_of_postgres()
    url = schemas.url(schemas.unused())
    assert run("migrate", "--db", url).code == 0
    execute(url, "UPDATE store_version SET version = 99")
    for options in ([], ["--dry-run"]):
        ran = run("migrate", "--db", url, *options)
        assert (ran.code, ran.out) == (3, "")
        assert re.search(r"its schema version must be at most \d+, got 99: a newer release has written it", ran.err)


def test_migrate_of_a_server_that_cannot_be_reached(run: Run) -> None:
    ran = run("migrate", "--db", "postgresql://resonate@127.0.0.1:1/none")
    assert (ran.code, ran.out) == (3, "")
    assert "port 1 failed" in ran.err
