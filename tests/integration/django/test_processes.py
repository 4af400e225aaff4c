"""Workers as processes: stopped, killed, restarted when the code changes; and processes that fork."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import PROJECT, Place

LINES = 600
"""How often `until` looks."""


def until(condition: Callable[[], bool], place: Place, *logs: str) -> None:
    """Waits until a condition holds."""
    for _ in range(LINES):
        if condition():
            return
        time.sleep(0.1)
    said = "\n".join(place.said(log) for log in logs)
    raise AssertionError(f"it did not happen\n{said}")


@pytest.fixture
def site(project: Place) -> Place:
    """The project with its tables created."""
    done = project.run("migrate", "--verbosity", "1")
    assert "Made the tables of the store in " in done.stdout
    return project


def enqueue(site: Place, call: str) -> str:
    """Enqueues a task in a process of its own; returns the id of the result."""
    return site.shell(f"from work import tasks\nprint(tasks.{call}.id)").strip()


def result(site: Place, id: str) -> dict[str, object]:
    """Returns what a process that has not enqueued the task reads of its result."""
    code = f"""
import json
from resonate_core.contrib.django import task_backends
found = task_backends["default"].get_result({id!r})
print(json.dumps([found.status, found.worker_ids, found.is_finished and found.status == "SUCCESSFUL" and found.return_value]))
"""
    status, workers, value = json.loads(site.shell(code))
    return {"status": status, "workers": workers, "value": value}


def test_a_stop_lets_running_tasks_end(site: Place, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.touch()
    worker = site.manage("resonate_worker", "--name", "first", log="worker.log")
    id = enqueue(site, f"note_and_wait.enqueue({str(notes)!r}, 1)")
    until(lambda: "begins" in notes.read_text(), site, "worker.log")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0
    assert notes.read_text() == "begins 1\nends 1\n"
    assert result(site, id) == {"status": "SUCCESSFUL", "workers": ["first"], "value": None}
    log = site.said("worker.log")
    assert "worker 'first' starts: queues default, mail; 4 slots" in log
    assert "worker 'first' has stopped" in log


def test_another_worker_continues_after_a_kill(site: Place, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.touch()
    worker = site.manage("resonate_worker", "--name", "first", "--lease", "2", log="worker.log")
    id = enqueue(site, f"note_and_wait.enqueue({str(notes)!r}, 600)")
    until(lambda: "begins" in notes.read_text(), site, "worker.log")
    worker.kill()
    worker.wait()
    other = site.manage("resonate_worker", "--name", "second", "--grace", "0", log="other.log")
    until(lambda: "begins 2" in notes.read_text(), site, "other.log")
    assert result(site, id)["workers"] == ["first", "second"]
    other.send_signal(signal.SIGTERM)
    other.wait(60)


def test_a_change_of_the_code_restarts_the_worker(site: Place, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    site.folder = copy
    site.environment["DEBUG"] = "1"
    site.manage("resonate_worker", log="worker.log")
    id = enqueue(site, "add.enqueue(1, 2)")
    until(lambda: result(site, id)["value"] == 3, site, "worker.log")
    code = copy / "work" / "tasks.py"
    code.write_text(code.read_text().replace("return a + b + more", "return a * 100 + b"))

    def restarted() -> bool:
        said = site.said("worker.log")
        if "changed, reloading" not in said:
            code.touch()  # again: Django begins to watch when it has imported all URLs, which may be later than the first job
        return said.count(" starts: ") == 2

    until(restarted, site, "worker.log")
    id = enqueue(site, "add.enqueue(1, 2)")
    until(lambda: result(site, id)["status"] == "SUCCESSFUL", site, "worker.log")
    assert result(site, id)["value"] == 102
    assert site.said("worker.log").count("has stopped") == 1  # the first gave back what it had claimed


def test_a_worker_that_cannot_begin(site: Place) -> None:
    site.url = "sqlite:///no/such/folder/site.db" if site.url.startswith("sqlite") else "postgresql://resonate@127.0.0.1:1/none"
    for words in (("--no-reload",), ("--reload",)):
        done = site.run("resonate_worker", *words, "--skip-checks", check=False)
        assert done.returncode == 1
        assert "CommandError" in done.stderr or "no/such/folder" in done.stderr or "127.0.0.1" in done.stderr


def test_processes_that_fork(site: Place) -> None:
    """As under gunicorn: the parent has opened the store, and each child continues with its own connection."""
    code = """
import os
from django.db import connections, transaction
from resonate_core.contrib.django import task_backends
from work import tasks
store = task_backends["default"].store
tasks.add.enqueue(0, 0)
connections.close_all()  # Django's own connection does not survive a fork
children = []
for number in range(4):
    child = os.fork()
    if child == 0:
        for n in range(10):
            with transaction.atomic():
                tasks.add.enqueue(number, n)
        tasks.add.enqueue(number, 10)
        os._exit(0)
    children.append(child)
codes = [os.waitpid(child, 0)[1] for child in children]
jobs = store.jobs.search(limit=1000)
print(codes, len(jobs), len({job.id for job in jobs}))
"""
    assert site.shell(code) == "[0, 0, 0, 0] 45 45\n"
