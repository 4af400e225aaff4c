"""`resonate-core worker` logged nothing at its start and stop, and its errors had neither time nor level."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from resonate_core.worker import Worker

PROGRAM = """
from resonate_core.worker import Worker

worker = Worker("app.db", queues={"mail": 3, "default": 1}, concurrency=2, name="mailer", poll_interval=20)
ended = []


@worker.task("email:send")
def send(to):
    ended.append(to)
    if len(ended) == 2:
        worker.stop()
    if to == "nobody":
        raise ConnectionError("no answer")


worker.periodic("0 3 * * *", "report", name="nightly")
"""
LINE = re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3}Z? (INFO|WARNING|DEBUG) +resonate_core\.worker: (.*)$")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(PROGRAM)
    with rc.Store(tmp_path / "app.db") as store:
        for number, to in enumerate(["ann", "nobody"]):
            store.jobs.enqueue("email:send", to, id=f"mail-{number}", queue="mail")
    return tmp_path


def run(folder: Path, *options: str, place: str = "shop:worker") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "resonate_core", "worker", place, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=120)


def test_it_says_what_it_works_for_what_failed_and_what_it_did(folder: Path):
    done = run(folder)
    assert done.returncode == 0, done.stderr
    found = [LINE.match(line) for line in done.stderr.splitlines()]
    assert all(found), done.stderr
    levels, texts = zip(*[match.groups() for match in found if match], strict=True)
    assert levels == ("INFO", "INFO", "WARNING", "INFO")
    assert texts[0] == f"program shop:worker in {folder.resolve()}"
    file = str(folder.resolve() / "app.db")
    assert texts[1].startswith(
        f"worker 'mailer' starts: queues mail (weight 3), default (weight 1); 2 slots; jobs of Store(path={file!r}"
    )
    assert "types email:send; periodic jobs nightly; resonate-core" in texts[1]
    assert texts[2] == "job mail-1 of type email:send, attempt 1, failed: UnhandledError ConnectionError: no answer"
    assert re.match(r"worker 'mailer' has stopped after \d+\.\d s: completed 1, failed 1, snoozed 0, lost 0, ", texts[3])


def test_one_object_a_line(folder: Path):
    done = run(folder, "--log-format", "json")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    (failed,) = [line for line in lines if line["level"] == "WARNING"]
    assert (failed["job"], failed["type"], failed["attempt"]) == ("mail-1", "email:send", 1)
    assert all(line["time"] for line in lines)


def test_how_much_it_says(folder: Path):
    assert [LINE.match(line) is not None for line in run(folder, "--log-level", "warning").stderr.splitlines()] == [True]
    refused = run(folder, "--log-level", "loud")
    assert (refused.returncode, refused.stderr.strip()) == (
        2,
        "--log-level must be 'debug', 'info', 'warning' or 'error', got 'loud'",
    )


def test_a_program_that_set_up_its_logging_keeps_it(folder: Path):
    setup = 'import logging\nlogging.basicConfig(level="INFO", format="mine: %(message)s")\n'
    (folder / "own.py").write_text(setup + PROGRAM)
    lines = run(folder, place="own:worker").stderr.splitlines()
    assert lines and all(line.startswith("mine: ") for line in lines)


def test_a_worker_beside_a_program_says_it_too(caplog: pytest.LogCaptureFixture):
    worker = Worker(rc.Store(), queues=["a", "b"], strict=True, name="w", concurrency=3)
    with caplog.at_level(logging.INFO, logger="resonate_core.worker"), worker:
        pass
    first, last = [record.getMessage() for record in caplog.records]
    assert first.startswith("worker 'w' starts: queues a, b (in this order); 3 slots; jobs of Store(")
    assert "no handlers" in first
    assert "worker 'w' has stopped after" in last and last.endswith(
        "completed 0, failed 0, snoozed 0, lost 0, released 0, expired 0, standstills 0, suspended 0, restarted 0"
    )
