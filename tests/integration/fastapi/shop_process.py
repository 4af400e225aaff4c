"""The shop under test: its pages under uvicorn on a free port, and its worker, as processes that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from free_ports import free_port

EXAMPLES = Path(__file__).parents[3] / "examples"
PATIENCE = 60.0


class ShopProcess:
    """One process of the shop.

    Args:
        store: The path or URL of its store.
        log: The file of its log.
        worker: Whether the process of the pages also runs jobs.
    """

    def __init__(self, store: str, log: Path, *, worker: bool = True) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        self.environment = {**os.environ, "SHOP_STORE": store, "SHOP_WORKER": "1" if worker else "0"}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> ShopProcess:
        """Starts the pages, and waits until they are ready."""
        self._run("uvicorn", "fastapi_shop.app:app", "--port", str(self.port), *options)
        end = time.monotonic() + PATIENCE
        while not self._ready():
            self.check_alive()
            assert time.monotonic() < end, f"not ready:\n{self.log.read_text()}"
            time.sleep(0.05)
        return self

    def start_worker(self) -> ShopProcess:
        """Starts a worker in a process of its own."""
        self._run("fastapi_shop.worker")
        return self

    def _run(self, *arguments: str) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *arguments], cwd=EXAMPLES, env=self.environment, stdout=log, stderr=log
            )

    def check_alive(self) -> None:
        assert self.process is not None
        assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.log.read_text()}"

    def _ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ready", trust_env=False, timeout=PATIENCE).status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Kills it with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        """Stops it with SIGTERM; it must end by itself, and log no traceback."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(PATIENCE) in (0, -signal.SIGTERM), self.log.read_text()
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        assert "Traceback" not in self.log.read_text(), self.log.read_text()
