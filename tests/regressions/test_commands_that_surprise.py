"""Commands of `resonate-core` that surprised a new user.

`purge` deleted all completed jobs at once and called them promises; a wrong state named neither the states nor the nearest one; `jobs retry`
did not hint at `run`; report lines through a pipe had raw milliseconds; `why QUEUE` counted neither archived jobs nor those in retry; "1 schedules".
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from resonate_core.cli import main


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store's file with jobs and promises in several states, and one schedule."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    path = tmp_path / "app.db"
    with rc.Store(path) as store:
        for number in range(2):
            store.jobs.enqueue("t", id=f"done{number}", retention="kept")
        for job in store.jobs.claim("default", 2, worker="w", lease=60_000, start=2):
            store.jobs.report(job.id, job.version, progress=0.5, lines="half of it")
            store.jobs.complete(job.id, job.version, None)
        store.jobs.enqueue("t", id="gone", retention="kept")
        store.jobs.cancel("gone")
        store.jobs.enqueue("t", id="kept-for-a-person")
        store.jobs.archive("kept-for-a-person")
        store.jobs.enqueue("t", id="later", process_in=600_000)
        store.promises.create("p", timeout=600_000)
        store.promises.resolve("p")
        store.schedules.create("s", "@daily", promise_timeout=1000)
        settled = store.promises.get("p").settled_at or 0
    while rc.SystemClock().now <= settled:  # until it was settled before the present instant
        pass
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_a_purge_without_a_terminal_needs_yes(db: str, capsys: pytest.CaptureFixture[str]):
    for more in ([], ["--json"]):
        code, _, err = run(capsys, "purge", "--db", db, "--before", str(rc.SystemClock().now), *more)
        assert code == 2 and "give --yes" in err
    with rc.Store(db) as store:
        assert len(store.jobs.search(state="completed")) == 2
    code, out, _ = run(capsys, "purge", "--db", db, "--before", str(rc.SystemClock().now), "--yes")
    assert (code, out) == (0, "2 completed jobs, 1 cancelled job and 1 promise deleted\n")
    assert run(capsys, "purge", "--db", db, "--before", str(rc.SystemClock().now), "--yes")[1] == "nothing deleted\n"


@pytest.mark.parametrize(("reply", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 2), ("", 1, 2)])
def test_a_purge_at_a_terminal_asks(
    db: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, reply: str, code: int, left: int
):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(reply))
    ended, _, err = run(capsys, "purge", "--db", db, "--before", str(rc.SystemClock().now))
    assert ended == code
    assert err.startswith("delete up to 2 completed jobs, 1 cancelled job and 1 promise, settled before ")
    with rc.Store(db) as store:
        assert len(store.jobs.search(state="completed")) == left


CHOICES = [
    ("jobs list --state runing", "--state", "running"),
    ("jobs run --all --state archive --yes", "--state", "archived"),
    ("jobs delete --all --state complete --yes", "--state", "completed"),
    ("promises search --state pendin", "--state", "pending"),
    ("promises settle p --state resolve", "--state", "resolved"),
    ("tasks search --state suspend", "--state", "suspended"),
    ("tasks fulfill p --task-version 1 --state reject", "--state", "rejected"),
    ("jobs enqueue t --lifecycle horsie", "--lifecycle", "horsies"),
    ("jobs enqueue t --on-exhausted archive", "--on-exhausted", "archived"),
    ("schedules create x --cron @daily --job-type t --job-lifecycle asyncq", "--job-lifecycle", "asynq"),
    ("queues set q --lifecycle asyncq", "--lifecycle", "asynq"),
    ("queues set q --clear rates", "--clear", "rate"),
    ("promises get p --dialect 2026-04-02", "--dialect", "2026-04-01"),
]


@pytest.mark.parametrize(("command", "option", "near"), CHOICES)
def test_a_wrong_choice_names_all_and_the_nearest(
    db: str, capsys: pytest.CaptureFixture[str], command: str, option: str, near: str
):
    code, _, err = run(capsys, *command.split(), "--db", db)
    assert code == 2
    assert re.match(rf"{option} must be .* or .*, got '[^']+': did you mean {near}\?$", err.strip()), err


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("jobs retry x", "run"),
        ("jobs requeue x", "run"),
        ("jobs rm x", "delete"),
        ("jobs get x", "show"),
        ("jobs search", "list"),
        ("promises list", "search"),
        ("promises show x", "get"),
        ("schedules list", "search"),
        ("queues unpause x", "resume"),
        ("job list", "jobs"),
        ("start", "serve"),
    ],
)
def test_a_command_of_another_name_is_hinted_at(db: str, capsys: pytest.CaptureFixture[str], command: str, meant: str):
    code, _, err = run(capsys, *command.split())
    assert code == 2 and f"did you mean {meant}?" in err
    code, _, err = run(capsys, *command.split(), "--json")
    assert code == 2 and f"did you mean {meant}?" in err


@pytest.mark.parametrize("command", ["jobs canel x", "promises serch", "purg"])
def test_a_misspelt_command_is_hinted_at(capsys: pytest.CaptureFixture[str], command: str):
    code, _, err = run(capsys, *command.split())
    assert code == 2 and "Did you mean" in err


def test_instants_of_a_report_through_a_pipe(db: str, capsys: pytest.CaptureFixture[str]):
    _, out, _ = run(capsys, "jobs", "show", "done0", "--db", db)
    shown = [line.split("\t") for line in out.splitlines()]
    (line,) = [cells for cells in shown if cells[0] == "line"]
    (at,) = [cells[1] for cells in shown if cells[0] == "report.at"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at)
    assert re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{3})?Z$", line[1])


def test_why_counts_all_jobs_that_wait(db: str, capsys: pytest.CaptureFixture[str]):
    _, out, _ = run(capsys, "why", "default", "--db", db)
    assert "0 jobs wait for a worker" in out and "1 is scheduled" in out and "1 is archived" in out
    assert "You can: run the archived jobs again" in out


def test_why_counts_retries():
    store = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue("t", id="j")
    (job,) = store.jobs.claim("default", 1, worker="w", lease=60_000, start=1)
    store.jobs.fail("j", job.version, "E")
    assert "1 waits for a retry" in rc.why(store, "default").sentence


def test_one_is_singular(db: str, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert "1 schedule," in run(capsys, "check", db)[1]
    assert "1 schedule," in run(capsys, "copy", db, str(tmp_path / "copy.db"))[1]


@pytest.mark.parametrize("words", ["jobs retry ", "jobs canel ", "job list "])
def test_completion_after_a_command_of_another_name_offers_nothing(words: str):
    line = f"resonate-core {words}"
    seen = {"_RESONATE_CORE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()))}
    command = [sys.executable, "-m", "resonate_core"]
    done = subprocess.run(command, env={**os.environ, **seen}, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "named"), [("purge --before 5", "purge"), ("jobs run --all --state archived --queue q", "run --all")]
)
def test_a_question_that_json_excludes_is_no_missing_terminal(
    db: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, named: str
):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    code, _, err = run(capsys, *command.split(), "--db", db)
    assert code == 2 and f"{named} asks for confirmation, and standard input is no terminal: give --yes" in err
    monkeypatch.setattr("sys.stdin", Terminal())
    code, _, err = run(capsys, *command.split(), "--db", db, "--json")
    assert code == 2 and f"{named} asks for confirmation, and --json excludes a question: give --yes" in err
