"""A real server process for tests, and its log."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

__all__ = ["Served", "served"]

_PATIENCE = 60


class Served:
    """``resonate-core serve`` as a process, on a free port of 127.0.0.1; its output is in `log`."""

    def __init__(self, folder: Path, *flags: object) -> None:
        self.log = folder / "served.log"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
        command = [sys.executable, "-m", "resonate_core", "serve", "--port", "0", *map(str, flags)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=clean, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.client = httpx.Client(timeout=_PATIENCE, trust_env=False)
        self.url = ""

    def started(self) -> Served:
        """Waits until the server answers."""
        until = time.monotonic() + _PATIENCE
        while not self.ready():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.02)
        return self

    def ready(self) -> bool:
        found = re.search(r" at (https?://[^/ ]+)\S* \(process", self.said())
        if found is None:
            return False
        self.url = found[1]  # without the root path, which a proxy would strip
        try:
            return self.client.get(f"{self.url}/ready").status_code == 200
        except httpx.TransportError:
            return False

    def said(self) -> str:
        return self.log.read_text()

    @property
    def port(self) -> int:
        return int(httpx.URL(self.url).port or 0)

    def ask(self, kind: str, **data: Any) -> Any:
        envelope = {"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}
        reply = self.client.post(f"{self.url}/", json=envelope)
        assert reply.status_code == 200, reply.text
        return reply.json()["data"]

    def ended(self, status: int = 0) -> None:
        """Waits until the process has ended."""
        assert self.process.wait(_PATIENCE) == status, self.said()

    def close(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def served(folder: Path, *flags: object) -> Iterator[Served]:
    server = Served(folder, *flags)
    try:
        yield server.started()
    finally:
        server.close()
