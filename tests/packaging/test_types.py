"""What a type checker says about programs that use the worker: good ones pass, and planted mistakes are red."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

ROOT = Path(__file__).parents[2]

#: Each line with a comment is a mistake, and the comment is the code that mypy gives it.
PROGRAM = """
from resonate_core.worker import JobEvent, JobOptions, Worker

worker = Worker()


@worker.task("email:send", max_retries=3, retention="kept")
def send(to: str, subject: str = "hello") -> str:
    return f"{subject} to {to}"


@worker.task("weigh", wieght=3)  # call-overload
def weigh(n: int) -> int:
    return n


@worker.task("keep", lifecycle="celery")  # call-overload
def keep(n: int) -> int:
    return n


@worker.on_failure
def report(event: JobEvent) -> None:
    print(event.kind, event.job.id, event.error)


@worker.on_failure  # type-var
def reports(event: int) -> None:
    print(event)


send.enqueue({"to": "ada"}, id="a", process_in=60_000, unique_key="k")
send.enqueue({"to": "ada"}, max_retry=3)  # call-arg
send.enqueue({"to": "ada"}, priority="high")  # arg-type
send.enqueue_many([{"to": "ada"}], ids=["a"])
send.enqueue_many([{"to": "ada"}], id="a")  # call-arg
send.delay("ada", subject="hi")
send.delay(to=5)  # arg-type
send.delay("ada", subjet="hi")  # call-arg
send.delay()  # call-arg
send.using(id="a").delay("ada").state
send.using(quue="mail")  # call-arg
worker.enqueue("t", 1, queue="mail")
worker.enqueue("t", 1, que="mail")  # call-arg
worker.periodic("@daily", send, {"to": "ada"}, retention="kept")
worker.periodic("@daily", send, {"to": "ada"}, retntion="kept")  # call-arg
options: JobOptions = {"queue": "mail", "timeout": 5}
wrong: JobOptions = {"queue": "mail", "timout": 5}  # typeddict-unknown-key
text: str = send("ada")
number: int = send("ada")  # assignment
"""


def test_mistakes_are_red_and_nothing_else(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--python-version", "3.10"]
    done = subprocess.run([*command, str(program)], capture_output=True, text=True, check=False, cwd=ROOT)
    lines = PROGRAM.splitlines()
    planted = {(number, line.split("# ")[1]) for number, line in enumerate(lines, 1) if "  # " in line}
    found = {(int(line), code) for line, code in re.findall(r"program\.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.M)}
    found = {each for each in found if each[1] != "untyped-decorator"}  # it follows from an option that the decorator refuses
    assert found == planted, done.stdout + done.stderr
