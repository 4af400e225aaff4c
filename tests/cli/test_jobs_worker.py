"""`worker MODULE:NAME`: the imported worker runs; an import that fails is an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from protocol_server import Run

PROGRAM = """
import sys

class Runs:
    def run(self):
        print("ran", sys.path[0] != "", flush=True)

class Waits:
    def run(self):
        import time
        print("waits", flush=True)
        time.sleep(600)

class Fails:
    def run(self):
        raise RuntimeError("no ink")

good, waits, fails, number = Runs(), Waits(), Fails(), 3

class Space:
    inner = good
"""


def worker(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = (
        [sys.executable, "-P", "-m", "resonate_core"] if sys.version_info >= (3, 11) else [sys.executable, "-m", "resonate_core"]
    )
    return subprocess.run([*command, "worker", *arguments], capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "broken.py").write_text("import json\n\nraise ValueError('a bad day')\n")
    (tmp_path / "wants.py").write_text("import a_module_that_nobody_has\n")
    (tmp_path / "faulty.py").write_text("def f(:\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "jobs.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize("place", ["program:good", "package.jobs:good", "program:Space.inner"])
def test_it_runs(folder: Path, place: str) -> None:
    done = worker(folder, place)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran True\n", "")


def test_modules_of_another_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert worker(tmp_path / "elsewhere", "program:good").returncode == 2
    done = worker(tmp_path / "elsewhere", "program:good", "--app-dir", "..")
    assert (done.returncode, done.stdout) == (0, "ran True\n")
    assert worker(folder, "program:good", "--app-dir", "nowhere").returncode == 2


@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        ("program", 2, "is not written as MODULE:NAME"),
        ("program:", 2, "is not written as MODULE:NAME"),
        (":good", 2, "is not written as MODULE:NAME"),
        ("program.py:good", 2, "is no name of a module"),
        ("nothing:good", 2, "there is no module 'nothing'"),
        ("package.nothing:good", 2, "there is no module 'package.nothing'"),
        ("nothing.jobs:good", 2, "there is no module 'nothing'"),
        ("program:best", 2, "module 'program' has no 'best'; what can be run in it: fails, good, waits"),
        ("program:Space.outer", 2, "'program:Space' has no 'outer'"),
        ("program:number", 2, "'program:number' (int) has no run()"),
        ("program:Runs", 2, "'program:Runs' is a class"),
        ("broken:good", 1, "ValueError: a bad day"),
        ("wants:good", 1, "module 'wants' cannot be imported: No module named 'a_module_that_nobody_has'"),
        ("faulty:good", 1, "SyntaxError"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(folder: Path, place: str, code: int, said: str) -> None:
    done = worker(folder, place)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_line_of_what_broke_is_named(folder: Path) -> None:
    assert "broken.py, line 3)" in worker(folder, "broken:good").stderr


def test_what_it_raises_while_it_runs_is_shown_whole(folder: Path) -> None:
    done = worker(folder, "program:fails")
    assert done.returncode == 1
    assert "Traceback" in done.stderr and "no ink" in done.stderr


SHOP = """
import os

from resonate_core.worker import Worker

worker = Worker(os.environ["SHOP_STORE"], queues="mail", poll_interval=20)


@worker.task("email:send")
def send(to):
    return f"sent to {to}"
"""


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_of_jobs(run: Run, store_flags: list[str], tmp_path: Path, stop: signal.Signals) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    command = [sys.executable, "-m", "resonate_core", "worker", "shop:worker"]
    environment = {**os.environ, "SHOP_STORE": store_flags[1]}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as running:
        assert run("jobs", "enqueue", "email:send", "--id", "m", "--queue", "mail", "--payload", '"ada"', *store_flags).code == 0
        assert run("promises", "wait", "m", "--limit", "60s", *store_flags).code == 0
        running.send_signal(stop)
        _, said = running.communicate()
    assert running.returncode == 0
    # The program, the start and the stop. The server of this test has no stream of jobs, which is logged too.
    lines = [line for line in said.splitlines() if "no stream of jobs" not in line]
    assert [" INFO " in line for line in lines] == [True] * 3, said
    assert 'result\t"sent to ada"\n' in run("jobs", "show", "m", *store_flags).out


def test_ctrl_c_where_it_does_not_mind_signals_itself(folder: Path) -> None:
    command = [sys.executable, "-m", "resonate_core", "worker", "program:waits"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=dict(os.environ)
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "waits\n"
        running.send_signal(signal.SIGINT)
        _, said = running.communicate()
    assert running.returncode == 130
    assert "Traceback" not in said
