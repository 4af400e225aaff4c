"""Commands on jobs that are refused, misused or not confirmed: their exit codes, and that they changed nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_in_states import fill, opened, terminal
from protocol_server import Ran, Run

import resonate_core as rc


@pytest.fixture(params=["file", "url"])
def queued(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    """A store with jobs, and the flags that name it."""
    with opened(request.param, request, tmp_path) as (store, store_flags):
        fill(store)
        yield store, store_flags


@pytest.fixture
def filed(tmp_path: Path) -> Iterator[tuple[rc.Store, Path]]:
    """A store with jobs in a file."""
    with rc.Store(tmp_path / "jobs.db") as store:
        fill(store)
        yield store, tmp_path / "jobs.db"


REFUSALS = [
    ("jobs show nobody", 4, 404),
    ("jobs run nobody", 4, 404),
    ("jobs delete nobody", 4, 404),
    ("queues show nobody", 4, 404),
    ("jobs stats --queue nobody", 4, 404),
    ("dash --once --queue nobody", 4, 404),
    ("jobs run done", 5, 409),
    ("jobs run busy", 5, 409),
    ("jobs archive busy", 5, 409),
    ("jobs cancel done", 5, 409),
    ("jobs delete busy", 5, 409),
    ("jobs enqueue x --priority 101", 6, 400),
    ("jobs enqueue x --unique-for 1m", 6, 400),
    ("jobs list --limit 0", 6, 400),
    ("queues set q --weight 0", 6, 400),
]
MISUSES = [
    "jobs enqueue x --lifecycle celery",
    "jobs list --state odd",
    "jobs run --all --state pending --yes",
    "jobs enqueue",
    "jobs enqueue x --payload {no",
    "jobs enqueue x --process-in 1m --process-at +1m",
    "jobs enqueue x --process-in soon",
    "jobs enqueue x --good-until never",
    "jobs enqueue x --retention forever",
    "jobs enqueue x --retry-policy sometimes",
    "jobs enqueue x --retry-policy fixed:",
    "jobs enqueue x --retry-policy fixed",
    "jobs enqueue x --retry-policy exponential:1s,base=2",
    "jobs enqueue x --retry-policy exponential:1s,factor=two",
    "jobs enqueue x --retry-policy [1]",
    "jobs enqueue x --retry-on Timeout",
    "jobs run",
    "jobs run dead --all",
    "jobs run dead --queue work",
    "jobs run --all",
    "jobs run --all --queue work --yes",
    "jobs archive --all --yes",
    "jobs delete --all --yes",
    "jobs cancel --all --yes",
    "jobs cancel --all --queue work",
    "jobs run --all --state archived",
    "jobs stats --days 91",
    "queues set q",
    "queues set q --rate fast",
    "queues set q --rate 10/0.5x",
    "queues set q --clear weight",
    "queues set q --clear rate --rate 1/s",
    "dash --interval 1ms",
    "dash --interval often",
]


def one_error(ran: Ran, code: int, status: int | None) -> None:
    assert (ran.code, ran.out) == (code, "")
    assert ran.error["error"]
    assert (ran.error["status"], ran.error["exit"]) == (status, code)


@pytest.mark.parametrize(("asked", "code", "status"), REFUSALS)
def test_refusals_of_the_protocol(run: Run, queued: tuple[rc.Store, list[str]], asked: str, code: int, status: int) -> None:
    store, store_flags = queued
    before = store.digest()
    one_error(run(*asked.split(), *store_flags, "--json"), code, status)
    said = run(*asked.split(), *store_flags)
    assert (said.code, said.out) == (code, "")
    assert said.err.count("\n") == 1
    assert store.digest() == before


@pytest.mark.parametrize("asked", MISUSES)
def test_misuse_is_2_and_changes_nothing(run: Run, filed: tuple[rc.Store, Path], asked: str) -> None:
    store, db = filed
    before = store.digest()
    one_error(run(*asked.split(" "), "--db", db, "--json"), 2, None)
    said = run(*asked.split(" "), "--db", db)
    assert (said.code, said.out) == (2, "")
    assert "Traceback" not in said.err
    assert store.digest() == before


@pytest.mark.parametrize(
    "command", ["jobs list", "jobs enqueue x", "jobs run x", "queues list", "queues set q --weight 1", "dash --once"]
)
def test_a_file_that_is_not_there_is_not_made(run: Run, tmp_path: Path, command: str) -> None:
    ran = run(*command.split(), "--db", tmp_path / "missing.db")
    assert (ran.code, ran.out) == (3, "")
    assert not (tmp_path / "missing.db").exists()


@pytest.mark.parametrize("command", ["jobs enqueue x", "queues set q --weight 1"])
def test_make_makes_it(run: Run, tmp_path: Path, command: str) -> None:
    assert run(*command.split(), "--db", tmp_path / "new.db", "--make").code == 0
    assert run("queues", "list", "--db", tmp_path / "new.db").out.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "question"),
    [
        ("jobs run --all --state archived", "run 1 job (state archived)? [y/N] "),
        ("jobs delete --all --state pending --queue mail", "delete 2 jobs (queue mail, state pending)? [y/N] "),
        ("jobs cancel --all --queue mail", "cancel 3 jobs (queue mail)? [y/N] "),
        ("jobs archive --all --state pending --tag team=blue", "archive 1 job (state pending, tag team=blue)? [y/N] "),
    ],
)
def test_a_person_is_asked_first(filed: tuple[rc.Store, Path], command: str, question: str) -> None:
    store, db = filed
    before = store.digest()
    with terminal(*command.split(), "--db", db) as asked:
        asked.read_until(question)
        asked.type("no\n")
        assert asked.end() == 1
        assert "nothing was done" in asked.screen
    assert store.digest() == before
    with terminal(*command.split(), "--db", db) as asked:
        asked.read_until(question)
        asked.type("y\n")
        assert asked.end() == 0
    assert store.digest() != before


def test_the_end_of_input_is_no(filed: tuple[rc.Store, Path]) -> None:
    store, db = filed
    before = store.digest()
    with terminal("jobs", "delete", "--all", "--state", "archived", "--db", db) as asked:
        asked.read_until("[y/N]")
        asked.type("\x04")
        assert asked.end() == 1
    assert store.digest() == before


def test_many_are_counted_as_many(filed: tuple[rc.Store, Path]) -> None:
    store, db = filed
    store.jobs.enqueue_many("many", [None] * 1001, queue="many")
    with terminal("jobs", "delete", "--all", "--state", "pending", "--queue", "many", "--db", db) as asked:
        asked.read_until("delete at least 1000 jobs (queue many, state pending)? [y/N] ")
        asked.type("yes\n")
        assert asked.end() == 0
        assert "1001 jobs deleted" in asked.screen
