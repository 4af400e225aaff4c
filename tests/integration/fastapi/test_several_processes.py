"""The commands of docs/web.md that serve its app in several processes: every job runs once, also under prefork servers."""

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

PAGE = (Path(__file__).parents[3] / "docs" / "web.md").read_text(encoding="utf-8")
PATIENCE = 60.0
COMMANDS = {
    "uvicorn": "uvicorn shop:app --workers 2 --port {port}",
    "gunicorn": "gunicorn shop:app --workers 2 --worker-class asgi --bind 127.0.0.1:{port}",
    "gunicorn with preload": "gunicorn shop:app --workers 2 --worker-class asgi --bind 127.0.0.1:{port} --preload",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_job_runs_once(name: str, tmp_path: Path) -> None:
    if name != "gunicorn with preload":
        assert COMMANDS[name].partition(" --workers")[0] in PAGE
    found = re.search(r"<!-- file: shop.py -->\n```\w*\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert found is not None
    (tmp_path / "shop.py").write_text(found[1])
    port, log = free_port(), tmp_path / "log"
    command = [sys.executable, "-m", *COMMANDS[name].format(port=port).split()]
    with log.open("wb") as written:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=written, stderr=written, env={**os.environ, "PYTHONPATH": "."})
    orders = [f"receipt of {number}" for number in range(12)]
    try:
        end = time.monotonic() + PATIENCE
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE) as client:
            while True:
                assert process.poll() is None and time.monotonic() < end, log.read_text()
                try:
                    if client.get("/ready").status_code == 200:
                        break
                except httpx.TransportError:
                    time.sleep(0.05)
        for number in range(len(orders)):  # each on a new connection, so that several processes get some
            answer = httpx.post(f"http://127.0.0.1:{port}/orders/{number}", trust_env=False, timeout=PATIENCE)
            assert answer.status_code == 202, answer.text
        receipts = tmp_path / "receipts.txt"
        while not receipts.exists() or len(receipts.read_text().splitlines()) < len(orders):
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM), log.read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert sorted(receipts.read_text().splitlines()) == sorted(orders)
    assert "Traceback" not in log.read_text(), log.read_text()
