"""Servers that are measured: each a process of its own on 127.0.0.1, on a core of its own where there are two."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: The stores that are served, with their flags; a file is added to the last two.
SERVED: dict[str, list[str]] = {
    "echo": [],
    "memory": [],
    "SQLite normal": ["--durability", "normal"],
    "SQLite full": ["--durability", "full"],
}
FAR = 4_000_000_000_000
_PATIENCE = 30.0
_ROOT = Path(__file__).parents[2]


def cores() -> list[int]:
    """The cores that this process may use; the servers get the first, the load the last."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def on_core(core: int | None) -> list[str]:
    """What a command begins with that is to stay on a core."""
    return [] if core is None or shutil.which("taskset") is None else ["taskset", "-c", str(core)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def envelope(kind: str, **data: Any) -> bytes:
    return json.dumps({"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}).encode()


class Server:
    """A running server.

    Attributes:
        served: A key of `SERVED`, or another name.
        port: Where it listens.

    Args:
        served: The name of the echo or of the store, as in `SERVED`; it also names the file.
        folder: For the file, if it serves one.
        core: On which it stays, or None.
        url: Of the database that it serves instead.
    """

    def __init__(self, served: str, folder: Path, core: int | None, url: str | None = None) -> None:
        self.served = served
        self.port = free_port()
        if served == "echo":
            command = [sys.executable, "-m", "bench.http.echo", str(self.port)]
        else:
            command = [sys.executable, "-m", "resonate_core", "serve", "--port", str(self.port)]
            command += ["--log-level", "error", *SERVED.get(served, [])]
            if url is not None:
                command += ["--db", url]
            elif served.startswith("SQLite"):
                command += ["--db", str(folder.absolute() / f"{served.split()[1]}.db")]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
        self.process = subprocess.Popen([*on_core(core), *command], env=clean, cwd=_ROOT, stdin=subprocess.DEVNULL)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def post(self, body: bytes) -> bytes:
        with urllib.request.urlopen(self.url, body, timeout=_PATIENCE) as reply:
            answer: bytes = reply.read()
            return answer

    def begin(self) -> None:
        """Waits until it answers, and puts into it what is got."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self.post(envelope("promise.create", id="kept", timeoutAt=FAR, tags={"resonate:external": "true"}))
                return
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    @property
    def processes(self) -> list[int]:
        """Its process, and those that it started."""
        found = [self.process.pid]
        for pid in found:
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                found += map(int, children.read_text().split())
        return found

    def resident_bytes(self) -> int:
        """Memory of all its processes, pages that they share counted in parts (Pss)."""
        lines = (line for pid in self.processes for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines())
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

    def cpu_seconds(self) -> float:
        """What all its processes used so far."""
        fields = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in self.processes]
        return sum(int(of[11]) + int(of[12]) for of in fields) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def servers(served: list[str], folder: Path) -> Iterator[dict[str, Server]]:
    """Start all of them at once; a server without requests does nothing."""
    usable = cores()
    core = usable[0] if len(usable) > 1 else None
    running: dict[str, Server] = {}
    try:
        for what in served:
            running[what] = Server(what, folder, core)
        for server in running.values():
            server.begin()
        yield running
    finally:
        for server in running.values():
            server.end()
