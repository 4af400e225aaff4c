"""The output of commands on jobs in terminals of several widths, and that stored text cannot control the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jobs_in_states import HOUR, LEASE, fill, running, terminal
from protocol_server import Run

import resonate_core as rc
from resonate_core.cli.notation import exact, policy_text, rate_text, read_policy, read_rate
from tiers import every

NASTY = "[bold]x[/bold]:smile:\x1b[31m\r\n"
SHOWN = "[bold]x[/bold]:smile:\\x1b[31m\\r\\n"
COMMANDS = [
    ["jobs", "list"],
    ["jobs", "show", NASTY],
    ["jobs", "stats"],
    ["queues", "list"],
    ["queues", "show", NASTY],
    ["dash", "--once"],
]
NAMES = ["list", "show", "stats", "queues", "queue", "dash"]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    path = tmp_path / "nasty.db"
    with rc.Store(path) as store:
        store.jobs.enqueue(NASTY, NASTY, id=NASTY, queue=NASTY, tags={NASTY: NASTY}, max_retries=1)
        (job,) = store.jobs.claim(NASTY, worker=NASTY, lease=LEASE)
        store.jobs.start(job.id, job.version)
        store.jobs.fail(job.id, job.version, NASTY, NASTY)
        store.queues.set(NASTY, defaults={"retryPolicy": {"kind": "asynq", "codes": [NASTY]}})
    return path


@pytest.fixture
def db(tmp_path: Path) -> Path:
    with rc.Store(tmp_path / "jobs.db") as store:
        fill(store)
        store.jobs.enqueue("one", id="i" * 200, queue="q" * 50)
        job = running(store, "wordy", max_retries=0)
        store.jobs.fail("wordy", job.version, "Broken", "a long story " * 40)
        store.queues.set("mail", rate={"limit": 5, "per": 1000}, concurrency=3, defaults={"maxRetries": 3, "timeout": 90_000})
        store.queues.pause("work")
    return tmp_path / "jobs.db"


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_nothing_that_others_wrote_acts_on_the_terminal(nasty: Path, command: list[str]) -> None:
    with terminal(*command, "--db", nasty, columns=400) as shown:
        assert shown.end() == 0
    assert SHOWN in shown.screen
    assert "\x1b[31mx" not in shown.screen and "\x1b[31m\\r" not in shown.screen and ":smile:\x1b" not in shown.screen


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_a_pipe_gets_bare_lines(run: Run, nasty: Path, command: list[str]) -> None:
    out = run(*command, "--db", nasty).out
    assert "\x1b" not in out and "\r" not in out
    assert SHOWN in out


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_json_has_everything_as_it_is(run: Run, nasty: Path, command: list[str]) -> None:
    ran = run(*command, "--db", nasty, "--json")
    assert json.dumps(NASTY)[1:-1] in ran.out
    assert ran.err == ""
    assert isinstance(ran.json, dict)


@pytest.mark.parametrize("columns", every(3, [60, 80, 100, 400, 140]))
@pytest.mark.parametrize("command", ["jobs list", "jobs show wordy", "jobs show again", "jobs stats", "queues list", "dash --once"])
def test_no_line_is_wider_than_the_terminal(db: Path, command: str, columns: int) -> None:
    with terminal(*command.split(), "--db", db, columns=columns) as shown:
        assert shown.end() == 0
    lines = COLOURS.sub("", shown.screen).replace("\r", "").split("\n")
    assert [line for line in lines if len(line) > columns] == []
    assert len(lines) > 3


def test_a_list_for_people(db: Path) -> None:
    with terminal("jobs", "list", "--queue", "work", "--db", db, columns=140) as shown:
        assert shown.end() == 0
    lines = COLOURS.sub("", shown.screen).replace("\r", "").splitlines()
    assert lines[0].split() == ["id", "queue", "type", "state", "when", "sent", "retries", "worker", "error"]
    rows = {line.split()[0]: line for line in lines[2:-1]}
    assert "in 59m" in rows["again"] or "in 1h" in rows["again"]
    assert " 1/" in rows["again"]
    assert " w1" in rows["busy"]
    assert rows["wordy"].rstrip().endswith("…")
    assert lines[-1] == "5 jobs"


def test_an_id_is_always_whole(db: Path) -> None:
    for columns in (60, 120):
        with terminal("jobs", "list", "--db", db, columns=columns) as shown:
            assert shown.end() == 0
        assert COLOURS.sub("", shown.screen).count("i") > 200


def test_counts_stand_in_the_width_that_there_is(db: Path) -> None:
    with terminal("jobs", "stats", "--queue", "work", "--db", db, columns=140) as wide:
        assert wide.end() == 0
    with terminal("jobs", "stats", "--queue", "work", "--db", db, columns=60) as narrow:
        assert narrow.end() == 0
    assert re.search(r"work  paused +· +· +· +· +1 ", COLOURS.sub("", wide.screen))
    assert re.search(r"^archived +2\s", COLOURS.sub("", narrow.screen), re.MULTILINE)


def test_what_is_shown_of_policies_and_rates_can_be_given_again() -> None:
    for text in ("asynq", "fixed:10s,90m", "exponential:1500ms,factor=3,cap=1d,jitter=0.25", "exponential:1s,cap=1h"):
        assert policy_text(read_policy(text, "--retry-policy")) == text
    for text in ("100/1m", "5/1500ms,burst=20"):
        assert rate_text(read_rate(text, "--rate")) == text
    assert [exact(ms) for ms in (0, 1, 1000, 60_000, HOUR, 24 * HOUR, 25 * HOUR)] == ["0s", "1ms", "1s", "1m", "1h", "1d", "25h"]
