"""`serve` as a process: it starts, answers the command line, and stops on a signal."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest
from protocol_server import Run

SECRET = "correct-horse-battery-staple-32-bytes"


@contextlib.contextmanager
def serving(*flags: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str], list[str]]]:
    """A server that listens: its URL, its process, and the lines logged so far (all lines once it has ended)."""
    command = [sys.executable, "-m", "resonate_core", "serve", "--port", "0", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        assert process.stderr is not None
        said: list[str] = []
        url = ""
        for line in process.stderr:
            said.append(line)
            found = re.search(r"serving .* at (https?://[\w.:]+)", line)
            if found:  # it listens by then
                url = found[1]
                break
        try:
            assert url, "".join(said)
            yield url, process, said
        finally:
            process.send_signal(signal.SIGTERM)
            said += process.stderr.readlines()
            process.wait()


def test_a_file_is_served_until_it_is_told_to_stop(run: Run, tmp_path: Path) -> None:
    with serving("--db", "app.db", "--debug") as (url, process, _):
        assert run("promises", "create", "a", "--target", "poll://any@g", "--url", url).code == 0
        assert [one["id"] for one in run("messages", "--url", url, "--json").json["messages"]] == ["a"]
        assert run("invoke", "root", "--func", "f", "--url", url).code == 0
        assert run("tree", "root", "--url", url).out.startswith("root  pending  f")
    assert process.returncode == 0
    assert run("promises", "get", "a", "--db", tmp_path / "app.db").code == 0


def test_a_server_that_asks_for_tokens(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = {"exp": 4_000_000_000}
    admin = jwt.encode({**claims, "role": "admin"}, SECRET)
    narrow = jwt.encode({**claims, "prefix": "mine"}, SECRET)
    with serving(RESONATE_AUTH__SECRET=SECRET) as (url, process, said):
        assert run("promises", "create", "a", "--url", url).code == 7
        assert run("promises", "create", "a", "--url", url, "--token", admin).code == 0
        assert run("promises", "get", "a", "--url", url, "--token", narrow).code == 7
        monkeypatch.setenv("RESONATE_TOKEN", narrow)
        assert run("promises", "create", "mine:1", "--url", url).code == 0
    assert process.returncode == 0
    assert not [line for line in said if SECRET in line or admin in line or narrow in line]


def ended(*flags: object) -> subprocess.CompletedProcess[str]:
    """Runs a server that cannot start; returns the ended process."""
    command = [sys.executable, "-m", "resonate_core", "serve", *map(str, flags)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = ended("--port", port)
    assert (done.returncode, done.stdout) == (3, "")
    assert str(port) in done.stderr


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("a text that is longer than the head of a database" * 50)
    done = ended("--port", 0, "--db", tmp_path / "text.db")
    assert done.returncode == 3
    assert "text.db" in done.stderr
    assert "Traceback" not in done.stderr
