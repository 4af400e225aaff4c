"""The server under test: a process with a store and a port, which can be stopped, killed and started again with both."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from free_ports import free_port

VERSION = "2026-04-01"


def clean_environment() -> dict[str, str]:
    """The environment of this process without the variables that Resonate reads."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("RESONATE_", "PEER_"))}


def encoded(value: Any) -> dict[str, Any]:
    """A value in the form of all clients: JSON in base64."""
    return {"data": base64.b64encode(json.dumps(value).encode()).decode()}


def decoded(value: dict[str, Any]) -> Any:
    """Decodes a value that a client wrote; an empty value is None."""
    return json.loads(base64.b64decode(value["data"])) if value.get("data") else None


class ServerProcess:
    """One server.

    Args:
        log: The file of its log.
        place: The path or URL of its store.
        settings: Settings by their names in the environment, without the prefix: `STREAMS__LIFETIME`.
    """

    def __init__(self, log: Path, place: Path | str, **settings: Any) -> None:
        self.log = log
        self.place = place
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.settings = {f"RESONATE_{name}": str(value) for name, value in settings.items()}
        self.token: str | None = None
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def command(self) -> list[str]:
        """The command that starts the server."""
        serve = [sys.executable, "-m", "resonate_core", "serve"]
        return [*serve, "--db", str(self.place), "--host", "127.0.0.1", "--port", str(self.port)]

    def start(self) -> ServerProcess:
        """Starts the server on its store, which may exist, and waits until it is ready."""
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
        """Whether the server reports that it is ready."""
        try:
            return httpx.get(f"{self.url}/ready", timeout=10, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        """Kills the server with SIGKILL."""
        assert self.process is not None, "it does not run"
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        """Sends SIGTERM, and kills the server if it does not end."""
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
        """Sends a request of the protocol; returns the status and the data of its answer."""
        head = {"corrId": "test", "version": VERSION}
        if token or self.token:
            head["auth"] = token or self.token or ""
        answer = httpx.post(self.url, json={"kind": kind, "head": head, "data": data}, timeout=60, trust_env=False).json()
        return answer["head"]["status"], answer["data"]

    def must(self, kind: str, data: dict[str, Any]) -> Any:
        """Sends a request that must have status 200; returns the data of its answer."""
        status, answer = self.ask(kind, data)
        assert status == 200, f"{kind} {data}: {status} {answer!r}"
        return answer
