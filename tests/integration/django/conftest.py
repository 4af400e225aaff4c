"""A Django project on each storage: its own file, or its own database on the shared PostgreSQL server."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import postgres_server
from backends import POSTGRES, require
from temporary_files import place_of_files

ROOT = Path(__file__).parents[3]
PROJECT = Path(__file__).parent / "project"
SHOP = ROOT / "examples" / "django_shop"
_databases = itertools.count()


@dataclass
class Place:
    """A project and its database.

    Attributes:
        folder: Of manage.py.
        url: Of the database.
        scratch: A folder for files of the test.
        environment: More variables of its processes.
    """

    folder: Path
    url: str
    scratch: Path
    environment: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def _variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "RESONATE_STORE"))}
        own = {"DATABASE_URL": self.url, "STORE_APART": str(self.scratch / "apart.db"), "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
        return {**kept, **own, "PYTHONDONTWRITEBYTECODE": "1", **self.environment}

    def run(self, *words: str, check: bool = True, timeout: float = 550) -> subprocess.CompletedProcess[str]:
        """Runs a command of manage.py until it ends."""
        command = [sys.executable, "-W", "error", "manage.py", *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self._variables(), capture_output=True, text=True, timeout=timeout, check=False
        )
        assert not check or done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done

    def shell(self, code: str) -> str:
        """Returns what a program in the project prints."""
        begin = "import django; django.setup()\n"
        variables = {**self._variables(), "DJANGO_SETTINGS_MODULE": "shop.settings" if self.folder == SHOP else "settings"}
        done = subprocess.run(
            [sys.executable, "-c", begin + code],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *command: str, log: str) -> subprocess.Popen[str]:
        """Starts a process that ends with the test at the latest; its output goes into a file."""
        with (self.scratch / log).open("a") as output:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self._variables(), stdout=output, stderr=output, text=True, start_new_session=True
            )
        self.processes.append(process)
        return process

    def manage(self, *words: str, log: str) -> subprocess.Popen[str]:
        """Starts a command of manage.py."""
        return self.start(sys.executable, "manage.py", *words, log=log)

    def said(self, log: str) -> str:
        """Returns the output of a process until now."""
        return (self.scratch / log).read_text()

    def end(self) -> None:
        """Ends the processes that still run, and their children."""
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder for files of the test, in memory if there is room: Django and the store sync each commit."""
    with tempfile.TemporaryDirectory(prefix="resonate-django-", dir=place_of_files()) as folder:
        yield Path(folder)


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, scratch: Path) -> Iterator[str]:
    """The URL of a new, empty database."""
    if request.param == "sqlite":
        yield f"sqlite://{scratch / 'site.db'}"
        return
    require(POSTGRES)
    server = postgres_server.shared()
    name = f"django_{os.getpid()}_{next(_databases)}"
    yield server.create_database(name)
    server.drop_database(name)


def _place(folder: Path, url: str, scratch: Path) -> Iterator[Place]:
    place = Place(folder, url, scratch)
    try:
        yield place
    finally:
        place.end()


@pytest.fixture
def project(database_url: str, scratch: Path) -> Iterator[Place]:
    """The project under test."""
    yield from _place(PROJECT, database_url, scratch)


@pytest.fixture
def shop(database_url: str, scratch: Path) -> Iterator[Place]:
    """The shop of the examples."""
    yield from _place(SHOP, database_url, scratch)
