"""`jobs types MODULE:NAME`: the types of jobs that a program's worker handles."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import dataclasses
from resonate_core.worker import Worker

@dataclasses.dataclass
class Mail:
    to: str
    subject: str = "hello"

worker = Worker(queues="mail")

@worker.task("email:send", queue="mail")
def send(mail: Mail):
    pass

@worker.task("add")
def add(a: int, b: int = 2):
    pass

@worker.batch_task("digest")
def digest(news: list[str]):
    pass

class Runs:
    def run(self):
        pass

other = Runs()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def types(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "resonate_core", "jobs", "types", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_a_person_reads_them(folder: Path):
    done = types(folder, "program:worker")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "add  queue default  (a: 'int', b: 'int' = 2)".replace("'", "")
    assert (
        lines[2].startswith("digest  queue default  batches of (news: ")
        and lines[4] == "email:send  queue mail  (mail: program.Mail)"
    )


def test_a_program_reads_them(folder: Path):
    done = types(folder, "program:worker", "--json")
    found = {one["type"]: one for one in json.loads(done.stdout)["types"]}
    assert list(found) == ["add", "digest", "email:send"]
    assert found["add"]["payload"] == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert found["digest"]["batch"] and found["digest"]["payload"] == {"type": "string"}
    mail = found["email:send"]
    assert (mail["queue"], mail["payload"]["$ref"]) == ("mail", "#/$defs/Mail")
    assert mail["payload"]["$defs"]["Mail"]["required"] == ["to"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["program:other"], "'program:other' must be a Worker, got Runs"),
        (["program:nothing"], "has no 'nothing'"),
        (["nowhere:worker"], "there is no module 'nowhere'"),
        (["program:worker", "--app-dir", "nowhere"], "there is no folder 'nowhere'"),
    ],
)
def test_what_cannot_be_listed(folder: Path, arguments: list[str], said: str):
    done = types(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr
