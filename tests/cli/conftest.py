"""Fixtures of the command line: commands run in this process, a store's file, and a server of the protocol on a free port."""

from __future__ import annotations

import io
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from protocol_server import Ran, Run, Server, fill

import resonate_core as rc
from command_line import run_command


@pytest.fixture(autouse=True)
def _empty_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hides the environment variables and configuration files of this machine."""
    for name in list(os.environ):
        if name.upper().startswith("RESONATE_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command as the program does: `run("promises", "get", "a")`."""

    def run_it(*arguments: object, stdin: str = "") -> Ran:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        return run_command(capsys, *arguments)

    return run_it


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store's file with a settled and a pending promise, a task and a schedule."""
    path = tmp_path / "app.db"
    with rc.Store(path) as store:
        fill(store)
    return path


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that listens on 127.0.0.1 until the test ends."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    served = Server(rc.Store())
    fill(served.store)

    async def post(request: Request) -> Response:
        status, kind, body = served.reply(await request.body(), request.headers.get("authorization"))
        return Response(body, status, media_type=kind)

    app = Starlette(routes=[Route("/", post, methods=["POST"]), Route("/mounted/", post, methods=["POST"])])
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        served.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        runner = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
        thread = threading.Thread(target=runner.run, kwargs={"sockets": [listening]})
        thread.start()
        while not runner.started and thread.is_alive():
            sleep(0.005)
        try:
            yield served
        finally:
            runner.should_exit = True
            thread.join()
            served.store.close()


@pytest.fixture(params=["file", "url"])
def store_flags(request: pytest.FixtureRequest) -> list[str]:
    """The flags that name the file, then those that name the server; both stores have the same contents."""
    if request.param == "file":
        return ["--db", str(request.getfixturevalue("db"))]
    return ["--url", request.getfixturevalue("server").url]
