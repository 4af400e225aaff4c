"""Helpers for tests of the commands on jobs: stores with jobs in many states, and a terminal that sends keys."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import pytest
from protocol_server import Server

import resonate_core as rc

HOUR = 3_600_000
LEASE = 10 * HOUR


@contextmanager
def opened(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[rc.Store, list[str]]]:
    """An empty store, and the flags that name it."""
    if kind == "url":
        server: Server = request.getfixturevalue("server")
        server.store.close()
        server.store = rc.Store()
        yield server.store, ["--url", server.url]
        return
    with rc.Store(folder / "jobs.db") as store:
        yield store, ["--db", str(folder / "jobs.db")]


def running(store: rc.Store, id: str, queue: str = "work", **options: object) -> rc.Job:
    """A job that worker w1 runs."""
    store.jobs.enqueue("report:make", id=id, queue=queue, **options)
    (job,) = store.jobs.claim(queue, worker="w1", lease=LEASE)
    assert job.id == id
    return store.jobs.start(id, job.version)


def fill(store: rc.Store) -> None:
    """Fills two queues. Mail: a pending and a scheduled job. Work: a running, a retried, an archived and a completed job."""
    store.jobs.enqueue("email:send", {"to": "ada"}, id="mail-1", queue="mail", tags={"team": "blue"}, unique_key="ada")
    store.jobs.enqueue("email:send", {"to": "bob"}, id="mail-2", queue="mail", priority=10)
    store.jobs.enqueue("email:news", id="mail-3", queue="mail", process_in=HOUR)
    store.jobs.complete("done", running(store, "done").version, {"pages": 3})
    job = running(store, "again", retry_policy={"kind": "fixed", "intervals": [HOUR]})
    store.jobs.fail("again", job.version, "Timeout", "no answer")
    job = running(store, "dead", max_retries=0)
    store.jobs.fail("dead", job.version, "Broken", "no paper")
    running(store, "busy")


@dataclass
class Terminal:
    """A process whose standard streams are a terminal."""

    process: subprocess.Popen[bytes]
    outer: int
    screen: str = ""
    _bytes: bytes = field(default=b"", repr=False)

    def read_until(self, *texts: str) -> None:
        """Waits until the screen shows these texts, after those of the last call; raises AssertionError if the process ends first."""
        began, seen = monotonic(), len(self.screen)
        while not all(text in self.screen[seen:] for text in texts):
            assert self._read(), f"{texts} is not in {self.screen[seen:]!r}"
            assert monotonic() - began < 120, f"{texts} is not in {self.screen[seen:]!r}"

    def _read(self) -> bool:
        if not select.select([self.outer], [], [], 60)[0]:
            return False
        try:
            part = os.read(self.outer, 65_536)
        except OSError:  # Linux reports the closed other end like this
            return False
        self._bytes += part
        self.screen = self._bytes.decode(errors="replace")
        return bool(part)

    def type(self, text: str) -> None:
        """Sends text, as if a person typed it."""
        os.write(self.outer, text.encode())

    def end(self) -> int:
        """Reads the rest of the output; returns the exit code."""
        while self._read():
            pass
        return self.process.wait()


@contextmanager
def terminal(*arguments: object, columns: int = 200, lines: int = 50) -> Iterator[Terminal]:
    """Runs a command in a terminal of some size."""
    outer, inner = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": str(lines)}
    command = [sys.executable, "-m", "resonate_core", *map(str, arguments)]
    process = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=environment)
    os.close(inner)
    try:
        yield Terminal(process, outer)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(outer)
