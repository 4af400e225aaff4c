"""Commands that list jobs by time, follow their events and list their workers; and the completion of the shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs_in_states import HOUR, fill, opened, running, terminal
from protocol_server import Run

import resonate_core as rc
from resonate_core.cli import jobs_newest
from resonate_core.cli.jobs_tail import Tail
from resonate_core.cli.target import Access, FileTarget
from resonate_core.cli.values import now

DAY = 86_400_000


@pytest.fixture(params=["file", "url"])
def queued(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    """A store, and the flags that name it."""
    with opened(request.param, request, tmp_path) as (store, store_flags):
        yield store, store_flags


def ids(ran: Any) -> list[str]:
    return [line.split("\t")[0] for line in ran.out.splitlines()]


def test_the_last_that_was_sent_first(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    present = store.now
    for number, id in enumerate("cabd"):
        store.jobs.enqueue("even" if number % 2 else "odd", id=id, sent_at=present - number * DAY, tags={"n": str(number)})
    assert ids(run("jobs", "list", "--newest", *store_flags)) == ["c", "a", "b", "d"]
    assert ids(run("jobs", "list", "--newest", "--limit", "2", *store_flags)) == ["c", "a"]
    assert ids(run("jobs", "list", "--since", "-36h", *store_flags)) == ["c", "a"]
    assert ids(run("jobs", "list", "--since=-60h", "--until=-12h", *store_flags)) == ["a", "b"]
    assert ids(run("jobs", "list", "--until", str(present - 2 * DAY), *store_flags)) == ["b", "d"]
    assert ids(run("jobs", "list", "--newest", "--type", "even", "--tag", "n=1", *store_flags)) == ["a"]
    found = run("jobs", "list", "--newest", "--json", *store_flags).json
    assert [job["id"] for job in found["jobs"]] == ["c", "a", "b", "d"]


def test_what_a_list_by_time_refuses(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    _, store_flags = queued
    for flags, said in (
        (["--newest", "--all"], "--all lists by id"),
        (["--newest", "--limit", "1001"], "--limit must be from 1 to 1000, got 1001"),
        (["--since", "yesterday"], "--since: 'yesterday' is no instant"),
    ):
        ended = run("jobs", "list", *flags, *store_flags)
        assert ended.code == 2 and said in ended.err


def test_it_says_if_not_all_could_be_looked_at(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(jobs_newest, "MOST_READ", 3)
    with opened("url", request, tmp_path) as (store, store_flags):
        for id in "abc":
            store.jobs.enqueue("t", id=id)
        assert run("jobs", "list", "--newest", *store_flags).err == ""
        store.jobs.enqueue("t", id="d")
        ended = run("jobs", "list", "--newest", *store_flags)
        assert "only 3 jobs, by id, were looked at" in ended.err
        assert sorted(ids(ended)) == ["a", "b", "c"]


def test_times_for_people(tmp_path: Path) -> None:
    with rc.Store(tmp_path / "a.db") as store:
        store.jobs.enqueue("t", id="a", sent_at=1_767_225_600_000)
    with terminal("jobs", "list", "--db", tmp_path / "a.db", columns=120) as shown:
        assert shown.end() == 0
    assert "2026-01-01 00:00:00Z" in shown.screen


def test_what_happened_last(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    fill(store)
    lines = [
        line.split("\t") for line in run("jobs", "tail", "--once", "--lines", "4", "--queue", "work", *store_flags).out.splitlines()
    ]
    assert {line[1] for line in lines} <= {"busy", "dead", "again", "done"}
    assert [line[0][-1] for line in lines] == ["Z"] * 4
    seen = [json.loads(line) for line in run("jobs", "tail", "--once", "--json", "--id", "again", *store_flags).out.splitlines()]
    assert [one["event"] for one in seen] == ["enqueued", "started", "failed"]
    assert seen[-1]["error"] == "Timeout: no answer" and seen[-1]["attempt"] == 1 and seen[-1]["worker"] == "w1"
    assert run("jobs", "tail", "--interval", "1ms", *store_flags).code == 2


def test_what_happens_is_told_once_and_in_order(tmp_path: Path) -> None:
    with rc.Store(tmp_path / "jobs.db") as store, FileTarget(tmp_path / "jobs.db", Access.READ) as target:
        tail = Tail(target, {"queue": "work"}, now())
        assert tail.last(5) == [] and tail.look() == []
        job = running(store, "a", max_retries=0)
        store.jobs.enqueue("t", id="other", queue="else")
        assert [(one.job["id"], one.event) for one in tail.look()] == [("a", "enqueued"), ("a", "started")]
        assert tail.look() == []
        store.jobs.fail("a", job.version, "Broken", "no paper")
        assert [(one.event, one.error) for one in tail.look()] == [("failed", "Broken: no paper"), ("archived", "Broken: no paper")]
        store.jobs.complete("b", running(store, "b").version)  # between two looks
        assert [one.event for one in tail.look()] == ["enqueued", "started", "completed"]
        store.jobs.enqueue("t", id="c", queue="work")
        store.jobs.cancel("c")
        assert [one.event for one in tail.look()] == ["enqueued", "cancelled"]
        assert tail.look() == []


def test_it_follows_until_ctrl_c(tmp_path: Path) -> None:
    with rc.Store(tmp_path / "a.db") as store:
        store.jobs.enqueue("t", id="before")
        with terminal("jobs", "tail", "--interval", "50ms", "--db", tmp_path / "a.db") as live:
            live.read_until("before")
            store.jobs.enqueue("t\x1b[31m", id="after")
            live.read_until("enqueued", "after")
            live.process.send_signal(signal.SIGINT)
            assert live.end() == 0
    assert "Traceback" not in live.screen and "t\\x1b[31m" in live.screen


def test_workers(run: Run, queued: tuple[rc.Store, list[str]]) -> None:
    store, store_flags = queued
    assert run("workers", *store_flags).out == ""
    fill(store)
    store.tasks.create("call", pid="w2", ttl=HOUR, timeout=2 * HOUR, target="poll://any@g")
    found = run("workers", "--json", *store_flags).json["workers"]
    assert [(one["worker"], one["jobs"], one["tasks"], one["ids"]) for one in found] == [
        ("w1", 1, 0, ["busy"]),
        ("w2", 0, 1, ["call"]),
    ]
    assert found[0]["state"] == "fresh" and found[0]["leaseUntil"] > store.now
    lines = [line.split("\t") for line in run("workers", *store_flags).out.splitlines()]
    assert [line[0] for line in lines] == ["w1", "w2"] and lines[0][-1] == "busy"


def test_workers_for_people(tmp_path: Path) -> None:
    with rc.Store(tmp_path / "a.db") as store:
        for number in range(5):
            running(store, f"j{number}")
    with terminal("workers", "--db", tmp_path / "a.db", columns=100) as shown:
        assert shown.end() == 0
    assert "j0, j1, j2 and 2 more" in shown.screen and "in 9h 59m" in shown.screen and "1 worker" in shown.screen


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("jobs list --queue ", ["mail", "work"]),
        ("jobs list --state re", ["retry"]),
        ("jobs list --type email:", ["email:news", "email:send"]),
        ("jobs show d", ["dead", "done"]),
        ("queues show w", ["work"]),
        ("promises get mail-", ["mail-1", "mail-2", "mail-3"]),
        ("schedules get n", ["nightly"]),
        ("tasks search --state h", ["halted"]),
    ],
)
def test_a_shell_completes_values(tmp_path: Path, words: str, offered: list[str]) -> None:
    with rc.Store(tmp_path / "a.db") as store:
        fill(store)
        store.schedules.create("nightly", "0 3 * * *", promise_timeout=1000)
    assert completed(words, RESONATE_STORE__PATH=str(tmp_path / "a.db")) == offered


def test_a_shell_hears_of_no_error(tmp_path: Path) -> None:
    assert completed("jobs show d", RESONATE_STORE__PATH=str(tmp_path / "missing.db")) == []
    assert completed("jobs show d") == []


def completed(words: str, **environment: str) -> list[str]:
    """Returns what bash offers after these words."""
    line = f"resonate-core {words}"
    count = len(line.split()) - (0 if line.endswith(" ") else 1)
    seen = {"_RESONATE_CORE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(count)}
    command = [sys.executable, "-m", "resonate_core"]
    done = subprocess.run(command, env={**os.environ, **seen, **environment}, capture_output=True, text=True, timeout=120)
    assert done.stderr == "" and done.returncode == 0
    return done.stdout.split()
