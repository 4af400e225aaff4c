"""The examples that mount the server into an app: each on a real server, with a request, a message and the app's own page."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from free_ports import free_port

EXAMPLES = Path(__file__).parents[2] / "examples"
FAR = 4_000_000_000_000


def call(port: int, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, {"content-type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else {}
    finally:
        connection.close()


@pytest.fixture(params=["fastapi:app", "starlette:app", "django:application"])
def port(request, tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", f"mounted_in_{request.param}", "--port", str(port), "--log-level", "warning"]
    environment = {**os.environ, "SHOP_DB": str(tmp_path / "shop.db")}
    log = tmp_path / "log"
    with open(log, "wb") as output:
        server = subprocess.Popen(command, cwd=EXAMPLES, env=environment, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + 60
        while True:
            assert server.poll() is None and time.monotonic() < deadline, log.read_text()
            try:
                assert call(port, "GET", "/resonate/ready")[0] == 200
                break
            except OSError:
                time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        try:
            assert server.wait(60) in (0, -15), log.read_text()
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
            raise
    assert "Traceback" not in log.read_text(), log.read_text()


def envelope(kind: str, **data) -> dict:
    return {"kind": kind, "head": {"corrId": "c", "version": "2026-04-01"}, "data": data}


def test_the_protocol_a_stream_and_the_apps_own_pages(port):
    stream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    stream.request("GET", "/resonate/poll/shop/worker-1")
    events = stream.getresponse()
    assert events.status == 200 and events.headers["content-type"] == "text/event-stream"

    data = {"id": "order.7", "timeoutAt": FAR, "tags": {"resonate:target": "poll://any@shop"}}
    for path in ("/resonate/", "/resonate/"):  # the second time it is there already
        status, answer = call(port, "POST", path, envelope("promise.create", **data))
        assert status == 200 and answer["data"]["promise"]["id"] == "order.7", answer

    line = b""
    while not line.startswith(b"data:"):
        line = events.readline()
    message = json.loads(line[5:])
    assert message == {
        "kind": "execute",
        "head": {"serverUrl": "http://localhost:8000/resonate"},
        "data": {"task": {"id": "order.7", "version": 0}},
    }
    stream.close()

    status, answer = call(port, "GET", "/orders/7")
    assert (status, answer.get("state", "pending")) in [(200, "pending"), (405, "pending")]
    assert call(port, "POST", "/resonate/", envelope("promise.get", id="nobody"))[0] == 404
    assert call(port, "GET", "/resonate/promises")[0] == 410
    assert call(port, "GET", "/resonate/nothing/here")[0] == 404
