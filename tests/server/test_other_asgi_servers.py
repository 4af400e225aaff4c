"""docs/server.md has a command for each of some ASGI servers: each serves the app, and ends on SIGTERM."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from free_ports import free_port
from resonate_core import Store

PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("### Under another ASGI server\n")[2].partition("\n### ")[0]
COMMANDS = dict(re.findall(r"^\| (\w+) \| `([^`]+)` \|", SECTION, flags=re.MULTILINE))
PATIENCE = 60


def test_the_page_names_them() -> None:
    assert list(COMMANDS) == ["uvicorn", "granian", "hypercorn", "gunicorn"]


def until_ready(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None and time.monotonic() < until, log.read_text()
        try:
            if client.get("/ready").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)


@pytest.mark.parametrize("name", COMMANDS)
def test_its_command_serves_the_app_until_sigterm(name: str, tmp_path: Path) -> None:
    pytest.importorskip(name)
    found = re.search(r"<!-- file: shop.py -->\n```\w*\n(.*?)^```$", SECTION, flags=re.DOTALL | re.MULTILINE)
    assert found is not None
    (tmp_path / "shop.py").write_text(found[1])
    port, log = str(free_port()), tmp_path / "log"
    command = COMMANDS[name].replace("8001", port)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with log.open("wb") as written:
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=tmp_path, env=environment, stdout=written, stderr=written, start_new_session=True
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE) as client:
            until_ready(client, process, log)
            data = {"id": "order:1", "timeoutAt": 4_000_000_000_000}
            envelope = {"kind": "promise.create", "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}
            assert client.post("/", json=envelope).status_code == 200
        process.send_signal(signal.SIGTERM)
        # uvicorn stops, and then raises the signal again.
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM), log.read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    with Store(tmp_path / "shop.db") as store:
        assert store.promises.get("order:1").state == "pending"
        assert store.check() == []
