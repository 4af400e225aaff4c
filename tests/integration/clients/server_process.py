"""The server under test: a process on a file and a port, that can be stopped, killed and started again on both."""

from __future__ import annotations

import base64
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

VERSION = "2026-04-01"

# Below the ports that systems give to outgoing connections: a client that calls a port of theirs while nobody listens there
# can be given the very same port, and would then be connected to itself.
FIRST_PORT, LAST_PORT = 20_000, 32_000
_ports = itertools.count(os.getpid() * 37)


def free_port() -> int:
    """A port where nobody listens now."""
    for n in itertools.islice(_ports, LAST_PORT - FIRST_PORT):
        port = FIRST_PORT + n % (LAST_PORT - FIRST_PORT)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no free port from {FIRST_PORT} to {LAST_PORT}")


def clean_environment() -> dict[str, str]:
    """This process's, without what anybody's Resonate would read there."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("RESONATE_", "PEER_"))}


def encoded(value: Any) -> dict[str, Any]:
    """A value as every client writes it: JSON in base64."""
    return {"data": base64.b64encode(json.dumps(value).encode()).decode()}


def decoded(value: dict[str, Any]) -> Any:
    """What a client wrote; nothing written is None."""
    return json.loads(base64.b64decode(value["data"])) if value.get("data") else None


class ServerProcess:
    """One server.

    Args:
        folder: Where its file and its log are.
        settings: By the names that they have in the environment, without the prefix: `STREAMS__LIFETIME`.
    """

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.path = folder / "server.db"
        self.log = folder / "server.log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.settings = {f"RESONATE_{name}": str(value) for name, value in settings.items()}
        self.token: str | None = None
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def command(self) -> list[str]:
        """How it is started."""
        serve = [sys.executable, "-m", "resonate_core", "serve"]
        return [*serve, "--db", str(self.path), "--host", "127.0.0.1", "--port", str(self.port)]

    def start(self) -> ServerProcess:
        """Starts it, on whatever its file holds, and waits until it is ready."""
        assert self.process is None, "it runs already"
        assert not self.ready(), f"somebody else serves on port {self.port}"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env=clean_environment() | self.settings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + 60
        while not self.ready():
            assert self.process.poll() is None, f"the server ended with {self.process.returncode}"
            assert time.monotonic() < end, "the server is not ready after 60 s"
            time.sleep(0.02)
        return self

    def ready(self) -> bool:
        """Whether it says so."""
        try:
            return httpx.get(f"{self.url}/ready", timeout=10, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        """Kill −9."""
        assert self.process is not None, "it does not run"
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        """Asks it to end, and sees to it that it does."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError("the server did not end within 60 s of SIGTERM") from None
        assert process.returncode in (0, -signal.SIGTERM), f"the server ended with {process.returncode}"

    def ask(self, kind: str, data: dict[str, Any], token: str | None = None) -> tuple[int, Any]:
        """One request of the protocol; returns the status and the data of its answer."""
        head = {"corrId": "test", "version": VERSION}
        if token or self.token:
            head["auth"] = token or self.token or ""
        answer = httpx.post(self.url, json={"kind": kind, "head": head, "data": data}, timeout=60, trust_env=False).json()
        return answer["head"]["status"], answer["data"]

    def must(self, kind: str, data: dict[str, Any]) -> Any:
        """One request that is not refused; returns the data of its answer."""
        status, answer = self.ask(kind, data)
        assert status == 200, f"{kind} {data}: {status} {answer!r}"
        return answer
